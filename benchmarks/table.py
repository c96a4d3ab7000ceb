"""The rows in which benchmarks report figures, and the printed table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from machine import slowness


class Figure(NamedTuple):
    """One measured figure. Ratios compare values of the same run, because absolute times depend on the machine."""

    id: str
    """The id in docs/benchmarks.md. Empty for rows that only explain others."""
    name: str
    """Description with the unit."""
    measured: float
    baseline: float | None = None
    """The same figure of the baseline, from the same run."""
    target: str = ""
    met: bool | None = None
    """True if the target is met. None if there is no target."""

    @property
    def ratio(self) -> float | None:
        """Measured value divided by the baseline."""
        return self.measured / self.baseline if self.baseline else None


HEAD = ("", "figure", "measured", "baseline", "ratio", "target", "met")


def at_most(id: str, name: str, measured: float, limit: float, baseline: float | None = None) -> Figure:  # noqa: A002
    """Return a figure with an upper limit."""
    return Figure(id, name, measured, baseline, f"≤ {limit:g}", measured <= limit)


def time_at_most(id: str, name: str, measured: float, limit: float, baseline: float | None = None) -> Figure:  # noqa: A002
    """Return a time in milliseconds with an upper limit, which is scaled to the speed of this machine."""
    slow = slowness()
    shown = f"≤ {limit:g}" + (f" × {slow:g}" if slow > 1 else "")
    return Figure(id, name, measured, baseline, shown, measured <= limit * slow)


def ratio_at_most(id: str, name: str, measured: float, baseline: float, limit: float) -> Figure:  # noqa: A002
    """Return a figure with an upper limit for its ratio to the baseline."""
    return Figure(id, name, measured, baseline, f"≤ {limit:g} ×", measured <= limit * baseline)


def rate_at_least(id: str, name: str, measured: float, limit: float, baseline: float | None = None) -> Figure:  # noqa: A002
    """Return a rate with a lower limit, which is scaled to the speed of this machine."""
    slow = slowness()
    shown = f"≥ {limit:g}" + (f" ÷ {slow:g}" if slow > 1 else "")
    return Figure(id, name, measured, baseline, shown, measured >= limit / slow)


def ratio_at_least(id: str, name: str, measured: float, baseline: float, limit: float) -> Figure:  # noqa: A002
    """Return a figure with a lower limit for its ratio to the baseline."""
    return Figure(id, name, measured, baseline, f"≥ {limit:g} ×", measured >= limit * baseline)


def as_text(figures: Sequence[Figure]) -> str:
    """Return the figures as a Markdown table."""
    lines = [HEAD, *(_cells(figure) for figure in figures)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    shown = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    shown.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(shown)


def _cells(figure: Figure) -> tuple[str, ...]:
    met = {True: "yes", False: "NO", None: ""}[figure.met]
    numbers = (_number(figure.measured), _number(figure.baseline), _number(figure.ratio))
    return (figure.id, figure.name, *numbers, figure.target, met)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.3g}" if value < 10 else f"{value:.1f}"
