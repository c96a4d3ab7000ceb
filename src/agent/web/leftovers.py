"""Profiles of browsers, and the ends of those whose owner was killed before it could clean up."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "alita-browser-"
_PROC = Path("/proc")
_PATIENCE = 5.0
"""Seconds in which what was killed is gone."""


def new_profile() -> Path:
    """An empty folder of ours alone; its name says whose it is."""
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def end_all(profile: Path) -> None:
    """Kills every process that was started with a profile, and removes it."""
    ends = time.monotonic() + _PATIENCE
    while (found := list(_using(profile))) and time.monotonic() < ends:
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    shutil.rmtree(profile, ignore_errors=True)


def sweep() -> None:
    """Ends what an alita left behind that was killed itself."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and _is_ours(folder) and not (_PROC / owner).exists() and _PROC.exists():
            end_all(folder)


def _is_ours(folder: Path) -> bool:
    try:
        return folder.lstat().st_uid == os.geteuid() and folder.is_dir() and not folder.is_symlink()
    except OSError:
        return False


def _using(profile: Path) -> Iterator[int]:
    """The processes whose command line, or folder, is the profile."""
    name = os.fsencode(profile)
    if not _PROC.exists():
        return
    for entry in _PROC.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            is_its = name in (entry / "cmdline").read_bytes() or _is_in(entry / "cwd", profile)
            if is_its and b"Z" not in (entry / "stat").read_bytes().rpartition(b")")[2][:3]:  # no zombie
                yield int(entry.name)


def _is_in(link: Path, profile: Path) -> bool:
    try:
        return link.readlink() == profile
    except OSError:
        return False
