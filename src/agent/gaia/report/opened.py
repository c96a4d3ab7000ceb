"""A ledger as a report reads it: also while a runner writes it, and without changing it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.gaia.attempt import Attempt
from agent.gaia.ledger import read_ledger
from agent.gaia.report.counted import Counted, counted, tasks_of
from agent.gaia.report.summary import Summary, summarise
from agent.gaia.report.words import count
from agent.gaia.task import Task
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_SHOWN_FLAWS = 20
_SELECTION = b'"selection"'


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that any form of a report is made of."""

    name: str
    """The ledger's file name."""
    created: str
    """When the ledger was begun; empty where it does not say."""
    configuration: dict[str, Json]
    attempts: tuple[Attempt, ...]
    selected: tuple[Task, ...]
    cells: tuple[Counted, ...]
    summary: Summary
    notices: tuple[str, ...]
    """What a reader must know before believing a figure, one sentence each."""


def open_report(path: Path, tasks: Sequence[Task] = (), *, epochs: int | None = None) -> Report:
    """Reads a ledger.

    Args:
        path: The ledger.
        tasks: The selected questions; without them, those that the ledger names as selected, or else those that
            it holds an attempt of.
        epochs: How often each was to be answered; without it, as the ledger says.

    Raises:
        RunError: There is no ledger, or a later version wrote it.
    """
    records = read_ledger(path)
    recorded = _selection(path)
    selected = tuple(tasks) or recorded.tasks or tasks_of(records.attempts)
    notices = [one_line(problem, 300) for problem in records.problems[:_SHOWN_FLAWS]]
    if len(records.problems) > _SHOWN_FLAWS:
        notices.append(f"{len(records.problems) - _SHOWN_FLAWS:,} more lines of the ledger cannot be read")
    if not tasks and not recorded.tasks:
        notices.append(
            "the ledger does not say which questions were selected: only those that it holds an attempt of count; "
            "name the others with --questions FILE"
        )
    header = records.headers[-1] if records.headers else None
    return report_of(
        records.attempts,
        selected,
        epochs=epochs or recorded.epochs,
        name=path.name,
        created=header.created if header else "",
        configuration=header.configuration if header else {},
        notices=notices,
    )


def report_of(
    attempts: Sequence[Attempt],
    selected: Sequence[Task],
    *,
    epochs: int = 1,
    name: str = "",
    created: str = "",
    configuration: dict[str, Json] | None = None,
    notices: Sequence[str] = (),
) -> Report:
    """A report of attempts that are at hand.

    Args:
        attempts: In the order of the ledger.
        selected: Every question that was to be answered.
        epochs: How often each.
        name: What the ledger is called.
        created: When it was begun.
        configuration: What the answers depend on.
        notices: What is already known to be wrong with the ledger.
    """
    summary = summarise(attempts, selected, epochs=epochs)
    return Report(
        name=name,
        created=created,
        configuration=configuration or {},
        attempts=tuple(attempts),
        selected=tuple(selected),
        cells=tuple(counted(attempts, selected, epochs)),
        summary=summary,
        notices=(*notices, *_notices(summary)),
    )


def _notices(summary: Summary) -> list[str]:
    found = []
    if len(summary.fingerprints) > 1:
        found.append(f"the ledger mixes {len(summary.fingerprints)} configurations: its figures describe none of them")
    if summary.is_scored and summary.unscored:
        found.append(f"{summary.unscored:,} finished attempts have no true answer to compare with, and count as wrong")
    if summary.unselected:
        found.append(f"{summary.unselected:,} attempts at questions that were not selected are in no figure")
    if summary.leaks:
        found.append(
            f"the leak guard met copies of the dataset in {count(len(summary.leaks), 'question')}; "
            f"right attempts among those that met one: {summary.leaked_right:,}"
        )
    return found


@dataclass(frozen=True, slots=True)
class _Selection:
    """What a ledger says was selected."""

    tasks: tuple[Task, ...] = ()
    epochs: int = 1


def _selection(path: Path) -> _Selection:
    """The last line of kind `selection`; an empty one where there is none.

    Its form: `{"kind": "selection", "epochs": 1, "tasks": [{"task_id", "level", "file_name"}, …]}`.
    """
    found = _Selection()
    with path.open("rb") as file:
        for line in file:
            if _SELECTION in line[:40]:
                found = _read_selection(line) or found
    return found


def _read_selection(line: bytes) -> _Selection | None:
    try:
        value: dict[str, Any] = json.loads(line)
        tasks = tuple(Task(str(t["task_id"]), "", _level(t.get("level")), str(t["file_name"])) for t in value["tasks"])
        return _Selection(tasks, max(1, int(value["epochs"])))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _level(value: object) -> int | None:
    return value if isinstance(value, int) else None
