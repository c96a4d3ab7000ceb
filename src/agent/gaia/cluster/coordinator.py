"""Coordinates a cluster: grants model slots to questions, and tells questions to stop."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from typing import Any


class Coordinator:
    """Limits model calls across all nodes. It runs as a Ray actor on the benchmark's machine.

    Args:
        most: Maximum number of parallel model calls per endpoint.
    """

    def __init__(self, most: int) -> None:
        self._free: defaultdict[str, int] = defaultdict(lambda: most)
        self._held: Counter[tuple[str, str]] = Counter()
        self._waiting: defaultdict[str, deque[tuple[str, asyncio.Future[None]]]] = defaultdict(deque)
        self._stops: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def acquire(self, holder: str, endpoint: str) -> None:
        """Wait for a slot at an endpoint. Slots are granted in the order of requests."""
        if self._free[endpoint] > 0:
            self._free[endpoint] -= 1
            self._held[holder, endpoint] += 1
        else:
            granted = asyncio.get_running_loop().create_future()
            self._waiting[endpoint].append((holder, granted))
            await granted

    async def release(self, holder: str, endpoint: str) -> None:
        """Release a slot."""
        if self._held[holder, endpoint] > 0:
            self._held[holder, endpoint] -= 1
            self._pass_on(endpoint)

    async def leave(self, holder: str) -> None:
        """Release all slots of a question that has ended or whose worker has died."""
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
        """Wait until a question is told to stop or has ended."""
        await self._stops[holder].wait()

    def _pass_on(self, endpoint: str) -> None:
        if self._waiting[endpoint]:
            holder, granted = self._waiting[endpoint].popleft()
            self._held[holder, endpoint] += 1
            granted.set_result(None)
        else:
            self._free[endpoint] += 1


class CoordinatedSlots:
    """The slots of an endpoint for one question (implements `agent.models.failures.Slots`).

    Args:
        coordinator: The actor.
        holder: Identifies the question.
        endpoint: URL of the endpoint.
    """

    def __init__(self, coordinator: Any, holder: str, endpoint: str) -> None:
        self._coordinator = coordinator
        self._key = holder, endpoint

    def locked(self) -> bool:
        """Return True, because questions on other nodes may be holding all slots."""
        return True

    async def acquire(self) -> None:
        """Wait for a slot."""
        granted = self._coordinator.acquire.remote(*self._key)
        try:
            await granted
        except asyncio.CancelledError:  # release the slot if it is granted after all
            granted.future().add_done_callback(lambda _: self.release())
            raise

    def release(self) -> None:
        """Release the slot."""
        self._coordinator.release.remote(*self._key)
