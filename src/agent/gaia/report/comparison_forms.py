"""A comparison as text: for the terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.gaia.report.comparison import Change, Comparison, Side
from agent.gaia.report.markdown import plain, table_lines
from agent.gaia.report.tables import Table
from agent.gaia.report.terminal import Shown
from agent.gaia.report.words import count, interval_text, money_text, number, of_text, percent, seconds_text

_NAMED = 20
"""Questions that are named where they are not compared."""


def shown(comparison: Comparison) -> Shown:
    """A comparison as the terminal shows it."""
    return Shown(sentence(comparison), list(_notices(comparison)), _facts(comparison), _tables(comparison))


def as_markdown(comparison: Comparison) -> str:
    """The comparison as Markdown."""
    parts = shown(comparison)
    first, second = plain(comparison.first.name), plain(comparison.second.name)
    lines = [f"# {first} and {second}", "", f"**{plain(parts.headline)}**", ""]
    lines += [f"> Note: {plain(notice)}\n>" for notice in parts.notices]
    lines += ["", *(f"- {name}: {plain(value)}" for name, value in parts.facts), ""]
    return "\n".join([*lines, *(line for table in parts.tables for line in table_lines(table))]) + "\n"


def sentence(comparison: Comparison) -> str:
    """What the comparison says, and how sure it is."""
    if not comparison.common:
        return "The runs have no scored question in common: nothing can be compared."
    split = len(comparison.gained) + len(comparison.lost)
    points = f"{100 * comparison.points:+.1f} points"
    return (
        f"{points} on {count(comparison.common, 'common question')}: {count(split, 'question')} changed, "
        f"{len(comparison.gained):,} gained and {len(comparison.lost):,} lost; p = {p_text(comparison.p_value)} "
        "(McNemar, exact, two-sided)"
    )


def p_text(value: float) -> str:
    """A p-value with two digits that mean something."""
    return f"{value:.2g}" if value >= 0.0001 else "below 0.0001"


def _facts(comparison: Comparison) -> list[tuple[str, str]]:
    return [
        ("right in both", f"{comparison.both:,}"),
        ("right in the first only", f"{len(comparison.lost):,}"),
        ("right in the second only", f"{len(comparison.gained):,}"),
        ("right in neither", f"{comparison.neither:,}"),
    ]


def _notices(comparison: Comparison) -> Iterator[str]:
    yield from comparison.flaws
    first, second = comparison.first, comparison.second
    for what, tasks in (
        (f"attempted in {first.name} only", comparison.only_first),
        (f"attempted in {second.name} only", comparison.only_second),
        ("with another text in each run", comparison.altered),
        ("without a true answer in one of the runs", comparison.unscored),
    ):
        if tasks:
            yield f"{count(len(tasks), 'question')} {what}, not compared: {_named(tasks)}"
    if max(first.epochs, second.epochs) > 1:
        yield "a run has several epochs: the answer given most often counts (the vote never saw the truth)"


def _named(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _NAMED:,} more" if len(tasks) > _NAMED else ""
    return ", ".join(tasks[:_NAMED]) + more


def _tables(comparison: Comparison) -> list[Table]:
    head = ("run", "right", "accuracy", "95 % interval", "median time", "median tokens", "cost")
    sides = Table("On the common questions", head, (_row(comparison.first), _row(comparison.second)))
    changes = (("Gained", comparison.gained), ("Lost", comparison.lost))
    return [sides, *(_changes(title, changed) for title, changed in changes if changed)]


def _row(side: Side) -> tuple[str, ...]:
    share, effort = side.share, side.effort
    return (
        side.name,
        of_text(share),
        percent(share.value),
        interval_text(share.interval),
        seconds_text(effort.median_seconds),
        number(effort.median_tokens),
        money_text(effort.money),
    )


def _changes(title: str, changed: Sequence[Change]) -> Table:
    rows = tuple(
        (c.task_id, c.level, _said(c.first_status, c.first_answer), _said(c.second_status, c.second_answer))
        for c in changed
    )
    return Table(title, ("question", "level", "first run", "second run"), rows, texts=(2, 3))


def _said(status: str, answer: str) -> str:
    return answer if status == "ok" and answer else f"({status}) {answer}".strip()
