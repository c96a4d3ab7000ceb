"""The file that GAIA's leaderboard takes: one JSON object a line, every question once, answers only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.errors import SubmissionError
from agent.gaia.task import Dataset
from agent.store.written import write_file
from mcp_tools.text import one_line

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
