"""The limits of a run, and what it has used of them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Literal, cast

from agent.models.protocol import Usage

Limit = Literal["steps", "tokens", "seconds", "cost"]


_LAST_CALL_SECONDS = 15.0
_LAST_CALL_SHARE = 0.2
"""Of the wall time, what is kept back for a best guess, and how many seconds at most."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use; None is no limit."""

    steps: int = 12
    tokens: int | None = None
    """Input and output tokens together."""
    seconds: float | None = None
    """Wall time."""
    cost: float | None = None
    """US dollars. A model without a known price cannot reach it."""


@dataclass(slots=True)
class Budget:
    """Counts a run's usage against its limits."""

    limits: Limits
    usage: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.monotonic)
    last_call: bool = False
    """Whether the one call for a best guess is under way, which may go beyond the limits of tokens and money."""
    ended: tuple[str, int] | None = None
    """In a replay: the limit that ended the run, and after how many steps. Time and money are not measured again."""
    waited: float = 0.0
    """Seconds in which the run waited for an endpoint's rate limit; they are no work, and count against no limit."""
    _waiting: int = 0
    """Calls that wait at present."""
    _since: float = 0.0
    _deadlines: set[asyncio.Timeout] = field(default_factory=set)

    def spend(self, usage: Usage) -> None:
        """Adds the usage of one call."""
        self.usage = self.usage + usage

    @property
    def seconds(self) -> float:
        """Wall time since the start, without what was waited."""
        return (self._since if self._waiting else time.monotonic()) - self.started

    @property
    def seconds_left(self) -> float | None:
        """Wall time until the limit, never below zero; None without one. A part is kept back for the last call."""
        if self.limits.seconds is None:
            return None
        kept = 0.0 if self.last_call else min(_LAST_CALL_SECONDS, self.limits.seconds * _LAST_CALL_SHARE)
        return max(0.0, self.limits.seconds - kept - self.seconds)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Stops the clock: what happens inside is no work."""
        if not self._waiting:
            self._since = time.monotonic()
            for deadline in self._deadlines:
                deadline.reschedule(None)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                gone = time.monotonic() - self._since
                self.started += gone
                self.waited += gone
                for deadline in self._deadlines:
                    deadline.reschedule(self._when())

    @contextlib.contextmanager
    def standing_still(self) -> Iterator[None]:
        """Leaves out what happens inside: fetching a model or starting the sandbox is no work on a question."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.started += time.monotonic() - began

    @contextlib.asynccontextmanager
    async def until_spent(self) -> AsyncIterator[None]:
        """Ends what happens inside when the wall time is used up.

        Raises:
            TimeoutError: It was ended.
        """
        async with asyncio.timeout_at(None if self._waiting else self._when()) as deadline:
            self._deadlines.add(deadline)
            try:
                yield
            finally:
                self._deadlines.discard(deadline)

    def _when(self) -> float | None:
        """When the wall time will be used up, on the event loop's clock."""
        left = self.seconds_left
        return None if left is None else asyncio.get_running_loop().time() + left

    def exceeded(self, steps: int) -> Limit | None:
        """The limit that is reached after so many steps, if any."""
        if self.ended is not None:
            return cast(Limit, self.ended[0]) if steps >= self.ended[1] else None
        if steps >= self.limits.steps:
            return "steps"
        tokens = self.usage.input_tokens + self.usage.output_tokens
        if self.limits.tokens is not None and tokens >= self.limits.tokens:
            return "tokens"
        if self.seconds_left == 0.0:
            return "seconds"
        if (
            self.limits.cost is not None
            and (self.usage.cost or 0.0) > 0
            and (self.usage.cost or 0.0) >= self.limits.cost
        ):
            return "cost"
        return None
