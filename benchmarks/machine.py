"""Speed of this machine, compared with the one on which the targets in milliseconds were set."""

from __future__ import annotations

import functools
import statistics
import subprocess
import time

from mcp_tools.sandbox.environment import executable

REFERENCE_MS = 6.4
"""Time of `python -I -S -c pass` on the reference machine."""


def run_ms(command: list[str], times: int = 40) -> float:
    """Return the median time of a command in milliseconds."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run(command, check=True, env={}, capture_output=True)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1000


@functools.cache
def bare_python_ms() -> float:
    """Return the time of `python -I -S -c pass` on this machine."""
    return run_ms([executable(), "-I", "-S", "-c", "pass"])


def slowness() -> float:
    """Return how many times slower this machine starts an interpreter than the reference machine, at least 1."""
    return max(1.0, round(bare_python_ms() / REFERENCE_MS, 1))
