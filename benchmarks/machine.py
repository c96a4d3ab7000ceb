"""How slow this machine is, beside the one where the targets in milliseconds were set: absolute times move with it."""

from __future__ import annotations

import functools
import statistics
import subprocess
import time

from mcp_tools.sandbox.environment import executable

REFERENCE_MS = 6.4
"""`python -I -S -c pass` where the targets were set."""


def run_ms(command: list[str], times: int = 40) -> float:
    """Median milliseconds to run a command."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run(command, check=True, env={}, capture_output=True)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1000


@functools.cache
def bare_python_ms() -> float:
    """`python -I -S -c pass` here and now."""
    return run_ms([executable(), "-I", "-S", "-c", "pass"])


def slowness() -> float:
    """How much longer things take here and now, by the start of a bare interpreter; never below 1."""
    return max(1.0, round(bare_python_ms() / REFERENCE_MS, 1))
