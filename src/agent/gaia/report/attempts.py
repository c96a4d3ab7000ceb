"""Attempts and runs as rows: what was planned, done, answered and learned, one complete row for each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent.errors import RunError
from agent.gaia.configuration import Places, ledger_meant
from agent.gaia.ledger import read_ledger
from agent.store.runs import Run, list_runs
from agent.traces.read import trace_of
from mcp_tools.text import one_line
from mcp_tools.tool import Json

Row = dict[str, Json]
COLUMNS = (
    *("task_id", "epoch", "run_id", "question", "status", "brief", "plans", "calls", "raw_answer", "answer", "truth"),
    *("resolution", "quality", "diagnosis", "gap_record", "model", "steps", "seconds", "input_tokens", "output_tokens"),
    "cost",
)


def rows_of_runs(folder: Path, limit: int) -> list[Row]:
    """The newest runs; they have no true answer, and nobody diagnosed them."""
    return [_row(folder, run) for run in list_runs(folder, limit=limit)]


def rows_of_ledger(ledger: Path, runs: Path | None = None) -> list[Row]:
    """The attempts of a benchmark, in the order of its ledger.

    Raises:
        RunError: It is no ledger.
    """
    ledger = ledger_meant(ledger)
    records = read_ledger(ledger)
    stem = ledger.name.removesuffix(".jsonl").removesuffix(".ledger")
    folder = runs or Places(ledger.with_name(f"{stem}.json")).runs
    lessons = {lesson.run_id: lesson for lesson in records.lessons}
    rows: list[Row] = []
    for attempt in records.attempts:
        row = _row(folder, attempt.run_id) if attempt.run_id else dict.fromkeys(COLUMNS)
        told = asdict(attempt)
        row |= {name: told[name] for name in COLUMNS if name in told}
        if lesson := lessons.get(attempt.run_id):
            found = lesson.record or lesson.problem
            row |= {"truth": lesson.truth, "diagnosis": lesson.diagnosis, "gap_record": found}
        rows.append(row)
    return rows


def _row(folder: Path, run: Run | str) -> Row:
    row: Row = dict.fromkeys(COLUMNS)
    try:
        trace = trace_of(folder, run if isinstance(run, str) else run.run_id)
    except RunError:  # its folder was removed: the ledger tells the rest
        return row
    answer = trace.run.answer
    row |= {"run_id": trace.run.run_id, "question": trace.run.question, "status": trace.run.status}
    row |= {"model": trace.run.model, "calls": [asdict(call) for call in trace.calls]}
    if answer is not None:
        row |= {"brief": answer.brief or None, "plans": list(answer.plans) or None, "quality": answer.quality or None}
        row |= {"raw_answer": answer.text, "answer": answer.text, "steps": answer.steps, "seconds": answer.seconds}
        usage = answer.usage
        row |= {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens, "cost": usage.cost}
    return row


def as_csv(rows: Iterable[Row]) -> str:
    """All columns; what is no text or number is JSON. A text that a spreadsheet would compute is quoted."""
    written = io.StringIO()
    table = csv.writer(written)
    table.writerow(COLUMNS)
    table.writerows([_cell(row[name]) for name in COLUMNS] for row in rows)
    return written.getvalue()


def _cell(value: Json) -> Any:
    if isinstance(value, str):
        return f"'{value}" if value[:1] in "=+-@\t\r" and not _is_number(value) else value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def in_short(row: Row) -> tuple[str, ...]:
    """The row as the terminal shows it."""
    calls: Any = row["calls"] or []
    quality: Any = row["quality"] or {}
    name = f"{row['task_id']} {row['epoch']}" if row["task_id"] else str(row["run_id"])
    learned = f" → {row['gap_record']}" if row["gap_record"] else ""
    judged = row["resolution"] or quality.get("confidence", "")
    truth = f" (true: {row['truth']})" if row["truth"] else ""
    said = one_line(str(row["answer"] or ""), 40) + truth + learned
    return name, str(row["status"] or ""), str(judged or "—"), f"{len(calls)} calls", said
