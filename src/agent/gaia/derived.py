"""What is made from a ledger and can be made again: the results as JSON, and the leaderboard's file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from agent.errors import SubmissionError
from agent.gaia.attempt import Attempt
from agent.gaia.fingerprint import Fingerprint
from agent.gaia.leaderboard import SubmissionRow, require_answer, write_submission
from agent.gaia.tally import Count
from agent.gaia.task import Dataset, Task
from agent.store.written import write_file
from mcp_tools.tool import Json

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
