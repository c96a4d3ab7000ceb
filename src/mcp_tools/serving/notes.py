"""Notes that a server keeps between two calls of a client: which questions it asked, which proposals it sent back."""

from __future__ import annotations

import hashlib
import time
from typing import Protocol

MOST_NOTES = 2_000
"""Limit of notes; those that expire first are dropped."""


class Notes(Protocol):
    """Notes, each with the time at which it expires. All replicas have the same."""

    async def put(self, note: str, seconds: float) -> None:
        """Keeps a note for some seconds."""
        ...

    async def has(self, note: str) -> bool:
        """True if there is such a note."""
        ...

    async def take(self, note: str) -> bool:
        """Removes a note. Returns True to one caller only."""
        ...


class OwnNotes:
    """The notes of one process."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    async def put(self, note: str, seconds: float) -> None:
        """See `Notes`."""
        now = time.monotonic()
        self._until = {one: until for one, until in self._until.items() if until > now}
        if len(self._until) >= MOST_NOTES:
            del self._until[min(self._until, key=self._until.__getitem__)]
        self._until[note] = now + seconds

    async def has(self, note: str) -> bool:
        """See `Notes`."""
        return self._until.get(note, 0.0) > time.monotonic()

    async def take(self, note: str) -> bool:
        """See `Notes`."""
        return self._until.pop(note, 0.0) > time.monotonic()


def digest(*parts: str) -> str:
    """A short name for texts of any length."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:32]
