"""What is made from a ledger and can be made again: the results as JSON, and the file that GAIA's leaderboard takes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.errors import SubmissionError
from agent.gaia.attempt import Attempt
from agent.gaia.progress import Count
from agent.gaia.questions.task import Dataset, Task
from agent.gaia.records import Fingerprint
from agent.store.user_files import write_file
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_ERRORS = re.compile(
    r"[\s\[(<*]*(?:error\b(?:\s*(?:[]:!(>*]|$)|\s+[-–]\s)|(?:agent|unknown|internal) error\b"
    r"|traceback \(most recent call last\)|(?-i:(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\s*:))",
    re.IGNORECASE,
)
"""What programs write where an answer should stand."""
_REMEDY = "Answer them too: the same command with --resume runs what is left."


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """The answer to one question."""

    task_id: str
    model_answer: str
    reasoning_trace: str = ""
    """How it was found; left out of the file when empty."""


def write_submission(
    path: Path, rows: Iterable[SubmissionRow], dataset: Dataset, *, incomplete: bool = False
) -> tuple[str, ...]:
    """Writes the leaderboard's file in the order of the questions, whole or not at all.

    Args:
        path: Where.
        rows: One answer for each question.
        dataset: The questions of the split that is handed in.
        incomplete: Whether questions may be left out; the leaderboard counts them as wrong.

    Returns:
        Ids of the questions that were left out.

    Raises:
        SubmissionError: An answer is missing, doubled, of another split, empty or an error.
        StorageError: The file cannot be written; what stood there before stands there still.
    """
    answers: dict[str, SubmissionRow] = {}
    asked = {task.task_id for task in dataset.tasks}
    for row in rows:
        if row.task_id in answers:
            raise SubmissionError(f"There are two answers to {row.task_id}.", remedy="Hand in one epoch of a run.")
        if row.task_id not in asked:
            raise SubmissionError(
                f"{row.task_id} is no question of {dataset.origin}.", remedy="Hand in the split that the run answered."
            )
        require_answer(row.task_id, row.model_answer)
        answers[row.task_id] = row
    missing = tuple(task.task_id for task in dataset.tasks if task.task_id not in answers)
    if missing and not incomplete:
        told = one_line(", ".join(missing[:5]) + (", …" if len(missing) > 5 else ""), 300)
        raise SubmissionError(f"{len(missing)} of {len(asked)} questions have no answer: {told}.", remedy=_REMEDY)
    lines = (_line(answers[task.task_id]) for task in dataset.tasks if task.task_id in answers)
    write_file(path, "".join(f"{line}\n" for line in lines))
    return missing


def require_answer(task_id: str, text: str) -> str:
    """The answer, if it is one.

    Raises:
        SubmissionError: It is empty, or the text of an error.
    """
    if not text.strip():
        raise SubmissionError(f"The answer to {task_id} is empty.", remedy="Leave it out, or run the question again.")
    if _ERRORS.match(text):
        raise SubmissionError(
            f"The answer to {task_id} is no answer: {one_line(text, 100)!r}.",
            remedy="Leave it out, or run the question again.",
        )
    return text.strip()


def _line(row: SubmissionRow) -> str:
    written = {"task_id": row.task_id, "model_answer": row.model_answer.strip()}
    if row.reasoning_trace:
        written["reasoning_trace"] = row.reasoning_trace
    return json.dumps({name: text.encode("utf-8", "replace").decode() for name, text in written.items()})


SCHEMA = 1
"""Of the results: members are added within it, never changed or removed."""


def results_of(
    dataset: Dataset, fingerprint: Fingerprint, selected: Sequence[Task], attempts: Sequence[Attempt], *, epochs: int
) -> dict[str, Json]:
    """The results as JSON: no question and no true answer is in them.

    Args:
        dataset: Where the questions came from.
        fingerprint: Of questions and configuration.
        selected: Every question that counts, answered or not.
        attempts: What counts for each question and epoch.
        epochs: How often each question was to be asked.
    """
    count, cells = Count(), len(selected) * epochs
    for attempt in attempts:
        count.add(attempt)
    answers = sum(attempt.correct is not None for attempt in attempts)
    return {
        "schema": SCHEMA,
        "questions": dataset.origin,
        "fingerprint": fingerprint.digest,
        "configuration": fingerprint.configuration,
        "selected": len(selected),
        "epochs": epochs,
        "attempted": count.done,
        "right": count.right,
        "wrong": count.wrong,
        "errors": count.errors,
        "interrupted": count.interrupted,
        "accuracy": count.right / cells if cells and answers else None,
        "tokens": count.tokens,
        "cost": count.cost,
        "seconds": round(sum(attempt.seconds for attempt in attempts), 3),
        "results": [attempt.as_json() for attempt in attempts],
    }


def write_results(path: Path, results: dict[str, Json]) -> None:
    """Writes the results, whole or not at all.

    Raises:
        StorageError: The file cannot be written.
    """
    write_file(path, json.dumps(results, ensure_ascii=False, indent=1) + "\n")


def write_answers(path: Path, dataset: Dataset, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Writes the leaderboard's file with the answers of the first epoch.

    Returns:
        Ids of the questions that have no answer and are left out, which the leaderboard counts as wrong.

    Raises:
        StorageError: The file cannot be written.
    """
    rows = [SubmissionRow(a.task_id, a.answer) for a in attempts if a.epoch == 1 and _is_answer(a)]
    return write_submission(path, rows, dataset, incomplete=True)


def _is_answer(attempt: Attempt) -> bool:
    """Whether it may be handed in: an error never is."""
    if attempt.status not in {"ok", "limit"}:
        return False
    try:
        require_answer(attempt.task_id, attempt.answer)
    except SubmissionError:
        return False
    return True
