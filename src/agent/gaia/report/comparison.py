"""Compares two runs question by question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from agent.gaia.report.figures import Counted, Results, by, group_of
from agent.gaia.report.report import Fact, Report, library_fact, of_groups, table_of
from agent.gaia.report.statistics import mcnemar
from mcp_tools.text import count_of
from mcp_tools.tool import Json

_NAMED = 20


def compare(first: Results, second: Results) -> Report:
    """Compare two runs on the questions that both attempted. A failed attempt counts as wrong.

    If there are several epochs, a question counts as right if it was answered correctly in more than half of them.
    """
    names = (first.name, second.name) if first.name != second.name else ("first run", "second run")
    # Questions attempted in at least one epoch. Missing epochs count as wrong.
    here, there = (
        {task_id: cells for task_id, cells in by(run.cells, "question").items() if any(cell.attempt for cell in cells)}
        for run in (first, second)
    )
    found: defaultdict[str, list[str]] = defaultdict(list)
    for task_id in here | there:
        if task_id not in here or task_id not in there:
            kind = f"attempted in {names[0] if task_id in here else names[1]} only"
        elif not _is_same_question(here[task_id], there[task_id]):
            kind = "with different text in each run"
        elif not (_is_scored(here[task_id]) and _is_scored(there[task_id])):
            kind = "without a reference answer in one of the runs"
        else:
            was, now = (sum(cell.right for cell in cells[task_id]) * 2 > len(cells[task_id]) for cells in (here, there))
            kind = ("both" if now else "lost") if was else "gained" if now else "neither"
        found[kind].append(task_id)
    both, lost, gained, neither = (found.pop(kind, []) for kind in ("both", "lost", "gained", "neither"))
    common = [*both, *lost, *gained, *neither]
    notices = [f"{name}: {flaw}" for name, run in zip(names, (first, second), strict=True) for flaw in run.flaws]
    for kind, tasks in found.items():
        more = f" and {len(tasks) - _NAMED:,} more" if len(tasks) > _NAMED else ""
        notices.append(f"{count_of(len(tasks), 'question')} {kind}, not compared: {', '.join(tasks[:_NAMED])}{more}")
    if any(len(cells) > 1 for cells in (*here.values(), *there.values())):
        notices.append("a run has several epochs: a question counts as right if more than half of them are")
    libraries = [library_fact(run.header).value for run in (first, second)]
    if None not in libraries and libraries[0] != libraries[1]:
        notices.append(f"the tool libraries differ: {libraries[0]} in {names[0]}, {libraries[1]} in {names[1]}")
    groups = [
        group_of(name, [cell for t in common for cell in cells[t]], right=len(both) + len(alone))
        for name, cells, alone in zip(names, (here, there), (lost, gained), strict=True)
    ]
    difference = (len(gained) - len(lost)) / len(common) if common else 0.0
    p = mcnemar(len(lost), len(gained))
    facts = [
        Fact("common questions", len(common)),
        Fact("difference", difference),
        Fact("p (McNemar)", p),
        Fact("not compared", dict(found)),
        Fact("library", libraries, " and ".join(filter(None, dict.fromkeys(libraries)))),
        Fact("right in both", len(both), f"{len(both):,}"),
        Fact("right in the first only", len(lost), f"{len(lost):,}"),
        Fact("right in the second only", len(gained), f"{len(gained):,}"),
        Fact("right in neither", len(neither), f"{len(neither):,}"),
    ]
    headline = (
        f"{100 * difference:+.1f} points on {count_of(len(common), 'common question')}: "
        f"{count_of(len(lost) + len(gained), 'question')} changed, {len(gained):,} gained and {len(lost):,} lost; "
        f"p = {f'{p:.2g}' if p >= 0.0001 else 'below 0.0001'} (McNemar, exact, two-sided)"
    )
    if not common:
        headline = "The runs have no scored question in common: nothing can be compared."
    if empty := [name for name, cells in zip(names, (here, there), strict=True) if not cells]:
        headline = f"Nothing can be compared: no question was attempted in {' or '.join(empty)}."
    tables = [
        of_groups("On the common questions", "run", groups),
        table_of("Gained", [_change(here[t], there[t]) for t in gained]),
        table_of("Lost", [_change(here[t], there[t]) for t in lost]),
    ]
    return Report(" and ".join(names), headline, notices, facts, [table for table in tables if table.rows])


def _is_same_question(here: Sequence[Counted], there: Sequence[Counted]) -> bool:
    hashes = [{cell.attempt.question_sha256 for cell in cells if cell.attempt} - {""} for cells in (here, there)]
    return not (hashes[0] and hashes[1]) or bool(hashes[0] & hashes[1])


def _is_scored(cells: Sequence[Counted]) -> bool:
    """Return False if an attempt succeeded but has no score because the reference answer is unknown."""
    return not any(cell.status == "ok" and cell.attempt and cell.attempt.correct is None for cell in cells)


def _change(here: Sequence[Counted], there: Sequence[Counted]) -> dict[str, Json]:
    row: dict[str, Json] = {"question": here[0].task.task_id, "level": here[0].part("level")}
    for run, cells in (("first run", here), ("second run", there)):
        made = next(cell.attempt for cell in cells if cell.attempt is not None)
        is_answer = made.status == "ok" and made.answer
        row[run] = made.answer if is_answer else f"({made.status}) {made.answer}".strip()
    return row
