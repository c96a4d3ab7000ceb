"""Lists a session's files: attached, pasted, downloaded and created ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agent.active_run import PICTURES, WEB
from agent.answer import OutputFile
from agent.errors import RunError
from agent.material.outputs import FOLDER as OUTPUTS
from agent.material.outputs import Outputs
from agent.store.own_runs import OwnRuns
from agent.store.runs import Run, describe_file, load_run
from agent.store.sessions import StoredSession, files_of
from agent.store.transcripts import transcript_of

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_OF_A_RUN = {WEB: "downloaded", PICTURES: "downloaded", "workspace": "made", OUTPUTS: "made"}


def session_files(settings: Settings, session: StoredSession) -> list[tuple[str, ...]]:
    """Return one row for each file, with its origin, its size or state, and its path."""
    runs, rows = settings.runs_dir, {}
    own = files_of(settings.sessions_dir, session.id)
    for run in _runs(settings, session):
        for file in run.files:
            path = Path(file.path)
            rows[path] = ("pasted" if path.is_relative_to(own) else "attached", _state(path, file.sha256))
    for home in _homes(settings, session):
        for folder, kind in _OF_A_RUN.items():
            for path in sorted((runs / home / folder).glob("**/*")):
                if path.is_file() and not path.name.startswith("."):
                    rows[path] = (kind, _size(path))
    return [(*facts, str(path)) for path, facts in rows.items()]


def outputs_of(settings: Settings, session: StoredSession) -> list[OutputFile]:
    """Return the files that programs made for the user. Of files with the same name, only the newest is returned."""
    folders = [settings.runs_dir / home / OUTPUTS for home in _homes(settings, session)]
    found = [file for folder in folders for file in Outputs(folder).written_since({})]
    found.sort(key=lambda file: Path(file.path).stat().st_mtime_ns)
    return [*{file.name: file for file in found}.values()]


def _homes(settings: Settings, session: StoredSession) -> list[str]:
    """Return the ids of the runs whose folders contain the session's files."""
    home = transcript_of(OwnRuns(settings), session.turns).home
    return [*dict.fromkeys(filter(None, [home, *(turn.run_id for turn in session.turns)]))]


def _runs(settings: Settings, session: StoredSession) -> Iterator[Run]:
    for turn in session.turns:
        try:
            if turn.run_id:
                yield load_run(settings.runs_dir, turn.run_id)
        except RunError:  # the run was deleted
            continue


def _state(path: Path, sha256: str) -> str:
    if not path.is_file():
        return "gone"
    return _size(path) + ("" if describe_file(path).sha256 == sha256 else ", changed")


def _size(path: Path) -> str:
    return f"{path.stat().st_size:,} bytes"
