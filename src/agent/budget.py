"""The limits of a run, and its usage so far."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar, cast

from agent.errors import StoppedError
from agent.models.failures import PAUSE
from agent.models.protocol import Usage

T = TypeVar("T")

LimitKind = Literal["steps", "tokens", "seconds", "cost"]


_LAST_CALL_SECONDS = 15.0
_LAST_CALL_SHARE = 0.2
"""Share of the time limit that is reserved for a best guess, up to `_LAST_CALL_SECONDS`."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of a run. None means no limit."""

    steps: int = 12
    """Maximum number of steps. All calls of one reply count as one step."""
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    """Maximum cost in US dollars. Models without a known price do not count."""


@dataclass(slots=True)
class _Pauses:
    """Measures the total time of pauses that may overlap."""

    ended: float = 0.0
    open: int = 0
    since: float = 0.0

    @property
    def seconds(self) -> float:
        return self.ended + (time.monotonic() - self.since if self.open else 0.0)

    def begin(self) -> None:
        if not self.open:
            self.since = time.monotonic()
        self.open += 1

    def end(self) -> None:
        self.open -= 1
        if not self.open:
            self.ended += time.monotonic() - self.since


@dataclass(slots=True)
class Budget:
    """Counts a run's usage against its limits."""

    limits: RunLimits = field(default_factory=RunLimits)
    usage: Usage = field(default_factory=Usage)
    started: float = field(default_factory=time.monotonic)
    last_call: bool = False
    """True during the one call for a best guess, which may exceed the limits of tokens and money."""
    ended: tuple[str, int] | None = None
    """In a replay, the limit that ended the run and the number of actions before it. A replay does not measure time or
    money."""
    _waits: _Pauses = field(default_factory=_Pauses)
    _pauses: _Pauses = field(default_factory=_Pauses)
    """All pauses, including the waits."""
    _deadlines: set[asyncio.Timeout] = field(default_factory=set)

    def go_on(self, seconds: float, waited: float) -> None:
        """Add the time that the run took before it was interrupted."""
        self.started -= seconds
        self._waits.ended += waited

    def spend(self, usage: Usage) -> None:
        """Add the usage of one call."""
        self.usage = self.usage + usage

    @property
    def seconds(self) -> float:
        """Elapsed time in seconds, excluding rate-limit waits and pauses."""
        return time.monotonic() - self.started - self._pauses.seconds

    @property
    def waited(self) -> float:
        """Seconds spent waiting for an endpoint's rate limit. They do not count against the time limit."""
        return self._waits.seconds

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit, at least 0; None without a limit. Some time is reserved for the last call."""
        if self.limits.seconds is None:
            return None
        kept = 0.0 if self.last_call else min(_LAST_CALL_SECONDS, self.limits.seconds * _LAST_CALL_SHARE)
        return max(0.0, self.limits.seconds - kept - self.seconds)

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Stop the clock during a wait for an endpoint's rate limit."""
        self._waits.begin()
        try:
            with self.standing_still():
                yield
        finally:
            self._waits.end()

    @contextlib.contextmanager
    def standing_still(self) -> Iterator[None]:
        """Stop the clock, for example while a model is downloaded or the user is asked."""
        self._pauses.begin()
        self._set_deadlines()
        try:
            yield
        finally:
            self._pauses.end()
            self._set_deadlines()

    @contextlib.asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Apply the limits of tokens, money and time to a model call. Waits for the endpoint's rate limit do not count.

        Raises:
            StoppedError: A limit is reached.
        """
        if not self.last_call and (limit := self.exceeded(0)):
            raise StoppedError(f"the run reached its limit of {limit}")
        before = PAUSE.set(self.waiting)
        try:
            async with self.within():
                yield
        finally:
            PAUSE.reset(before)

    @contextlib.asynccontextmanager
    async def within(self) -> AsyncIterator[None]:
        """Cancel the block when the time limit is reached.

        Raises:
            StoppedError: The time limit is reached.
        """
        try:
            async with asyncio.timeout_at(self._when()) as deadline:
                self._deadlines.add(deadline)
                try:
                    yield
                finally:
                    self._deadlines.discard(deadline)
        except TimeoutError:
            raise StoppedError("the run reached its limit of seconds") from None

    async def in_time(self, call: Awaitable[T]) -> T:
        """Await a call within the time limit; see `within`."""
        async with self.within():
            return await call

    def _set_deadlines(self) -> None:
        for deadline in self._deadlines:
            if not deadline.expired():
                deadline.reschedule(self._when())

    def _when(self) -> float | None:
        """Return the event loop's time at which the time limit is reached; None during a pause."""
        left = self.seconds_left
        return None if left is None or self._pauses.open else asyncio.get_running_loop().time() + left

    def exceeded(self, steps: int, actions: int = 0) -> LimitKind | None:
        """Return the limit that is reached, if any. All calls of one reply count as one step."""
        if self.ended is not None:
            return cast(LimitKind, self.ended[0]) if actions >= self.ended[1] else None
        if steps >= self.limits.steps:
            return "steps"
        tokens = self.usage.input_tokens + self.usage.output_tokens
        if self.limits.tokens is not None and tokens >= self.limits.tokens:
            return "tokens"
        if self.seconds_left == 0.0:
            return "seconds"
        cost = self.usage.cost or 0.0
        return "cost" if self.limits.cost is not None and cost > 0 and cost >= self.limits.cost else None
