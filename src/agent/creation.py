"""The agent's model as the examiner of new tools, and its events as their watcher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agent.context import Context
from agent.events import CodeChecked, Event, Note, SpecWritten, TrialFinished
from agent.models.protocol import Role
from agent.steps import value_text
from mcp_tools.checks import Report
from mcp_tools.create.examiner import ModelExaminer
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.text import one_line
from mcp_tools.tool import Json, ToolSpec

_TEST_TOKENS = 3_000


def examiner_of(context: Context) -> ModelExaminer:
    """The examiner of a run: it remembers what it said."""

    async def fill(messages: Sequence[dict[str, Any]], schema: dict[str, Json]) -> Json:
        completion = await context.complete(
            Role.EXAMINER, messages, schema=schema, temperature=0, max_tokens=_TEST_TOKENS
        )
        return completion.parsed

    return ModelExaminer(fill, context.models.for_role(Role.EXAMINER).name)


class EventWatcher:
    """Tells the front end what happens while a tool is created."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit

    def spec_written(self, spec: ToolSpec) -> None:
        """The spec is written."""
        self._emit(SpecWritten(spec.signature.removeprefix("def ").rstrip(":"), spec.purpose))

    def checked(self, report: Report) -> None:
        """The code went through the checks."""
        findings = tuple(f"{f.rule}, line {f.line}: {f.message}" for f in report.findings)
        self._emit(CodeChecked(report.ok, findings))

    def tried(self, outcome: Outcome) -> None:
        """The code ran with the question's own arguments."""
        shown = one_line(value_text(outcome.value)) if outcome.ok else ""
        message = outcome.problem.message if outcome.problem else ""
        self._emit(TrialFinished(outcome.ok, shown, one_line(message)))

    def note(self, text: str) -> None:
        """Anything else worth a line."""
        self._emit(Note(text))


def short_path(path: Path) -> str:
    """The path as the user would type it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
