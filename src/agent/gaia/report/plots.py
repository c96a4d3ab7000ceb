"""Plots of a report as SVG: no script, colours from the page's style, every mark with its words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import accumulate, pairwise
from math import log10
from statistics import median

from agent.gaia.attempt import Attempt
from agent.gaia.report.figures import Share, Summary, finite
from agent.gaia.report.opened import of_text, percent, price, seconds_text
from mcp_tools.text import one_line

WIDTH, HEIGHT = 320, 220
MOST_MARKS = 1_500
"""Marks of one plot; of more attempts evenly many are drawn, and that is told."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 14, 34
_BINS = 5
_ROWS = 8

Draw = Callable[[float, float], tuple[float, float]]


def accuracy_by_level(summary: Summary) -> str:
    """A dot with its interval for all questions and for each level."""
    groups = [("all", summary.share), *((f"level {g.name}", g.share) for g in summary.levels)][:_ROWS]
    rows = [(name.replace("level no level", "no level"), share) for name, share in groups if share.of]
    if not rows or not summary.is_scored:
        return _nothing("Accuracy by level", "nothing was scored")
    step = min(42.0, (HEIGHT - _TOP - 24) / len(rows))
    height = round(_TOP + step * len(rows) + 24)
    return _figure("Accuracy by level", "95 % intervals (Wilson)", "".join(_level_rows(rows, step)), height)


def accuracy_by_cost(attempts: Sequence[Attempt]) -> str:
    """The accuracy of the cheapest fifth of the attempts, of the next, and so on."""
    noun, cost_of, text = _measure(attempts)
    scored = sorted((a for a in attempts if a.correct is not None), key=cost_of)
    title = f"Accuracy against {noun}"
    if len(scored) < _BINS:
        return _nothing(title, "too few scored attempts")
    edges = [round(n * len(scored) / _BINS) for n in range(_BINS + 1)]
    bins = [scored[start:end] for start, end in pairwise(edges)]
    middles = [median(map(cost_of, part)) for part in bins]
    place = _scaled(_log_range(middles), (0.0, 1.0))
    marks = [*_y_axis([0, 0.5, 1], percent_tick, place), *_x_axis(middles, text, place)]
    points = []
    for part, middle in zip(bins, middles, strict=True):
        share = Share(sum(a.correct is True for a in part), len(part), len({a.task_id for a in part}))
        low, high = share.interval
        x, y = place(log10(max(middle, _SMALLEST)), share.right / share.of)
        top, bottom = place(0, high)[1], place(0, low)[1]
        points.append((x, y))
        told = f"{of_text(share)} right = {percent(share.value)}, median {text(middle)}"
        marks.append(f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>')
        marks.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(told)}</title></circle>')
    marks.insert(0, f'<polyline class="line" points="{_path(points)}"/>')
    return _figure(title, f"fifths of the attempts, cheapest first; {noun} on a logarithmic scale", "".join(marks))


def outcomes(attempts: Sequence[Attempt]) -> str:
    """Each attempt by its time and cost, with what became of it."""
    noun, cost_of, text = _measure(attempts)
    title = f"Time, {noun} and outcome"
    if not attempts:
        return _nothing(title, "no attempts")
    every = -(-len(attempts) // MOST_MARKS)
    drawn = attempts[::every]
    seconds = [max(finite(a.seconds), 0.01) for a in drawn]
    costs = [max(cost_of(a), _SMALLEST) for a in drawn]
    place = _scaled(_log_range(seconds), _log_range(costs))
    ends = sorted({min(costs), max(costs)})
    marks = [*_y_axis([log10(c) for c in ends], lambda y: text(10**y), place), *_x_axis(seconds, seconds_text, place)]
    for attempt, x, y in zip(drawn, seconds, costs, strict=True):
        marks.append(_outcome(attempt, *place(log10(x), log10(y)), f"{seconds_text(x)}, {text(cost_of(attempt))}"))
    sample = f", one of {every} attempts is drawn" if every > 1 else ""
    return _figure(title, f"● right, × wrong, ○ no score; time across{sample}", "".join(marks))


def reuse_of_tools(attempts: Sequence[Attempt]) -> str:
    """How many tools were created and how many reused, as the run went on."""
    title = "Tools over time"
    created = list(accumulate((len(a.tools_created) for a in attempts), initial=0))
    reused = list(accumulate((len(a.tools_reused) for a in attempts), initial=0))
    most = max(created[-1], reused[-1])
    if not most:
        return _nothing(title, "no tool was created or reused")
    place = _scaled((0.0, float(len(attempts))), (0.0, float(most)))
    marks = list(_y_axis([0, most], lambda y: f"{y:,.0f}", place))
    marks += [_tick_x(place(x, 0)[0], f"{x:,}", anchor) for x, anchor in ((0, "start"), (len(attempts), "end"))]
    for line, (name, counts) in enumerate((("created", created), ("reused", reused))):
        points = [place(float(n), float(counts[n])) for n in _sampled(len(counts))]
        marks.append(f'<polyline class="line {name}" points="{_path(points)}"/>')
        marks.append(_label(_LEFT + 8, _TOP + 14 + 15 * line, f"{name} {counts[-1]:,}", "start", name))
    return _figure(title, "added up over the attempts, in the order of the ledger", "".join(marks))


_SMALLEST = 1e-6


def percent_tick(share: float) -> str:
    """A share on an axis."""
    return f"{100 * share:.0f} %"


def _level_rows(rows: Sequence[tuple[str, Share]], step: float) -> Iterator[str]:
    left, right = 66, WIDTH - 114
    bottom = _TOP + step * len(rows)
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + (right - left) * tick
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom:.1f}"/>'
    for tick in (0, 0.5, 1):
        yield _label(left + (right - left) * tick, bottom + 14, percent_tick(tick), "middle")
    for number, (name, share) in enumerate(rows):
        y = _TOP + step * (number + 0.5)
        low, high = (left + (right - left) * end for end in share.interval)
        x = left + (right - left) * (share.value or 0)
        yield _label(0, y + 4, one_line(name, 12), "start", "name")
        yield f'<line class="whisker" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>'
        yield _label(right + 12, y + 4, percent(share.value), "start", "name")
        yield _label(WIDTH, y + 4, f"of {share.of:,}", "end")


def _outcome(attempt: Attempt, x: float, y: float, told: str) -> str:
    title = f"<title>{escape(one_line(f'{attempt.task_id}: {attempt.status}, {told}', 120))}</title>"
    if attempt.correct:
        return f'<circle class="right" cx="{x:.1f}" cy="{y:.1f}" r="3">{title}</circle>'
    if attempt.correct is None:
        return f'<circle class="open" cx="{x:.1f}" cy="{y:.1f}" r="3">{title}</circle>'
    return f'<path class="wrong" d="M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6">{title}</path>'


def _measure(attempts: Sequence[Attempt]) -> tuple[str, Callable[[Attempt], float], Callable[[float], str]]:
    """What an attempt cost: money where every price is known and there is one, else tokens."""
    if attempts and all(a.cost is not None for a in attempts) and any(a.cost for a in attempts):
        return "cost", lambda a: finite(a.cost or 0.0), price
    return "tokens", lambda a: float(a.input_tokens + a.output_tokens), lambda value: f"{value:,.0f}"


def _log_range(values: Sequence[float]) -> tuple[float, float]:
    low, high = log10(max(min(values), _SMALLEST)), log10(max(max(values), _SMALLEST))
    return (low - 0.05, high + 0.05) if high - low > 0.1 else (low - 0.5, high + 0.5)


def _scaled(x_range: tuple[float, float], y_range: tuple[float, float]) -> Draw:
    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - x_range[0]) / ((x_range[1] - x_range[0]) or 1)
        up = (y - y_range[0]) / ((y_range[1] - y_range[0]) or 1)
        return _LEFT + across * (WIDTH - _LEFT - _RIGHT), HEIGHT - _BOTTOM - up * (HEIGHT - _TOP - _BOTTOM)

    return place


def _y_axis(values: Sequence[float], text: Callable[[float], str], place: Draw) -> Iterator[str]:
    for value in values:
        y = place(0, value)[1]
        yield f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield _label(_LEFT - 6, y + 4, text(value), "end")


def _x_axis(values: Sequence[float], text: Callable[[float], str], place: Draw) -> Iterator[str]:
    """The smallest and the largest value under a logarithmic axis."""
    ends = sorted({min(values), max(values)})
    for value, anchor in zip(ends, ("start", "end") if len(ends) == 2 else ("middle",), strict=True):
        yield _tick_x(place(log10(max(value, _SMALLEST)), 0)[0], text(value), anchor)


def _tick_x(x: float, text: str, anchor: str) -> str:
    return _label(x, HEIGHT - _BOTTOM + 18, text, anchor)


def _label(x: float, y: float, text: str, anchor: str, style: str = "tick") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _sampled(count: int) -> list[int]:
    every = -(-count // MOST_MARKS)
    return sorted({*range(0, count, every), count - 1})


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _figure(title: str, note: str, marks: str, height: int = HEIGHT) -> str:
    return (
        f"<figure><figcaption><b>{escape(title)}</b> <span>{escape(note)}</span></figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}: {escape(note)}">'
        f"{marks}</svg></figure>"
    )


def _nothing(title: str, why: str) -> str:
    return f"<figure><figcaption><b>{escape(title)}</b></figcaption><p>{escape(why)}</p></figure>"
