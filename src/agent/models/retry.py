"""Trying again: how often for which failure, and how long to wait in between."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from agent.models.failures import Failure, Kind

T = TypeVar("T")

Notify = Callable[[str], None]
"""Told in one line what is being waited for."""

Pause = Callable[[], contextlib.AbstractContextManager[None]]
PAUSE: ContextVar[Pause] = ContextVar("PAUSE", default=contextlib.nullcontext)
"""Entered while an endpoint makes a call wait: whoever measures work sets it."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failed call is repeated."""

    busy: int = 4
    """After a rate limit or an overload."""
    unreachable: int = 2
    """Few: a wrong URL should be told soon."""
    timeout: int = 1
    base: float = 0.5
    """Seconds before the first repetition at most; doubled for each further one."""
    longest: float = 30.0
    """Seconds that our own waiting grows to."""
    patience: float = 120.0
    """Seconds of `Retry-After` up to which we wait; beyond them the call fails and says so."""
    rng: random.Random = field(default_factory=random.Random)

    def limit(self, kind: Kind) -> int:
        """How often a failure of this kind is repeated."""
        return {
            Kind.BUSY: self.busy,
            Kind.UNREACHABLE: self.unreachable,
            Kind.CUT: self.unreachable,
            Kind.TIMEOUT: self.timeout,
        }.get(kind, 0)

    def wait(self, failure: Failure, repetition: int) -> float:
        """Seconds before a repetition (1 is the first): what the endpoint asks, or doubling with jitter."""
        if failure.after is not None:
            return failure.after + self.rng.uniform(0, 0.1 * failure.after)
        ceiling = min(self.longest, self.base * 2 ** (repetition - 1))
        return self.rng.uniform(ceiling / 2, ceiling)


async def retrying(call: Callable[[], Awaitable[T]], retry: Retry, notify: Notify | None) -> T:
    """Calls until it succeeds or the failure's repetitions are used up.

    Raises:
        Failure: The last one.
    """
    seen: Counter[Kind] = Counter()
    while True:
        try:
            return await call()
        except Failure as failure:
            seen[failure.kind] += 1
            if seen[failure.kind] > retry.limit(failure.kind) or (failure.after or 0) > retry.patience:
                raise
            seconds = retry.wait(failure, seen[failure.kind])
            if notify:
                notify(f"{failure.error().message}; trying again in {seconds:.1f} s")
            with PAUSE.get()() if failure.kind is Kind.BUSY else contextlib.nullcontext():
                await asyncio.sleep(seconds)
