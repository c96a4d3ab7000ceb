"""The desk of a cluster: gives out model slots, and stops questions."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from typing import Any


class Desk:
    """Limits the model calls of all nodes together. It runs as a Ray actor on the machine of the benchmark.

    Args:
        most: Model calls to run in parallel at one endpoint.
    """

    def __init__(self, most: int) -> None:
        self._free: defaultdict[str, int] = defaultdict(lambda: most)
        self._held: Counter[tuple[str, str]] = Counter()
        self._waiting: defaultdict[str, deque[tuple[str, asyncio.Future[None]]]] = defaultdict(deque)
        self._stops: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def acquire(self, holder: str, endpoint: str) -> None:
        """Wait for a slot at an endpoint; the first to ask is the first to get one."""
        if self._free[endpoint] > 0:
            self._free[endpoint] -= 1
            self._held[holder, endpoint] += 1
        else:
            granted = asyncio.get_running_loop().create_future()
            self._waiting[endpoint].append((holder, granted))
            await granted

    async def release(self, holder: str, endpoint: str) -> None:
        """Take a slot back."""
        if self._held[holder, endpoint] > 0:
            self._held[holder, endpoint] -= 1
            self._pass_on(endpoint)

    async def leave(self, holder: str) -> None:
        """Take back all that a question holds: it ended, or its worker died."""
        for waiting in self._waiting.values():
            for one in [one for one in waiting if one[0] == holder]:
                waiting.remove(one)
                one[1].cancel()
        for key in [key for key in self._held if key[0] == holder]:
            for _ in range(self._held.pop(key)):
                self._pass_on(key[1])
        if stop := self._stops.pop(holder, None):
            stop.set()

    async def stop(self, holder: str) -> None:
        """Tell a question to stop."""
        self._stops[holder].set()

    async def stopped(self, holder: str) -> None:
        """Return when a question is to stop, or has ended."""
        await self._stops[holder].wait()

    def _pass_on(self, endpoint: str) -> None:
        if self._waiting[endpoint]:
            holder, granted = self._waiting[endpoint].popleft()
            self._held[holder, endpoint] += 1
            granted.set_result(None)
        else:
            self._free[endpoint] += 1


class DeskSlots:
    """The slots of an endpoint, for one question (`agent.models.failures.Slots`).

    Args:
        desk: The actor.
        holder: The name of the question at the desk.
        endpoint: The URL.
    """

    def __init__(self, desk: Any, holder: str, endpoint: str) -> None:
        self._desk = desk
        self._key = holder, endpoint

    def locked(self) -> bool:
        """Return True: other nodes may hold every slot."""
        return True

    async def acquire(self) -> None:
        """Wait for a slot."""
        granted = self._desk.acquire.remote(*self._key)
        try:
            await granted
        except asyncio.CancelledError:  # the desk may grant it later
            granted.future().add_done_callback(lambda _: self.release())
            raise

    def release(self) -> None:
        """Give a slot back."""
        self._desk.release.remote(*self._key)
