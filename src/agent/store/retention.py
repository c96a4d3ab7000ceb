"""Which runs are kept: removing old ones.

A run is removed by one rename, so that it is there whole or not at all, whenever alita is killed. What a killed removal
left is removed by the next.
"""

from __future__ import annotations

import calendar
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent.configuration.settings import seconds_of
from agent.store.answer_cache import AnswerCache
from agent.store.runs import FILE, ID, ids_in, journal_path
from agent.user_files import unwritable
from mcp_tools.atomic import private_folder

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_REMOVED = ".removed-"
_JUST_ENDED = 60.0
"""Seconds in which the session that asked may not have noted its run yet."""
_EVERY = 24 * 3600.0
_AT_MOST_SECONDS = 1.0
"""Of a question's time for removing runs; what is left over waits for the next day."""


def prune(
    runs: Path, sessions: Path, *, keep: int | None = None, older: float | None = None, seconds: float | None = None
) -> list[str]:
    """Removes runs, but none that is under way, can go on, or is referred to by a session.

    Args:
        runs: Folder of the runs.
        sessions: Folder of the sessions.
        keep: How many of the newest stay.
        older: Only those that began so many seconds ago.
        seconds: When to stop, so that nobody waits.

    Returns:
        The ids of those that were removed, the oldest first.

    Raises:
        StorageError: One cannot be removed.
    """
    known, began = ids_in(runs), time.monotonic()
    wanted = known[: max(len(known) - keep, 0)] if keep is not None else known
    if older is not None:
        wanted = [run_id for run_id in wanted if begun(run_id) < time.time() - older]
    for left in runs.glob(f"{_REMOVED}*"):
        shutil.rmtree(left, ignore_errors=True)
    referred = _referred(sessions) if wanted else set()
    removed = []
    for run_id in wanted:
        if seconds is not None and time.monotonic() - began > seconds:
            break
        with _held(journal_path(runs, run_id)) as is_free:
            if is_free and run_id not in referred and _has_ended(runs / run_id / FILE) and _remove(runs, run_id):
                removed.append(run_id)
    return removed


def prune_daily(settings: Settings) -> str:
    """Once a day, removes what the setting `keep_runs` does not keep, and answers that no longer count.

    Returns:
        One sentence on what was removed; empty where nothing was.
    """
    stamp = settings.cache_dir / "pruned"
    with suppress(OSError):
        if 0 <= time.time() - stamp.stat().st_mtime < _EVERY:
            return ""
    AnswerCache(settings.cache_dir / "answers").clear_old()
    removed: list[str] = []
    if settings.keep_runs != "all":
        keep, older = limits_of(settings.keep_runs)
        removed = prune(settings.runs_dir, settings.sessions_dir, keep=keep, older=older, seconds=_AT_MOST_SECONDS)
    with suppress(OSError):
        private_folder(stamp.parent)
        stamp.touch(0o600)
        os.utime(stamp)
    return f"Removed {len(removed)} old runs: keep_runs is {settings.keep_runs}." if removed else ""


def limits_of(keep_runs: str) -> tuple[int | None, float | None]:
    """How many runs the setting keeps, or from how many seconds ago on."""
    return (int(keep_runs), None) if keep_runs.isdecimal() else (None, seconds_of(keep_runs))


def begun(run_id: str) -> float:
    """When a run began, in seconds since 1970, as its id says; now where that is no time."""
    try:
        return float(calendar.timegm(time.strptime(run_id[:13], "%y%m%d-%H%M%S")))
    except ValueError:
        return time.time()


def _referred(sessions: Path) -> set[str]:
    """The runs that a session refers to."""
    found: set[str] = set()
    for session_id in ids_in(sessions, ".json"):
        with suppress(OSError):  # a damaged one is searched like any other
            found.update(ID.findall((sessions / f"{session_id}.json").read_text("utf-8", "replace")))
    return found


@contextmanager
def _held(journal: Path) -> Iterator[bool]:
    """Keeps other processes from going on with a run, unless one works on it: then gives False."""
    try:
        descriptor = os.open(journal, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield True  # a run without a journal: nothing goes on with it
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


def _has_ended(path: Path) -> bool:
    """Whether a run that nobody works on can go; not if it can go on, just ended, or cannot be read."""
    try:
        just_ended = time.time() - path.stat().st_mtime < _JUST_ENDED
        return not just_ended and json.loads(path.read_bytes())["status"] not in {"running", "interrupted"}
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _remove(runs: Path, run_id: str) -> bool:
    """Whether it was removed here, and not by another alita meanwhile."""
    gone = runs / f"{_REMOVED}{run_id}"
    try:
        (runs / run_id).rename(gone)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise unwritable(runs, error.strerror) from error
    shutil.rmtree(gone, ignore_errors=True)
    return True
