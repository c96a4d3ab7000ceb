"""The plots of a report, in units of their frame: from 0 to 1, left to right and bottom to top. The page draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import log10

from agent.gaia.attempt import Attempt
from agent.gaia.report.figures import Summary, finite
from agent.gaia.report.tables import percent, price, seconds_text

MOST_MARKS = 1_500
"""Marks of one plot; of more attempts evenly many are drawn, and that is told."""
_SMALLEST = 1e-6
Ticks = Sequence[tuple[float, str]]


@dataclass(slots=True)
class Plot:
    """One plot; without dots and lines, its note says why it is empty."""

    title: str
    note: str
    x: Ticks = ()
    y: Ticks = ()
    dots: list[tuple[float, float, str, str]] = field(default_factory=list)
    """x, y, what it is (`dot`, `right`, `wrong`, `open`), and what is said of it."""
    whiskers: list[tuple[float, float, float]] = field(default_factory=list)
    """x, and both ends."""
    lines: dict[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """By their style."""


def accuracy_by_level(summary: Summary) -> Plot:
    """A dot with its interval for all questions and for each level."""
    if summary.overall.accuracy is None:
        return Plot("Accuracy by level", "nothing was scored")
    groups = [summary.overall, *summary.level][:8]
    plot = Plot("Accuracy by level", "95 % intervals (Wilson)", y=((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")))
    places = [(n + 0.5) / len(groups) for n in range(len(groups))]
    plot.x = [
        (x, group.name if len(group.name) > 1 else f"level {group.name}")
        for x, group in zip(places, groups, strict=True)
    ]
    for x, group in zip(places, groups, strict=True):
        plot.dots.append((x, group.accuracy or 0.0, "dot", f"{percent(group.accuracy)} of {group.of:,}"))
        plot.whiskers.append((x, *(group.interval95 or (0.0, 1.0))))
    return plot


def outcomes(attempts: Sequence[Attempt]) -> Plot:
    """Each attempt by its time and cost (tokens where prices are unknown), with what became of it."""
    is_priced = any(a.cost for a in attempts) and all(a.cost is not None for a in attempts)
    noun, text = ("cost", price) if is_priced else ("tokens", lambda tokens: f"{tokens:,.0f}")
    title = f"Time, {noun} and outcome"
    if not attempts:
        return Plot(title, "no attempts")
    every = -(-len(attempts) // MOST_MARKS)
    drawn = attempts[::every]
    seconds = [max(finite(a.seconds), 0.01) for a in drawn]
    costs = [finite(a.cost or 0.0) if is_priced else float(a.input_tokens + a.output_tokens) for a in drawn]
    (across, x), (up, y) = _log_axis(seconds, seconds_text), _log_axis(costs, text)
    sample = f", one of {every} attempts is drawn" if every > 1 else ""
    plot = Plot(title, f"● right, × wrong, ○ no score; time across{sample}", x, y)
    for attempt, took, cost in zip(drawn, seconds, costs, strict=True):
        outcome = {True: "right", False: "wrong", None: "open"}[attempt.correct]
        told = f"{attempt.task_id}: {attempt.status}, {seconds_text(took)}, {text(cost)}"
        plot.dots.append((across(took), up(cost), outcome, told))
    return plot


def tools_over_time(attempts: Sequence[Attempt]) -> Plot:
    """How many tools were created and how many reused, as the run went on."""
    created = list(accumulate((len(a.tools_created) for a in attempts), initial=0))
    reused = list(accumulate((len(a.tools_reused) for a in attempts), initial=0))
    most, end = max(created[-1], reused[-1]), len(attempts)
    if not most:
        return Plot("Tools over time", "no tool was created or reused")
    note = f"{created[-1]:,} created and {reused[-1]:,} reused, added up over the attempts"
    plot = Plot("Tools over time", note, [(0.0, "0"), (1.0, f"{end:,}")], [(0.0, "0"), (1.0, f"{most:,}")])
    sampled = sorted({*range(0, end, -(-end // MOST_MARKS)), end})
    for name, counts in (("created", created), ("reused", reused)):
        plot.lines[name] = [(n / end, counts[n] / most) for n in sampled]
    return plot


def _log_axis(values: Sequence[float], text: Callable[[float], str]) -> tuple[Callable[[float], float], Ticks]:
    """Where a value stands between the smallest and the largest, in the middle where they are about equal; its ends."""
    ends = sorted({min(values), max(values)})
    low, high = log10(max(ends[0], _SMALLEST)), log10(max(ends[-1], _SMALLEST))
    low, high = (low - 0.05, high + 0.05) if high - low > 0.1 else (low - 0.5, high + 0.5)

    def place(value: float) -> float:
        return (log10(max(value, _SMALLEST)) - low) / (high - low)

    return place, [(place(end), text(end)) for end in ends]
