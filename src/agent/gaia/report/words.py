"""Figures in words: one way to write each of them, in every form of a report."""

from __future__ import annotations

from agent.gaia.report.effort import Money
from agent.gaia.report.intervals import Interval
from agent.gaia.report.summary import Share
from agent.traces.facts import duration

UNKNOWN = "unknown"


def percent(share: float | None) -> str:
    """A share from 0 to 1."""
    return UNKNOWN if share is None else f"{100 * share:.1f} %"


def interval_text(interval: Interval, to: str = " to ") -> str:
    """Both ends of an interval."""
    return f"{100 * interval.low:.1f}{to}{100 * interval.high:.1f} %"


def of_text(share: Share) -> str:
    """How many of how many."""
    return f"{share.right:,} of {share.of:,}"


def price(dollars: float | None) -> str:
    """One price; an unknown one is never nothing."""
    if dollars is None:
        return UNKNOWN
    if dollars == 0:
        return "$0"
    return f"${dollars:,.4f}" if dollars < 10 else f"${dollars:,.2f}"


def money_text(money: Money) -> str:
    """A sum of prices; where one is unknown, so is the sum."""
    if not money.attempts:
        return "none"
    if not money.unpriced:
        return price(money.known)
    if money.unpriced == money.attempts:
        return UNKNOWN
    return f"{UNKNOWN} (at least {price(money.known)}; {money.unpriced:,} of {money.attempts:,} attempts have no price)"


def seconds_text(seconds: float | None) -> str:
    """A time, up to hours."""
    if seconds is None:
        return "–"
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
    return "0 s" if seconds == 0 else duration(seconds)


def number(value: float | None) -> str:
    """A count."""
    return "–" if value is None else f"{value:,.0f}"


def count(how_many: int, noun: str) -> str:
    """A count with its noun."""
    return f"{how_many:,} {noun}{'' if how_many == 1 else 's'}"
