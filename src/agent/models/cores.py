"""How many cores the embedded model may use.

llama.cpp's threads wait for each other by spinning: with as many threads as cores it collapses (12 → 1
token/s) when another process keeps one core busy, so only the free ones are counted.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_MOST = 8
"""More threads gain little for a small model."""


def free_cores(seconds: float = 0.4) -> int:
    """Cores that this process may use and that nobody keeps busy while it looks; at least 1."""
    allowed = _allowed()
    before = _idle_ticks()
    time.sleep(seconds)
    after = _idle_ticks()
    ticks = os.sysconf("SC_CLK_TCK") * seconds
    busy = sum(1 for core in allowed if core in before and after.get(core, 0) - before[core] < ticks * 0.4)
    return max(1, min(len(allowed) - busy, most_cores()))


def most_cores() -> int:
    """How many cores this process could use on a quiet machine."""
    allowed = len(_allowed())
    return max(1, min(allowed, _quota(allowed), _MOST))


def _allowed() -> set[int]:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def _idle_ticks() -> dict[int, int]:
    """For each core the ticks it spent idle or waiting for a disk; empty where /proc does not tell."""
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return {}
    cores = [line.split() for line in lines if line.startswith("cpu") and line[3:4].isdigit()]
    return {int(fields[0][3:]): int(fields[4]) + int(fields[5]) for fields in cores}


def _quota(cores: int) -> int:
    """Whole cores that the control group grants."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return cores if quota == "max" else max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return cores
