"""Detecting child processes that use the processor."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path


def busy_below(pid: int) -> list[int]:
    """Return the descendants of a process that use the processor. Warm interpreters that wait do not count."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "R":
                    found.append(child)
            found += busy_below(child)
    return found


async def falls_idle(pid: int, seconds: float = 15.0) -> bool:
    """Wait until all descendants of a process are idle; return False after `seconds`."""
    deadline = time.monotonic() + seconds
    quiet = 0
    while quiet < 5 and time.monotonic() < deadline:
        quiet = 0 if busy_below(pid) else quiet + 1
        await asyncio.sleep(0.05)
    return quiet == 5
