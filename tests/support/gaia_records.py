"""Made-up records in the dataset's form, with a canary in every field that the agent must not see."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.gaia.attempt import Attempt
from agent.gaia.configuration import BenchmarkPaths
from agent.gaia.dataset import load_jsonl
from agent.gaia.ledger import Fingerprint, Ledger

CANARY = "canary-7f3a91"


def record(task_id: str, level: int | str = 1, answer: str | None = None, file_name: str = "") -> dict[str, Any]:
    """Return a record with all fields of the dataset. By default its answer is a canary."""
    return {
        "task_id": task_id,
        "Question": f"Which word is written on card {task_id}?",
        "Level": str(level),
        "Final answer": f"{CANARY}-{task_id}" if answer is None else answer,
        "file_name": file_name,
        "file_path": f"2023/validation/{file_name}" if file_name else "",
        "Annotator Metadata": {"Steps": f"{CANARY}: look at the card", "Tools": f"{CANARY}: eyes"},
    }


def kept_benchmark(folder: Path, lines: Sequence[Mapping[str, Any]], *, right: int) -> Path:
    """Write the ledger and the results of a benchmark in which the first `right` answers are right."""
    folder.mkdir(parents=True, exist_ok=True)
    questions = folder / "kept.questions.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    dataset = replace(load_jsonl(questions), source=str(questions))
    fingerprint = Fingerprint(dataset.fingerprint, {"model": "m", "library": "cold"})
    places = BenchmarkPaths(folder / "kept.json")
    with Ledger.open(places.ledger, fingerprint=fingerprint) as ledger:
        ledger.select(dataset.tasks, 1, dataset.source)
        ledger.append(
            *(
                Attempt(
                    task.task_id,
                    fingerprint=fingerprint.digest,
                    level=task.level,
                    answer=str(number) if number < right else "wrong",
                    correct=number < right,
                    seconds=2.5,
                    input_tokens=900,
                    output_tokens=60,
                    cost=0.002,
                    routes=("run_code", "answer"),
                    resolution="correct" if number < right else "reasoning_gap",
                    model="m",
                )
                for number, task in enumerate(dataset.tasks)
            )
        )
    places.output.write_text("{}")
    return places.ledger
