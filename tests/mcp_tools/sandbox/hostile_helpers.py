"""Helpers for the attacks on a sandbox."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path


def needs(condition: object, what: object = "") -> None:
    if not condition:
        raise AssertionError(str(what))


async def eventually(condition: Callable[[], bool], seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


async def at_once(attempts: list[Callable[[], Awaitable[None]]], most: int = 5) -> None:
    """Make several attempts in parallel."""
    places = asyncio.Semaphore(most)

    async def one(attempt: Callable[[], Awaitable[None]]) -> None:
        async with places:
            await attempt()

    async with asyncio.TaskGroup() as group:
        for attempt in attempts:
            group.create_task(one(attempt))


def below(pid: int) -> set[int]:
    """Return all descendants of a process, except zombies."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(entry.name)] = int(parent)
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        above = waiting.pop()
        children = {child for child, parent in parents.items() if parent == above} - found
        waiting += children
        found |= children
    return found
