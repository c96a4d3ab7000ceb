"""Reads a run's folder into a trace. Damage is told, and what stands before it is shown."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from agent.errors import RunError
from agent.store.journal import Journal, Record
from agent.store.redact import Redactor
from agent.store.runs import TRACEBACK, find_run, journal_path, load_run
from agent.traces.calls import call_of
from agent.traces.trace import Trace, TraceStep
from mcp_tools.tool import Json


def read_trace(runs: Path, run_id: str | None = None) -> Trace:
    """The trace of a run, named by its id or the beginning or end of it; without one, of the newest.

    Raises:
        RunError: There is no such run, or its `run.json` is damaged.
    """
    return trace_of(runs, find_run(runs, run_id))


def trace_of(runs: Path, run_id: str) -> Trace:
    """The trace of the run with exactly this id.

    Raises:
        RunError: There is no such run, or its `run.json` is damaged.
    """
    run = load_run(runs, run_id)
    lines, flaws = _whole_lines(journal_path(runs, run.run_id))
    journal, records = _recorded(journal_path(runs, run.run_id), lines, flaws)
    by_step: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        by_step[record.step].append(record)
    marks = journal.marks if journal else {}
    steps = []
    for number in sorted({*by_step, *marks}):
        mark = marks.get(number)
        action = mark.action if mark else "plan" if number == 0 else ""
        calls = tuple(call_of(record) for record in by_step[number])
        steps.append(TraceStep(number, action, mark.why if mark else "", calls))
    return Trace(run, tuple(steps), tuple(flaws), _traceback(runs / run.run_id / TRACEBACK))


def _whole_lines(path: Path) -> tuple[list[dict[str, Json]], list[str]]:
    """The lines of a journal up to the first that is damaged, and what is wrong with the rest."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return [], ["the run has no journal"]
    except OSError as error:
        return [], [f"the journal cannot be read: {error.strerror}"]
    whole, _, rest = raw.rpartition(b"\n")
    flaws = ["the journal ends within a line: the run was stopped while it wrote"] if rest else []
    lines: list[dict[str, Json]] = []
    for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
        try:
            value = json.loads(line.decode("utf-8", "surrogatepass"))
            if not isinstance(value, dict):
                raise ValueError("no object")
        except (ValueError, RecursionError):
            after = whole.count(b"\n") + 1 - number
            also = f", nor the {after} lines behind it" if after else ""
            return lines, [f"line {number} of the journal is damaged: neither it is shown{also}"]
        lines.append(value)
    return lines, flaws


def _recorded(path: Path, lines: list[dict[str, Json]], flaws: list[str]) -> tuple[Journal | None, list[Record]]:
    """The calls of as many lines as make a journal."""
    for count in _counts(len(lines)):
        try:
            journal = Journal(path, Redactor(), lines[:count])
            records = list(journal.records())
        except RunError as error:
            flaws.append(error.message)
            return None, []
        except (KeyError, TypeError, AttributeError, ValueError, IndexError):
            continue
        if count < len(lines):
            flaws.append(f"the last {len(lines) - count} lines of the journal do not fit together: they are not shown")
        return journal, records
    return None, []


def _counts(lines: int) -> Iterable[int]:
    """All lines, and where these do not fit together, ever fewer."""
    step = max(1, lines // 50)
    return [*range(lines, 0, -step), 0]


def _traceback(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
