"""The report on a benchmark, independent of its format: a headline, facts, tables, and each question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import NamedTuple

from agent.gaia.attempt import Attempt
from agent.gaia.ledger import Header
from agent.gaia.report.figures import Counted, Group, Results, by, effort_of, group_of
from agent.gaia.report.statistics import Interval, pass_at_k
from agent.records import as_plain
from agent.traces.page import Table
from mcp_tools.text import count_of, duration
from mcp_tools.tool import Json

SCHEMA = 3
UNKNOWN = "unknown"


class Fact(NamedTuple):
    """A named fact, with a value for JSON and a text for people. A fact without a text only appears in JSON."""

    name: str
    value: Json
    text: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A report or comparison, independent of its format."""

    title: str
    headline: str
    """One sentence with the most important figure."""
    notices: Sequence[str]
    """Warnings about the figures, one sentence each."""
    facts: Sequence[Fact]
    tables: Sequence[Table]
    """The tables. Tables without rows are not rendered."""
    cells: Sequence[Counted] = ()
    """Every question in every epoch, for the page and for JSON."""

    def as_json(self) -> dict[str, Json]:
        """Return the object that `--format json` prints."""
        attempts: list[Json] = [
            {"task_id": cell.task.task_id, "epoch": cell.epoch, "status": cell.status, "right": cell.right}
            for cell in self.cells
        ]
        return {
            "schema": SCHEMA,
            "title": self.title,
            "headline": self.headline,
            "notices": [*self.notices],
            "facts": {fact.name: fact.value for fact in self.facts},
            "tables": {table.title: [*table.values] for table in self.tables},
            **({"attempts": attempts} if attempts else {}),
        }


def report_of(results: Results) -> Report:
    """Build the report. Its headline is the accuracy over all selected questions."""
    cells, chosen = results.cells, {task.task_id for task in results.selected}
    mine = [attempt for attempt in results.attempts if attempt.task_id in chosen]
    last = [cell.attempt for cell in cells if cell.attempt is not None]
    is_scored = not last or any(attempt.correct is not None for attempt in last)
    overall = group_of("all", cells, is_scored=is_scored)
    questions = list(by(cells, "question").values())
    epochs = len(questions[0]) if questions else results.epochs
    ends = {(attempt.key, attempt.run_id): attempt for attempt in mine}
    spent = [a for a in mine if not a.run_id or ends[a.key, a.run_id] is a]  # a resumed run counts only once
    effort = effort_of(spent)
    leaked = list(dict.fromkeys(attempt.task_id for attempt in mine if attempt.leaks))
    leaked_right = sum(cell.right and bool(cell.attempt and cell.attempt.leaks) for cell in cells)
    retried, missing = sum(max(cell.tries - 1, 0) for cell in cells), len(cells) - overall.attempted
    status = dict(Counter(cell.status for cell in cells).most_common())
    models = list(dict.fromkeys(attempt.model for attempt in mine if attempt.model))
    header = results.header
    facts = [
        Fact("all", as_plain(overall)),
        Fact("questions", len(chosen)),
        Fact("epochs", epochs),
        Fact("attempted", overall.attempted, f"{overall.attempted:,} of {overall.of:,}"),
        Fact("errors", overall.errors, f"{overall.errors:,}"),
        Fact("missing", missing),
        Fact("not attempted", missing, f"{missing:,}"),
        Fact("right after a leak", leaked_right),
        Fact("status", status, ", ".join(f"{name} {n:,}" for name, n in status.items())),
    ]
    by_epoch = [fmean(question[n].right for question in questions) for n in range(epochs)] if questions else []
    facts += _pass_at_1(by_epoch, is_scored=is_scored)
    tokens = f"{effort.input_tokens:,} read + {effort.output_tokens:,} written"
    waited = f", and {seconds_text(effort.waited)} waiting for endpoints" if effort.waited else ""
    time = f"{seconds_text(effort.seconds)} of work; median {seconds_text(effort.median_seconds)} a question{waited}"
    again = f"{count_of(retried, 'attempt')}; tokens, cost and time include the earlier ones" if retried else ""
    configured = " · ".join(f"{key} {value}" for key, value in header.configuration.items() if value)
    facts += [
        Fact("model", models, ", ".join(models)),
        library_fact(header),
        Fact("effort", as_plain(effort)),
        Fact(
            "tokens",
            effort.input_tokens + effort.output_tokens,
            f"{tokens}; median {_count(effort.median_tokens)} a question",
        ),
        Fact("cost", effort.cost, price(effort.cost)),
        Fact("time", effort.seconds, time),
        Fact("tried again", retried, again),
        Fact("begun", header.created, header.created),
        Fact("configuration", header.configuration, configured),
    ]
    notices = [*results.flaws]
    if is_scored and (unscored := sum(a.correct is None and a.status == "ok" for a in last)):
        notices.append(f"{unscored:,} finished attempts have no reference answer and count as wrong")
    if unselected := len(results.attempts) - len(mine):
        notices.append(f"{unselected:,} attempts at questions that were not selected are not counted")
    if leaked:
        notices.append(
            f"the leak guard met copies of the dataset in {count_of(len(leaked), 'question')} ({', '.join(leaked)}); "
            f"of these attempts, right: {leaked_right:,}"
        )
    resolved = Counter(a.resolution for a in last if a.resolution).most_common()
    tables = [_part(noun, cells, is_scored=is_scored) for noun in ("level", "file type", "route")]
    if epochs > 1 and is_scored:
        tables.append(_over_epochs(by_epoch, [sum(cell.right for cell in question) for question in questions]))
    tables += [
        _tools(spent),
        table_of("How attempts resolved", [{"resolution": name, "attempts": n} for name, n in resolved]),
    ]
    of = count_of(len(chosen), "selected question") + (f" × {epochs} epochs" if epochs > 1 else "")
    interval = f"95 % interval {_interval(overall.interval95)} (Wilson)"
    headline = f"{percent(overall.accuracy)} right: {overall.right:,} of {overall.of:,} ({of}), {interval}"
    if not is_scored:
        headline = f"accuracy {UNKNOWN}: no attempt at the {of} could be compared with a reference answer"
    elif not cells:
        headline = "no question was selected"
    return Report(results.name or "Benchmark", headline, notices, facts, [t for t in tables if t.rows], cells)


_LIBRARIES = {
    "warm": "one library grew over the run, so the order of the questions matters",
    "cold": "each attempt began without tools",
    "read-only": "all attempts used the same tools",
}


def library_fact(header: Header) -> Fact:
    """Return a fact about the library mode of a run."""
    mode = str(header.configuration.get("library", ""))
    return Fact("library", mode or None, f"{mode}: {_LIBRARIES[mode]}" if mode in _LIBRARIES else mode)


def _pass_at_1(by_epoch: Sequence[float], *, is_scored: bool) -> Iterator[Fact]:
    """Yield the mean accuracy over the epochs, and its sample standard deviation if there are several."""
    mean = (fmean(by_epoch) if by_epoch else 0.0) if is_scored else None
    spread = stdev(by_epoch) if len(by_epoch) > 1 else None
    text = percent(mean)
    if mean is not None and spread is None:
        text += " (one epoch: its spread is unknown)"
    elif mean is not None and spread is not None:
        low, high = percent(min(by_epoch)), percent(max(by_epoch))
        text += f" ± standard deviation {100 * spread:.1f} points, {low} to {high} over {len(by_epoch)} epochs"
    yield Fact("mean pass@1", mean, text)
    yield Fact("standard deviation of pass@1", spread)


def _part(noun: str, cells: Sequence[Counted], *, is_scored: bool) -> Table:
    parts = by(cells, noun).items()
    groups = [group_of(name, members, is_scored=is_scored) for name, members in parts]
    groups.sort(key=lambda group: (0 if noun == "level" else -group.of, group.name))
    return of_groups(f"By {noun}", noun, groups)


def of_groups(title: str, noun: str, groups: Sequence[Group]) -> Table:
    """Return a table with the results of each group."""
    rows = [
        (
            group.name,
            UNKNOWN if group.interval95 is None else f"{group.right:,} of {group.of:,}",
            percent(group.accuracy),
            _interval(group.interval95),
            f"{group.errors:,}",
            seconds_text(group.effort.median_seconds),
            _count(group.effort.median_tokens),
            price(group.effort.cost),
        )
        for group in groups
    ]
    head = (noun, "right", "accuracy", "95 % interval", "errors", "time", "tokens", "cost")
    return Table(title, head, rows, [as_plain(group) for group in groups], "time and tokens: medians")


def table_of(title: str, values: Sequence[dict[str, Json]], note: str = "") -> Table:
    """Return a table of objects that have the same members, one column per member. Floats are shown as percentages."""

    def text(value: Json) -> str:
        return percent(value) if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)

    rows = [[text(value) for value in each.values()] for each in values]
    return Table(title, tuple(values[0]) if values else (), rows, values, note)


def _over_epochs(by_epoch: Sequence[float], rights: Sequence[int]) -> Table:
    """Return a table with the accuracy of each epoch, and pass@k."""
    epochs = len(by_epoch)
    figures = [
        (f"epoch {n}", accuracy, "accuracy over all selected questions") for n, accuracy in enumerate(by_epoch, 1)
    ]
    for k in range(1, epochs + 1):
        says = f"at least one of {k} attempts is right, unbiased" if k > 1 else "one attempt is right: the epochs' mean"
        figures.append((f"pass@{k}", fmean(pass_at_k(right, epochs, k) for right in rights), says))
    return table_of(
        "Over the epochs", [{"figure": name, "value": v, "what it says": says} for name, v, says in figures]
    )


def _tools(attempts: Sequence[Attempt]) -> Table:
    counts: dict[str, Counter[str]] = {
        "created": Counter(name for a in attempts for name in set(a.tools_created)),
        "reused": Counter(name for a in attempts for name in set(a.tools_reused)),
        "reused and right": Counter(name for a in attempts if a.correct for name in set(a.tools_reused)),
        "failed": Counter(name for a in attempts for name in set(a.tools_failed)),
    }
    reused, failed = counts["reused"], counts["failed"]
    names = sorted({*counts["created"], *reused, *failed}, key=lambda name: (-reused[name], -failed[name], name))
    rows: list[dict[str, Json]] = [{"tool": n, **{what: count[n] for what, count in counts.items()}} for n in names]
    return table_of("Tools", rows)


def percent(share: float | None) -> str:
    """Format a share from 0 to 1 as a percentage."""
    return UNKNOWN if share is None else f"{100 * share:.1f} %"


def price(dollars: float | None, unknown: str = UNKNOWN) -> str:
    """Format a price; None is shown as `unknown`."""
    if dollars is None:
        return unknown
    return "$0" if dollars == 0 else f"${dollars:,.4f}" if dollars < 10 else f"${dollars:,.2f}"


def seconds_text(seconds: float | None) -> str:
    """Format a duration; None is shown as a dash."""
    return "–" if seconds is None else duration(seconds)


def _interval(interval: Interval | None) -> str:
    return UNKNOWN if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
