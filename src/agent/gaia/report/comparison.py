"""Compares two runs on the same questions, pair by pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from agent.gaia.report.figures import Counted, Group, Report, by_question, group_of, verdict
from agent.gaia.report.statistics import mcnemar
from agent.gaia.report.tables import Shown, Table, of_groups
from mcp_tools.text import count_of
from mcp_tools.tool import Json

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Change:
    """A question that one run got right and the other did not."""

    task_id: str
    level: str
    first_answer: str
    second_answer: str
    first_status: str
    second_status: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two runs; its names are those of JSON."""

    first: Group
    """One of the two runs, on the common questions only."""
    second: Group
    epochs: tuple[int, int]
    both: int
    neither: int
    lost: tuple[Change, ...]
    gained: tuple[Change, ...]
    common: int
    difference: float
    """By how much the second run's accuracy is higher, from -1 to 1."""
    mcnemar_p: float
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    altered: tuple[str, ...]
    unscored: tuple[str, ...]
    """Questions that one of the runs could not compare with a true answer."""
    flaws: tuple[str, ...] = ()
    """What is wrong with a ledger, each with the ledger's name."""

    def as_json(self) -> dict[str, Json]:
        """The object that `alita gaia compare --format json` prints."""
        told = asdict(self)
        for side, epochs in zip(("first", "second"), told.pop("epochs"), strict=True):
            told[side] |= {"ledger": told[side].pop("name"), "epochs": epochs}
        return {"schema": SCHEMA, **told}


def compare(first: Report, second: Report) -> Comparison:
    """Compares two runs on the questions that both attempted; what broke counts as wrong.

    Where a run has several epochs, a question is right that was answered in more than half of them.
    """
    # Those with an attempt in any epoch; an epoch without one stays among them, as not right.
    here, there = (
        {task_id: cells for task_id, cells in by_question(run.cells).items() if any(cell.attempt for cell in cells)}
        for run in (first, second)
    )
    found: defaultdict[str, list[str]] = defaultdict(list)
    for task_id in here | there:
        if task_id not in here or task_id not in there:
            kind = "only first" if task_id in here else "only second"
        elif not _is_same_question(here[task_id], there[task_id]):
            kind = "altered"
        elif not (_is_scored(here[task_id]) and _is_scored(there[task_id])):
            kind = "unscored"
        else:
            right = verdict(here[task_id]), verdict(there[task_id])
            kind = ("both" if right[1] else "lost") if right[0] else "gained" if right[1] else "neither"
        found[kind].append(task_id)
    both, lost, gained, neither = (found[kind] for kind in ("both", "lost", "gained", "neither"))
    common = [*both, *lost, *gained, *neither]
    names = (first.ledger, second.ledger) if first.ledger != second.ledger else ("first run", "second run")
    return Comparison(
        first=group_of(names[0], [cell for t in common for cell in here[t]], right=len(both) + len(lost)),
        second=group_of(names[1], [cell for t in common for cell in there[t]], right=len(both) + len(gained)),
        epochs=(first.epochs, second.epochs),
        both=len(both),
        neither=len(neither),
        lost=tuple(_change(here[t], there[t]) for t in lost),
        gained=tuple(_change(here[t], there[t]) for t in gained),
        common=len(common),
        difference=(len(gained) - len(lost)) / len(common) if common else 0.0,
        mcnemar_p=mcnemar(len(lost), len(gained)),
        only_first=tuple(found["only first"]),
        only_second=tuple(found["only second"]),
        altered=tuple(found["altered"]),
        unscored=tuple(found["unscored"]),
        flaws=tuple(f"{name}: {flaw}" for name, run in zip(names, (first, second), strict=True) for flaw in run.flaws),
    )


def _is_same_question(here: Sequence[Counted], there: Sequence[Counted]) -> bool:
    hashes = [{cell.attempt.question_sha256 for cell in cells if cell.attempt} - {""} for cells in (here, there)]
    return not (hashes[0] and hashes[1]) or bool(hashes[0] & hashes[1])


def _is_scored(cells: Sequence[Counted]) -> bool:
    """False when an attempt ended well and yet has no score: the true answer is not known."""
    return not any(cell.status == "ok" and cell.attempt and cell.attempt.correct is None for cell in cells)


def _change(here: Sequence[Counted], there: Sequence[Counted]) -> Change:
    first, second = (next(cell.attempt for cell in cells if cell.attempt is not None) for cells in (here, there))
    return Change(here[0].task.task_id, here[0].level, first.answer, second.answer, first.status, second.status)


_NAMED = 20


def shown(comparison: Comparison) -> Shown:
    """What is shown of a comparison."""
    facts = [
        ("right in both", f"{comparison.both:,}"),
        ("right in the first only", f"{len(comparison.lost):,}"),
        ("right in the second only", f"{len(comparison.gained):,}"),
        ("right in neither", f"{comparison.neither:,}"),
    ]
    tables = [of_groups("On the common questions", "run", (comparison.first, comparison.second))]
    for title, changed in (("Gained", comparison.gained), ("Lost", comparison.lost)):
        rows = [
            (c.task_id, c.level, _said(c.first_status, c.first_answer), _said(c.second_status, c.second_answer))
            for c in changed
        ]
        tables += [Table(title, ("question", "level", "first run", "second run"), rows)] if rows else []
    title = f"{comparison.first.name} and {comparison.second.name}"
    return Shown(title, sentence(comparison), list(_notices(comparison)), facts, tables)


def sentence(comparison: Comparison) -> str:
    """What the comparison says, and how sure it is."""
    if not comparison.common:
        return "The runs have no scored question in common: nothing can be compared."
    lost, gained = len(comparison.lost), len(comparison.gained)
    p_value = f"{comparison.mcnemar_p:.2g}" if comparison.mcnemar_p >= 0.0001 else "below 0.0001"
    return (
        f"{100 * comparison.difference:+.1f} points on {count_of(comparison.common, 'common question')}: "
        f"{count_of(lost + gained, 'question')} changed, {gained:,} gained and {lost:,} lost; p = {p_value} "
        "(McNemar, exact, two-sided)"
    )


def _notices(comparison: Comparison) -> Iterator[str]:
    yield from comparison.flaws
    for what, tasks in (
        (f"attempted in {comparison.first.name} only", comparison.only_first),
        (f"attempted in {comparison.second.name} only", comparison.only_second),
        ("with different text in each run", comparison.altered),
        ("without a true answer in one of the runs", comparison.unscored),
    ):
        if tasks:
            more = f" and {len(tasks) - _NAMED:,} more" if len(tasks) > _NAMED else ""
            yield f"{count_of(len(tasks), 'question')} {what}, not compared: {', '.join(tasks[:_NAMED])}{more}"
    if max(comparison.epochs) > 1:
        yield "a run has several epochs: a question counts as right if more than half of them are"


def _said(status: str, answer: str) -> str:
    return answer if status == "ok" and answer else f"({status}) {answer}".strip()
