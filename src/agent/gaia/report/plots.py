"""The plots of a report, in units of their frame: from 0 to 1, left to right and bottom to top. The page draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import log10
from statistics import median

from agent.gaia.attempt import Attempt
from agent.gaia.report.figures import Summary, finite
from agent.gaia.report.statistics import wilson
from agent.gaia.report.tables import percent, price, seconds_text

MOST_MARKS = 1_500
"""Marks of one plot; of more attempts evenly many are drawn, and that is told."""
_BINS = 5
_SMALLEST = 1e-6
_PERCENTS = ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %"))


@dataclass(slots=True)
class Plot:
    """One plot; without dots and lines, its note says why it is empty."""

    title: str
    note: str
    x: Sequence[tuple[float, str]] = ()
    """Ticks."""
    y: Sequence[tuple[float, str]] = _PERCENTS
    dots: list[tuple[float, float, str, str]] = field(default_factory=list)
    """x, y, what it is (`dot`, `right`, `wrong`, `open`), and what is said of it."""
    whiskers: list[tuple[float, float, float]] = field(default_factory=list)
    """x, and both ends."""
    lines: dict[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """By their style."""


def plots_of(summary: Summary, last: Sequence[Attempt], attempts: Sequence[Attempt]) -> list[Plot]:
    """All plots of a report.

    Args:
        summary: Its figures.
        last: The attempts that count.
        attempts: All of them, in the order of the ledger.
    """
    return [_by_level(summary), _by_cost(last), _outcomes(last), _tools(attempts)]


def _by_level(summary: Summary) -> Plot:
    groups = [("all", summary.overall), *((f"level {g.name}".replace("level no ", "no "), g) for g in summary.level)][
        :8
    ]
    if summary.overall.accuracy is None:
        return Plot("Accuracy by level", "nothing was scored")
    places = [(n + 0.5) / len(groups) for n in range(len(groups))]
    plot = Plot("Accuracy by level", "95 % intervals (Wilson)")
    plot.x = [(x, name) for x, (name, _) in zip(places, groups, strict=True)]
    for x, (_, group) in zip(places, groups, strict=True):
        _add(plot, x, group.accuracy or 0.0, group.interval95, f"{percent(group.accuracy)} of {group.of:,}")
    return plot


def _by_cost(attempts: Sequence[Attempt]) -> Plot:
    """The accuracy of the cheapest fifth of the attempts, of the next, and so on."""
    noun, cost_of, text = _measure(attempts)
    scored = sorted((a for a in attempts if a.correct is not None), key=cost_of)
    title = f"Accuracy against {noun}"
    if len(scored) < _BINS:
        return Plot(title, "too few scored attempts")
    bins = [scored[a:b] for a, b in pairwise(round(n * len(scored) / _BINS) for n in range(_BINS + 1))]
    middles = [median(map(cost_of, part)) for part in bins]
    place = _log_scale(middles)
    plot = Plot(title, f"fifths of the attempts, cheapest first; {noun} on a logarithmic scale", _ends(middles, text))
    for part, middle in zip(bins, middles, strict=True):
        right, questions = sum(a.correct is True for a in part), len({a.task_id for a in part})
        told = f"{right} of {len(part)} right, median {text(middle)}"
        _add(plot, place(middle), right / len(part), wilson(right * questions / len(part), questions), told)
    plot.lines = {"": [(x, y) for x, y, *_ in plot.dots]}
    return plot


def _add(plot: Plot, x: float, share: float, interval: tuple[float, float] | None, told: str) -> None:
    plot.whiskers.append((x, *(interval or (share, share))))
    plot.dots.append((x, share, "dot", told))


def _outcomes(attempts: Sequence[Attempt]) -> Plot:
    """Each attempt by its time and cost, with what became of it."""
    noun, cost_of, text = _measure(attempts)
    title = f"Time, {noun} and outcome"
    if not attempts:
        return Plot(title, "no attempts")
    every = -(-len(attempts) // MOST_MARKS)
    drawn = attempts[::every]
    seconds, costs = [max(finite(a.seconds), 0.01) for a in drawn], [cost_of(a) for a in drawn]
    across, up = _log_scale(seconds), _log_scale(costs)
    sample = f", one of {every} attempts is drawn" if every > 1 else ""
    note = f"● right, × wrong, ○ no score; time across{sample}"
    plot = Plot(title, note, _ends(seconds, seconds_text), _ends(costs, text))
    for attempt, x, y in zip(drawn, seconds, costs, strict=True):
        outcome = {True: "right", False: "wrong", None: "open"}[attempt.correct]
        told = f"{attempt.task_id}: {attempt.status}, {seconds_text(x)}, {text(y)}"
        plot.dots.append((across(x), up(y), outcome, told))
    return plot


def _tools(attempts: Sequence[Attempt]) -> Plot:
    """How many tools were created and how many reused, as the run went on."""
    sums = {
        "created": list(accumulate((len(a.tools_created) for a in attempts), initial=0)),
        "reused": list(accumulate((len(a.tools_reused) for a in attempts), initial=0)),
    }
    most, end = max(one[-1] for one in sums.values()), len(attempts)
    if not most:
        return Plot("Tools over time", "no tool was created or reused")
    note = "added up over the attempts, in the order of the ledger: " + ", ".join(
        f"{k} {v[-1]:,}" for k, v in sums.items()
    )
    plot = Plot("Tools over time", note, [(0.0, "0"), (1.0, f"{end:,}")], [(0.0, "0"), (1.0, f"{most:,}")])
    sampled = sorted({*range(0, end, -(-end // MOST_MARKS)), end})
    plot.lines = {name: [(n / end, counts[n] / most) for n in sampled] for name, counts in sums.items()}
    return plot


def _measure(attempts: Sequence[Attempt]) -> tuple[str, Callable[[Attempt], float], Callable[[float], str]]:
    """What an attempt cost: money where every price is known and there is one, else tokens."""
    if attempts and all(a.cost is not None for a in attempts) and any(a.cost for a in attempts):
        return "cost", lambda a: finite(a.cost or 0.0), price
    return "tokens", lambda a: float(a.input_tokens + a.output_tokens), lambda value: f"{value:,.0f}"


def _log_scale(values: Sequence[float]) -> Callable[[float], float]:
    """Where a value stands between the smallest and the largest; in the middle where they are about equal."""
    low, high = (log10(max(end, _SMALLEST)) for end in (min(values), max(values)))
    low, high = (low - 0.05, high + 0.05) if high - low > 0.1 else (low - 0.5, high + 0.5)
    return lambda value: (log10(max(value, _SMALLEST)) - low) / (high - low)


def _ends(values: Sequence[float], text: Callable[[float], str]) -> list[tuple[float, str]]:
    """The smallest and the largest value of an axis."""
    return [(_log_scale(values)(value), text(value)) for value in sorted({min(values), max(values)})]
