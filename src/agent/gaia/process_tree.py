"""Ends a process and all of its descendants."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path


def kill_tree(pid: int, *, spared: Collection[int] = ()) -> None:
    """Kills a process and all that descend from it, whatever session or group they moved to.

    The spared live on, with theirs: other processes use them too.
    """
    _signal(pid, signal.SIGSTOP)  # it starts no more while its children are counted
    kill_descendants(pid, spared=spared)
    _signal(pid, signal.SIGKILL)


def kill_descendants(pid: int, *, spared: Collection[int] = ()) -> None:
    """Kills all that descend from a process, as `kill_tree` does."""
    known: set[int] = set()
    while found := descendants(pid, spared) - known:
        for child in found:
            _signal(child, signal.SIGSTOP)
        known |= found
    for child in known:
        _signal(child, signal.SIGKILL)


def descendants(pid: int, spared: Collection[int] = ()) -> set[int]:
    """All that descend from a process, but for the spared and theirs."""
    children: defaultdict[int, set[int]] = defaultdict(set)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            # The name in brackets may hold anything, brackets too.
            children[int(stat.read_text().rpartition(")")[2].split()[1])].add(int(stat.parent.name))
    found: set[int] = set()
    waiting = {pid}
    while waiting:
        waiting = {child for parent in waiting for child in children[parent]} - set(spared) - found
        found |= waiting
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
