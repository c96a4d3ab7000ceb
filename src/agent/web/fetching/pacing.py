"""How fast one host is asked: requests at once, requests in a while, and none while it wants to be left alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AT_ONCE = 10
_BURST = 16
"""Requests that may come in a row before they are spaced out."""
_PER_SECOND = 4.0


class Pace:
    """The pace at one host."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tokens = float(_BURST)
        self._filled = time.monotonic()
        self._silent_until = 0.0

    def silence(self, seconds: float) -> None:
        """Nobody asks the host for so long: it said so."""
        self._silent_until = max(self._silent_until, time.monotonic() + seconds)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One request, when its turn has come."""
        async with self._slots:
            await self._wait()
            yield

    async def _wait(self) -> None:
        now = time.monotonic()
        self._tokens = min(_BURST, self._tokens + (now - self._filled) * _PER_SECOND)
        self._filled = now
        self._tokens -= 1  # taken before the wait, so that those who come meanwhile queue up behind
        wait = max(-self._tokens / _PER_SECOND, self._silent_until - now)
        if wait > 0:
            await asyncio.sleep(wait)
