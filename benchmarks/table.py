"""The rows in which benchmarks tell their figures, and how they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from machine import slowness


class Figure(NamedTuple):
    """One measured figure. Ratios are formed within one run: absolute times move with the machine."""

    id: str
    """As in docs/benchmarks.md; empty for what only helps to read the others."""
    name: str
    """What it is, with its unit."""
    measured: float
    baseline: float | None = None
    """The same of what is measured beside it, in the same run."""
    target: str = ""
    met: bool | None = None
    """None when there is no target."""

    @property
    def ratio(self) -> float | None:
        """Measured to baseline."""
        return self.measured / self.baseline if self.baseline else None


HEAD = ("", "figure", "measured", "baseline", "ratio", "target", "met")


def at_most(id: str, name: str, measured: float, limit: float, baseline: float | None = None) -> Figure:  # noqa: A002
    """A figure whose value has a limit."""
    return Figure(id, name, measured, baseline, f"≤ {limit:g}", measured <= limit)


def time_at_most(id: str, name: str, measured: float, limit: float, baseline: float | None = None) -> Figure:  # noqa: A002
    """A time in milliseconds whose limit was set on another machine: it grows with the slowness of this one."""
    slow = slowness()
    shown = f"≤ {limit:g}" + (f" × {slow:g}" if slow > 1 else "")
    return Figure(id, name, measured, baseline, shown, measured <= limit * slow)


def ratio_at_most(id: str, name: str, measured: float, baseline: float, limit: float) -> Figure:  # noqa: A002
    """A figure whose ratio to the baseline has a limit."""
    return Figure(id, name, measured, baseline, f"≤ {limit:g} ×", measured <= limit * baseline)


def rate_at_least(id: str, name: str, measured: float, limit: float, baseline: float | None = None) -> Figure:  # noqa: A002
    """A rate whose limit was set on another machine: it shrinks with the slowness of this one."""
    slow = slowness()
    shown = f"≥ {limit:g}" + (f" ÷ {slow:g}" if slow > 1 else "")
    return Figure(id, name, measured, baseline, shown, measured >= limit / slow)


def ratio_at_least(id: str, name: str, measured: float, baseline: float, limit: float) -> Figure:  # noqa: A002
    """A figure whose ratio to the baseline must reach something."""
    return Figure(id, name, measured, baseline, f"≥ {limit:g} ×", measured >= limit * baseline)


def as_text(figures: Sequence[Figure]) -> str:
    """The figures as a table of a terminal, and of Markdown."""
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
