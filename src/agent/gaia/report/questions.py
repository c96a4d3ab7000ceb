"""Adds the texts of questions to a report, because ledgers do not contain them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import AlitaError
from agent.gaia.dataset import load_questions, local_copy
from agent.gaia.report.figures import Results

if TYPE_CHECKING:
    from agent.configuration.settings import Settings


def with_questions(results: Results, ledger: Path, settings: Settings) -> Results:
    """Add the texts of the questions from the file named in the ledger, or note why that is not possible."""
    source = Path(results.source)
    near = ledger.absolute().parent / source.name
    found = next((one for one in (source, near) if results.source and (one.is_file() or local_copy(one))), None)
    more = "To show the questions, add --questions FILE"
    if found is None:
        problem = (
            f"the question file {source} does not exist"
            if results.source
            else "the ledger does not name its question file"
        )
        return replace(results, flaws=[*results.flaws, f"{problem}. {more}"])
    try:
        dataset = load_questions(found, settings)
    except AlitaError as error:
        return replace(results, flaws=[*results.flaws, f"{error.message} {more}"])
    if dataset.fingerprint != results.header.dataset:
        return replace(results, flaws=[*results.flaws, f"{found} has changed since the benchmark. {more}"])
    texts = {task.task_id: task.question for task in dataset.tasks}
    return replace(results, selected=[replace(one, question=texts.get(one.task_id, "")) for one in results.selected])
