"""A report: the results of a benchmark as they are opened, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from agent.gaia.attempt import Attempt, Task
from agent.gaia.ledger import Header, read_ledger
from agent.gaia.report.figures import Counted, Summary, counted, summarise
from mcp_tools.text import one_line
from mcp_tools.tool import Json

SCHEMA = 1
"""Of the report as JSON: members are added within it, never changed or removed."""
_SHOWN_FLAWS = 20


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that any form of a report is made of."""

    name: str
    created: str
    """When the ledger was begun; empty where it does not say."""
    configuration: dict[str, Json]
    attempts: tuple[Attempt, ...]
    cells: tuple[Counted, ...]
    summary: Summary
    notices: tuple[str, ...]
    """What a reader must know before believing a figure, one sentence each."""
    flaws: tuple[str, ...] = ()
    """Those of them that concern the ledger itself, and any figure that is made of it."""

    def as_json(self) -> dict[str, Json]:
        """The object that `--format json` prints. What is unknown is null, never 0."""
        return {
            "schema": SCHEMA,
            "ledger": self.name,
            "created": self.created,
            "configuration": self.configuration,
            "notices": list(self.notices),
            **asdict(self.summary),
            "attempts": [
                {"task_id": cell.task.task_id, "epoch": cell.epoch, "status": cell.status, "right": cell.right}
                for cell in self.cells
            ],
        }


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
    flaws = [one_line(problem, 300) for problem in records.problems[:_SHOWN_FLAWS]]
    if len(records.problems) > _SHOWN_FLAWS:
        flaws.append(f"{len(records.problems) - _SHOWN_FLAWS:,} more lines of the ledger cannot be read")
    header = records.header or Header()
    attempts = [attempt for attempt in records.attempts if attempt.fingerprint == header.fingerprint]
    if others := len(records.attempts) - len(attempts):
        flaws.append(f"{others:,} attempts of another configuration are not counted")
    chosen = records.chosen
    if not tasks and chosen is None:
        flaws.append(
            "the ledger does not say which questions were selected, so only attempted ones count; "
            "to count all of them, add --questions FILE"
        )
    known = {a.task_id: Task(a.task_id, "", a.level, a.file_type and f"file.{a.file_type}") for a in attempts}
    return report_of(
        attempts,
        tuple(tasks) or (chosen.tasks if chosen else tuple(known.values())),
        epochs=epochs or (chosen.epochs if chosen else 1),
        name=path.name,
        created=header.created,
        configuration=header.configuration,
        flaws=flaws,
    )


def report_of(
    attempts: Sequence[Attempt],
    selected: Sequence[Task],
    *,
    epochs: int = 1,
    name: str = "",
    created: str = "",
    configuration: dict[str, Json] | None = None,
    flaws: Sequence[str] = (),
) -> Report:
    """A report of attempts that are at hand; see `Report`."""
    summary = summarise(attempts, selected, epochs=epochs)
    found = list(flaws)
    if summary.mean_pass_at_1 is not None and summary.unscored:
        found.append(f"{summary.unscored:,} finished attempts have no true answer to compare with and count as wrong")
    if summary.unselected:
        found.append(f"{summary.unselected:,} attempts at questions that were not selected are not counted")
    if summary.leaks:
        met = f"{len(summary.leaks):,} question{'' if len(summary.leaks) == 1 else 's'}"
        found.append(
            f"the leak guard met copies of the dataset in {met}; "
            f"right attempts among those that met one: {summary.leaked_right:,}"
        )
    return Report(
        name=name,
        created=created,
        configuration=configuration or {},
        attempts=tuple(attempts),
        cells=tuple(counted(attempts, selected, epochs)),
        summary=summary,
        notices=tuple(found),
        flaws=tuple(flaws),
    )
