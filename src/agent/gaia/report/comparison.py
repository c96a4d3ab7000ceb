"""Two runs on the same questions, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from agent.gaia.attempt import Attempt
from agent.gaia.report.counted import Counted
from agent.gaia.report.effort import Effort, effort_of
from agent.gaia.report.json_form import effort_json, share_json
from agent.gaia.report.opened import Report
from agent.gaia.report.paired import mcnemar
from agent.gaia.report.summary import Share, by_question, verdict
from mcp_tools.tool import Json

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two runs, on the common questions only."""

    name: str
    share: Share
    epochs: int
    effort: Effort


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
    """What differs between two runs."""

    first: Side
    second: Side
    both: int
    """Questions that both got right."""
    neither: int
    lost: tuple[Change, ...]
    """Right in the first run only."""
    gained: tuple[Change, ...]
    """Right in the second run only."""
    p_value: float
    """McNemar's exact test, two-sided."""
    only_first: tuple[str, ...]
    """Questions with an attempt in the first run only."""
    only_second: tuple[str, ...]
    altered: tuple[str, ...]
    """Ids that stand for another question in each run."""
    unscored: tuple[str, ...]
    """Questions that one of the runs could not compare with a true answer."""
    flaws: tuple[str, ...] = ()
    """What is wrong with a ledger, each with the ledger's name."""

    @property
    def common(self) -> int:
        """Questions that are compared."""
        return self.both + self.neither + len(self.lost) + len(self.gained)

    @property
    def points(self) -> float:
        """By how much the second run's accuracy is higher, from -1 to 1."""
        return (len(self.gained) - len(self.lost)) / self.common if self.common else 0.0

    def as_json(self) -> dict[str, Json]:
        """The object that `alita gaia compare --format json` prints."""
        return {
            "schema": SCHEMA,
            "common": self.common,
            "first": _side_json(self.first),
            "second": _side_json(self.second),
            "both": self.both,
            "neither": self.neither,
            "lost": [asdict(change) for change in self.lost],
            "gained": [asdict(change) for change in self.gained],
            "difference": self.points,
            "mcnemar_p": self.p_value,
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
            "altered": list(self.altered),
            "unscored": list(self.unscored),
            "flaws": list(self.flaws),
        }


def compare(first: Report, second: Report) -> Comparison:
    """Compares two runs on the questions that both attempted; what broke counts as wrong.

    Where a run has several epochs, the answer given most often is a question's answer.
    """
    here, there = _attempted(first), _attempted(second)
    shared = [task_id for task_id in here if task_id in there]
    altered = [task_id for task_id in shared if not _is_same_question(here[task_id], there[task_id])]
    rest = [task_id for task_id in shared if task_id not in set(altered)]
    unscored = [task_id for task_id in rest if not (_is_scored(here[task_id]) and _is_scored(there[task_id]))]
    common = [task_id for task_id in rest if task_id not in set(unscored)]
    rights = {task_id: (verdict(here[task_id]), verdict(there[task_id])) for task_id in common}
    lost = [_change(here[t], there[t]) for t, pair in rights.items() if pair == (True, False)]
    gained = [_change(here[t], there[t]) for t, pair in rights.items() if pair == (False, True)]
    values = list(rights.values())
    names = (first.name, second.name) if first.name != second.name else ("first run", "second run")
    return Comparison(
        first=_side(names[0], first, [here[t] for t in common]),
        second=_side(names[1], second, [there[t] for t in common]),
        both=values.count((True, True)),
        neither=values.count((False, False)),
        lost=tuple(lost),
        gained=tuple(gained),
        p_value=mcnemar(len(lost), len(gained)),
        only_first=tuple(t for t in here if t not in there),
        only_second=tuple(t for t in there if t not in here),
        altered=tuple(altered),
        unscored=tuple(unscored),
        flaws=tuple(f"{name}: {flaw}" for name, run in zip(names, (first, second), strict=True) for flaw in run.flaws),
    )


def _attempted(report: Report) -> dict[str, list[Counted]]:
    """The questions with an attempt in any epoch; an epoch without one stays among them, as not right."""
    questions = by_question(report.cells)
    return {task_id: cells for task_id, cells in questions.items() if any(cell.attempt for cell in cells)}


def _is_same_question(here: Sequence[Counted], there: Sequence[Counted]) -> bool:
    hashes = [{cell.attempt.question_sha256 for cell in cells if cell.attempt} - {""} for cells in (here, there)]
    return not (hashes[0] and hashes[1]) or bool(hashes[0] & hashes[1])


def _is_scored(cells: Sequence[Counted]) -> bool:
    """False when an attempt ended well and yet has no score: the true answer is not known."""
    return not any(cell.status == "ok" and cell.attempt and cell.attempt.correct is None for cell in cells)


def _change(here: Sequence[Counted], there: Sequence[Counted]) -> Change:
    first, second = _first(here), _first(there)
    return Change(here[0].task.task_id, here[0].level, first.answer, second.answer, first.status, second.status)


def _first(cells: Sequence[Counted]) -> Attempt:
    return next(cell.attempt for cell in cells if cell.attempt is not None)


def _side(name: str, report: Report, questions: Sequence[Sequence[Counted]]) -> Side:
    right = sum(verdict(cells) for cells in questions)
    last = [cell.attempt for cells in questions for cell in cells if cell.attempt is not None]
    return Side(name, Share(right, len(questions), len(questions)), report.summary.epochs, effort_of(last))


def _side_json(side: Side) -> dict[str, Json]:
    return {
        "ledger": side.name,
        "epochs": side.epochs,
        **share_json(side.share),
        "effort": effort_json(side.effort),
    }
