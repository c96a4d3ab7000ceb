"""Removes old runs, and exports a run as an archive.

A run is removed by first renaming its folder, so that a killed process never leaves half a run. The next removal
deletes any folders that were left behind.
"""

from __future__ import annotations

import calendar
import os
import shutil
import tarfile
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.configuration.settings import HOME, seconds_of
from agent.errors import RunError, SettingsError, StorageError
from agent.question import COPIED_FOLDER, MANIFEST, REMOVED_FILES
from agent.store.answer_cache import SECONDS_KEPT, AnswerCache
from agent.store.databases import has_store
from agent.store.jsonl_log import is_locked, locked_against_writers
from agent.store.own_runs import OwnRuns
from agent.store.run_index import Notes
from agent.store.runs import FILE, ID, ids_in, journal_path, load_run
from agent.store.sessions import runs_in_sessions
from agent.user_files import whole_file, writing
from mcp_tools.atomic import private_folder
from mcp_tools.library.folder import sweep_data_folders
from mcp_tools.small_files import RECORD, json_of, read_small

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_REMOVED = ".removed-"
_MIN_IDLE_SECONDS = 60.0
"""Runs that ended more recently than this are kept, because their session may not be saved yet."""
_EVERY = 24 * 3600.0
_MAX_SECONDS = 1.0
"""Maximum time spent on removing runs per question. The remaining runs are removed with the next question."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """The result of a removal or of a dry run."""

    removed: tuple[str, ...]
    kept: dict[str, str]
    """Runs beyond the limit that are kept, each with the reason."""
    size: int
    is_whole: bool = True
    """False if time ran out before all runs were removed."""


def prune(
    settings: Settings,
    *,
    keep: int | None = None,
    older: float | None = None,
    dry_run: bool = False,
    seconds: float | None = None,
) -> Pruned:
    """Remove runs, except those that are running, can be resumed, or are needed by a session or another run.

    Args:
        settings: The settings, which name the runs folder and the store with the sessions.
        keep: Number of newest runs to keep.
        older: Remove only runs that started at least this many seconds ago.
        dry_run: True to only report the runs that would be removed.
        seconds: Maximum time for the removal, in seconds.

    Raises:
        StorageError: A run cannot be removed, or the store cannot be read.
    """
    runs, notes = settings.runs_dir, Notes(settings)
    known, began = ids_in(runs), time.monotonic()
    wanted = known[: max(len(known) - keep, 0)] if keep is not None else known
    if older is not None:
        wanted = [run_id for run_id in wanted if begun(run_id) < time.time() - older]
    if not dry_run:
        _sweep(runs)
    needed = _needed(settings, set(known) - set(wanted)) if wanted else {}
    removed: list[str] = []
    kept: dict[str, str] = {}
    size, whole = 0, True
    for run_id in wanted:  # oldest first
        if seconds is not None and time.monotonic() - began > seconds:
            whole = False
            break
        with locked_against_writers(journal_path(runs, run_id)) as is_free:
            if not (runs / run_id).is_dir():  # already removed by another process
                continue
            reason = needed.get(run_id) or (_reason(runs, run_id) if is_free else "it is running")
            if reason:
                kept[run_id] = reason
                continue
            bytes_of_it = _size(runs / run_id)
            if not dry_run:
                notes.add(run_id)  # the index drops the run when it next catches up
            if dry_run or _remove(runs, run_id):
                size += bytes_of_it
                removed.append(run_id)
    return Pruned(tuple(removed), kept, size, whole)


def prune_daily(settings: Settings) -> str:
    """Once a day, remove runs beyond the `keep_runs` setting and expired answers.

    Returns:
        A sentence about the removed runs; empty if none were removed.
    """
    stamp = settings.cache_dir / "pruned"
    with suppress(OSError):
        if 0 <= time.time() - stamp.stat().st_mtime < _EVERY:
            return ""
    found = Pruned((), {}, 0)
    try:
        if has_store(settings):
            AnswerCache(settings).clear(older=SECONDS_KEPT)
        if settings.keep_runs != "all":
            keep, older = limits_of(settings.keep_runs)
            found = prune(settings, keep=keep, older=older, seconds=_MAX_SECONDS)
    except (StorageError, SettingsError):  # retried with the next question
        return ""
    OwnRuns(settings).sweep()
    for places in ("libraries", "benchmarks"):
        sweep_data_folders(settings.data_dir / places)
    if found.is_whole:
        with suppress(OSError):
            private_folder(stamp.parent)
            stamp.touch(0o600)
            os.utime(stamp)
    return f"{describe_removal(found)}: keep_runs is {settings.keep_runs}." if found.removed else ""


def limits_of(keep_runs: str) -> tuple[int | None, float | None]:
    """Return the number of runs to keep and their maximum age in seconds. One of the two is None."""
    return (int(keep_runs), None) if keep_runs.isdecimal() else (None, seconds_of(keep_runs))


def describe_removal(pruned: Pruned, *, dry_run: bool = False) -> str:
    """Describe a removal in one sentence without a trailing period."""
    count = len(pruned.removed)
    runs = f"{count} {'run' if count == 1 else 'runs'}"
    first = f" from {_day(pruned.removed[0])} to {_day(pruned.removed[-1])}" if count else ""
    return f"{'Would remove' if dry_run else 'Removed'} {runs}{first}, {pruned.size / 1e6:,.1f} MB"


def export(runs: Path, run_id: str, target: Path) -> list[str]:
    """Write a run to an archive, together with the runs that it was forked from or that hold its files.

    Returns:
        The ids of the runs in the archive.

    Raises:
        RunError: One of the runs is still running, or cannot be read.
        StorageError: The archive cannot be written.
    """
    ids, run = [run_id], load_run(runs, run_id)
    while (before := run.parent or run.configuration.get(HOME, "")) and ID.fullmatch(before) and before not in ids:
        if not (runs / before / FILE).is_file():
            break
        ids.append(before)
        run = load_run(runs, before)
    if busy := next((each for each in ids if is_locked(journal_path(runs, each))), ""):
        raise RunError(f"The run {busy} is still running.", remedy="Wait until the run finishes, or stop it.")
    with whole_file(target) as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for each in ids:
            try:
                archive.add(runs / each, each, filter=_without_owner)
            except OSError as error:
                if error.filename is None:  # the error concerns the archive, for example if the disk is full
                    raise
                problem = f"The run {each} cannot be read: {error.filename}: {error.strerror}."
                raise RunError(problem, remedy="Correct the permissions.") from None
    return ids


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Remove the owner from an archive member. Leave out links and the copy of the user's folder."""
    if member.name.count("/") and member.name.split("/")[1] in (COPIED_FOLDER, MANIFEST, REMOVED_FILES):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member if member.isfile() or member.isdir() else None


def begun(run_id: str) -> float:
    """Return the Unix time at which a run started, parsed from its id; the current time if the id contains none."""
    try:
        return float(calendar.timegm(time.strptime(run_id[:13], "%y%m%d-%H%M%S")))
    except ValueError:
        return time.time()


def _day(run_id: str) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(begun(run_id)))


def _needed(settings: Settings, staying: Collection[str]) -> dict[str, str]:
    """Return the runs that are needed by a session or by a run in `staying`, each with the reason."""
    runs = settings.runs_dir
    found = {run_id: f"the session {session} refers to it" for run_id, session in runs_in_sessions(settings).items()}
    for run_id in [*staying, *found]:
        each, seen = run_id, {run_id}
        while (before := _before(runs, each)) and before[0] not in seen:
            each, why = before
            found.setdefault(each, f"the run {run_id} {why}")
            seen.add(each)
    return found


def _before(runs: Path, run_id: str) -> tuple[str, str] | None:
    """Return the run that another run was forked from or that holds its files, with the reason in words."""
    try:
        record = json_of(read_small(runs / run_id / FILE, RECORD))
        parent, home = record["parent"], record["configuration"].get(HOME)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if parent:
        return str(parent), "was forked from it"
    return (str(home), "keeps its files there") if home and home != run_id else None


def _reason(runs: Path, run_id: str) -> str:
    """Return the reason for keeping a run; an empty string if it can be removed."""
    path = runs / run_id / FILE
    try:
        if time.time() - path.stat().st_mtime < _MIN_IDLE_SECONDS:
            return "it ended less than a minute ago"
        status = json_of(read_small(path, RECORD))["status"]
    except (OSError, ValueError, KeyError, TypeError):
        return "its run.json cannot be read"
    return "it was interrupted and can be resumed: alita resume" if status in {"running", "interrupted"} else ""


def _size(folder: Path) -> int:
    """Return the total size of the files in a folder, in bytes. Files that disappear meanwhile count as 0."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(place, name).lstat().st_size
    return size


def _remove(runs: Path, run_id: str) -> bool:
    """Remove a run. Return False if another process has already removed it."""
    gone = runs / f"{_REMOVED}{run_id}"
    with writing(runs):
        try:
            (runs / run_id).rename(gone)
        except FileNotFoundError:
            return False
    shutil.rmtree(gone, ignore_errors=True)
    return True


def _sweep(runs: Path) -> None:
    """Delete the folders left behind by killed removals."""
    for folder in runs.glob(f"{_REMOVED}*"):
        shutil.rmtree(folder, ignore_errors=True)
