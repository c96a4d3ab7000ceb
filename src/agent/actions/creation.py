"""The examiner of new tools, and the events of their creation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.context import Context
from agent.events import CodeChecked, Note, SpecWritten, TrialFinished
from agent.models.protocol import Role
from agent.steps import value_text
from mcp_tools.checks.check import CheckReport
from mcp_tools.create.examiner import ModelExaminer
from mcp_tools.create.interfaces import Progress
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.text import one_line
from mcp_tools.tool import Json, ToolSpec

_TEST_TOKENS = 4_500


def examiner_of(context: Context) -> ModelExaminer:
    """Return the examiner of a run. It remembers its tests."""

    async def fill(messages: Sequence[dict[str, Any]], schema: dict[str, Json]) -> Json:
        completion = await context.complete(
            Role.EXAMINER, messages, schema=schema, temperature=0, max_tokens=_TEST_TOKENS
        )
        return completion.parsed

    return ModelExaminer(fill, context.models.for_role(Role.EXAMINER).name)


def show_creation(context: Context, progress: Progress) -> None:
    """Emit the event for a step of tool creation."""
    match progress:
        case ToolSpec():
            context.emit(SpecWritten(progress.signature, progress.purpose))
        case CheckReport():
            findings = tuple(f"{f.rule}, line {f.line}: {f.message}" for f in progress.findings)
            context.emit(CodeChecked(progress.ok, findings))
        case Outcome():  # the trial call with the question's arguments
            shown = one_line(value_text(progress.value)) if progress.ok else ""
            message = progress.problem.message if progress.problem else ""
            context.emit(TrialFinished(progress.ok, shown, one_line(message)))
        case str():
            context.emit(Note(progress))


def short_path(path: Path) -> str:
    """Return a path as the user would type it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
