"""Ends a process with everything that came of it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path


def kill_tree(pid: int, *, spared: Collection[int] = ()) -> None:
    """Kills a process and all that descend from it, whatever session or group they moved to.

    Args:
        pid: The process.
        spared: Descendants that live on, with theirs: what other processes use too.
    """
    _signal(pid, signal.SIGSTOP)  # it starts no more while its children are counted
    kill_descendants(pid, spared=spared)
    _signal(pid, signal.SIGKILL)


def kill_descendants(pid: int, *, spared: Collection[int] = ()) -> None:
    """Kills all that descend from a process.

    Args:
        pid: The process.
        spared: Descendants that live on, with theirs.
    """
    known: set[int] = set()
    while found := _descendants(pid, spared) - known:
        for child in found:
            _signal(child, signal.SIGSTOP)
        known |= found
    for child in known:
        _signal(child, signal.SIGKILL)


def _descendants(pid: int, spared: Collection[int]) -> set[int]:
    children: defaultdict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                # The name in brackets may hold anything, brackets too.
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children[parent].append(int(entry.name))
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        fresh = [child for child in children[waiting.pop()] if child not in spared]
        found.update(fresh)
        waiting += fresh
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
