"""How often an engine may be asked: requests of all runs of this process stand in one line."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Pace:
    """Lets one request through every so many seconds, in any thread and event loop."""

    seconds: float
    """Between the beginnings of two requests."""
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def wait(self) -> None:
        """Returns when it is this request's turn."""
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self.seconds
        if turn > now:
            await asyncio.sleep(turn - now)


_PACES: dict[str, Pace] = {}
_SECONDS = {"ddgs": 1.0, "arxiv": 3.0, "wikipedia": 0.1, "firecrawl": 0.1, "tavily": 0.1}
"""arXiv asks for three; DuckDuckGo refuses who is faster for long."""


def pace_of(engine: str) -> Pace:
    """The pace of an engine, one for the whole process."""
    return _PACES.setdefault(engine, Pace(_SECONDS.get(engine, 0.0)))
