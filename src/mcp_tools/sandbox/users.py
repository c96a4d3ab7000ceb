"""Whom the interpreter becomes when alita runs as root, and what that user can read."""

from __future__ import annotations

import itertools
import os
import stat
from pathlib import Path

NOBODY = 65534

_SEARCHED_ENTRIES = 2000


def is_machine_root() -> bool:
    """Whether this process is root for the whole machine, not merely in a namespace of an ordinary user's."""
    return os.geteuid() == 0 and any(inside <= 0 < inside + count and outside == 0 for inside, outside, count in _map())


def unprivileged_users() -> tuple[int, ...]:
    """Whom root can become: a user that nobody else is, so that its threads are counted alone; else `nobody`."""
    wanted = (1_600_000_000 + os.getpid() % 1_000_000, NOBODY)
    return tuple(user for user in wanted if any(inside <= user < inside + count for inside, _, count in _map()))


def _map() -> list[tuple[int, int, int]]:
    """The users of this namespace: first inside, first outside, how many."""
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return [(0, 0, 1 << 32)]
    return [(int(inside), int(outside), int(count)) for inside, outside, count in map(str.split, lines)]


def readable_by_all(path: Path) -> bool:
    """Whether every user may read a file, or a folder with what is in it, once it stands before it."""
    entries = path.rglob("*") if path.is_dir() else ()
    for found in itertools.islice(itertools.chain([path], entries), _SEARCHED_ENTRIES):
        if found.is_symlink():
            continue
        wanted = stat.S_IROTH | (stat.S_IXOTH if found.is_dir() else 0)
        if found.stat().st_mode & wanted != wanted:
            return False
    return True


def reachable_by_all(path: Path) -> bool:
    """Whether every user may read it, and all folders above it may be passed."""
    passable = all(parent.stat().st_mode & stat.S_IXOTH for parent in path.resolve().parents)
    return passable and readable_by_all(path)
