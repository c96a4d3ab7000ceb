"""What attempts took: money, tokens and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from statistics import median

from agent.gaia.attempt import Attempt


@dataclass(frozen=True, slots=True)
class Money:
    """US dollars, as far as prices are known."""

    known: float = 0.0
    """Of the attempts whose price is known."""
    unpriced: int = 0
    """Attempts whose price is unknown."""
    attempts: int = 0
    """All of them."""

    @property
    def total(self) -> float | None:
        """Of all attempts; None when the price of one is unknown."""
        return None if self.unpriced else self.known


@dataclass(frozen=True, slots=True)
class Effort:
    """What a number of attempts took together, and in the middle."""

    attempts: int
    input_tokens: int
    output_tokens: int
    steps: int
    money: Money
    seconds: float
    """Of work, without queueing and without waiting for a rate limit."""
    waited: float
    """Seconds of waiting for rate limits."""
    median_seconds: float | None
    p90_seconds: float | None
    """Nine of ten attempts took no longer."""
    median_tokens: float | None
    """Read and written."""


def effort_of(attempts: Sequence[Attempt]) -> Effort:
    """What these attempts took; a time that is no number counts as none."""
    seconds = sorted(finite(attempt.seconds) for attempt in attempts)
    tokens = [attempt.input_tokens + attempt.output_tokens for attempt in attempts]
    return Effort(
        attempts=len(attempts),
        input_tokens=sum(attempt.input_tokens for attempt in attempts),
        output_tokens=sum(attempt.output_tokens for attempt in attempts),
        steps=sum(attempt.steps for attempt in attempts),
        money=money_of(attempts),
        seconds=sum(seconds),
        waited=sum(finite(attempt.waited) for attempt in attempts),
        median_seconds=median(seconds) if seconds else None,
        p90_seconds=seconds[ceil(0.9 * len(seconds)) - 1] if seconds else None,
        median_tokens=median(tokens) if tokens else None,
    )


def money_of(attempts: Sequence[Attempt]) -> Money:
    """What these attempts cost; an unknown price is counted as unknown, never as nothing."""
    known = [attempt.cost for attempt in attempts if attempt.cost is not None and isfinite(attempt.cost)]
    return Money(sum(known), len(attempts) - len(known), len(attempts))


def finite(seconds: float) -> float:
    """The time, where it is one."""
    return seconds if isfinite(seconds) and seconds > 0 else 0.0
