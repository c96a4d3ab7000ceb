"""Transcripts of earlier turns, read from their runs, and the states of attached files."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from agent.conversation import Transcript, Turn, UserFile
from agent.errors import RunError
from agent.store.journal import Journal
from agent.store.own_runs import OwnRuns
from agent.store.runs import ID, InputFile, describe_file, journal_path
from agent.user_files import writing
from mcp_tools.text import one_line

GIVEN = "given"
"""Name of the folder for copies of files that were attached after the first turn."""


def transcript_of(own: OwnRuns, turns: Sequence[Turn]) -> Transcript:
    """Return the newest available transcript, and the texts of the turns after it.

    Turns answered by a small model or an earlier version of alita have no transcript. Transcripts of runs from
    elsewhere are not used, because they name files and speak for the user.
    """
    found, count = Transcript(), 0
    for number in range(len(turns), 0, -1):
        if (stored := _stored(own, turns[number - 1].run_id)) is not None:
            found, count = stored, number
            break
    for turn in turns[count:]:
        found.add_text(turn.question, turn.answer or f"(no answer: {turn.status.replace('_', ' ')})")
    return found


def _stored(own: OwnRuns, run_id: str) -> Transcript | None:
    path = journal_path(own.runs, run_id)
    if not ID.fullmatch(run_id) or not path.is_file() or not own.wrote_journal(run_id):
        return None
    try:
        data = Journal.replay(path).transcript
        found = Transcript.from_json(data) if data is not None else None
    except (RunError, KeyError, TypeError, AttributeError, ValueError):
        return None
    if found is not None and not found.home:
        found.home = run_id
    return found


def compare_files(transcript: Transcript, new: Sequence[InputFile]) -> None:
    """Compare the user's files with their earlier state. Changed files are dropped, so that they are inspected again.

    A remark names the files that changed, except those that are attached again to the new message.
    """
    again = {file.path: file.sha256 for file in new}
    kept: list[UserFile] = []
    for file in transcript.given:
        now = again.get(file.path)
        current = describe_file(Path(file.path)).sha256 if now is None else now
        if current == file.sha256:
            kept.append(file)
            continue
        name = one_line(Path(file.path).name)
        if current:
            is_new = "it is read again" if now is None else "it is attached again"
            change = f"{name} has changed since it was attached: SHA-256 {file.sha256[:12]} then, {current[:12]} now"
            transcript.remarks.append(f"{change}; {is_new}.")
            transcript.files = [one for one in transcript.files if not _is_of(one["path"], one["name"], file)]
        elif file.copy == file.path:
            transcript.remarks.append(f"{name} (SHA-256 {file.sha256[:12]}) no longer exists and cannot be read.")
            transcript.files = [one for one in transcript.files if one["path"] != file.path]
        else:
            transcript.remarks.append(
                f"{name} no longer exists; its copy (SHA-256 {file.sha256[:12]}) can still be read."
            )
            kept.append(file)
        if current and now is None:
            kept.append(UserFile(file.path, current, ""))
    transcript.given = kept


def _is_of(path: str, name: str, file: UserFile) -> bool:
    return path == file.copy or name.startswith(f"{Path(file.path).name}/")


def files_for(transcript: Transcript, new: Sequence[InputFile], folder: Path, *, is_live: bool) -> tuple[UserFile, ...]:
    """Return the user's files of all turns, each with the path that programs use.

    Files of later turns are copied into the conversation's folder, which a running Python session can read.

    Args:
        transcript: The earlier turns, as returned by `compare_files`.
        new: The files of this message.
        folder: The conversation's folder of files.
        is_live: False for a replay, which copies nothing.

    Raises:
        StorageError: A copy cannot be written.
    """
    known = {(file.path, file.sha256): file for file in transcript.given if file.copy}
    wanted = [(file.path, file.sha256) for file in new]
    wanted += [(file.path, file.sha256) for file in transcript.given]
    found: dict[str, UserFile] = {}
    for path, sha256 in dict.fromkeys(wanted):
        copy = folder / GIVEN / (sha256[:12] or "unread") / Path(path).name
        found[path] = known.get((path, sha256)) or found.get(path) or UserFile(path, sha256, str(copy))
        if is_live and found[path].copy == str(copy) and sha256:
            _copy(Path(path), copy)
    return tuple(found.values())


def _copy(source: Path, target: Path) -> None:
    if target.exists():
        return
    with writing(target):
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.draft")
        shutil.copyfile(source, draft)
        draft.chmod(0o644)  # readable by the account that runs programs; only the owner can enter the run's folder
        draft.replace(target)
