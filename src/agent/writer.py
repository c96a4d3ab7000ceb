"""The agent's models as the writer and examiner of new tools, and its events as their watcher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agent.context import Context
from agent.events import CandidateChecked, Event, Note, SpecWritten, TrialFinished
from agent.models.protocol import Role
from agent.steps import value_text
from mcp_tools.create import Candidate
from mcp_tools.create.protocol import Part
from mcp_tools.text import one_line
from mcp_tools.tool import Json, ToolSpec

_SPEC_TOKENS = 900
_CODE_TOKENS = 600
_END_OF_CODE = "\n```\n"
"""What follows code that the prompt has begun is an explanation that nobody reads; elsewhere, it may open the code."""
_ROLE = {"writer": Role.WRITER, "examiner": Role.EXAMINER}


class ModelWriter:
    """Asks the models of the writer and examiner roles."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def name(self) -> str:
        """The writer's model."""
        return self._context.models.for_role(Role.WRITER).name

    async def fill(self, messages: Sequence[dict[str, Any]], schema: dict[str, Json], *, part: Part) -> Json:
        """A JSON value that fits the schema."""
        role = _ROLE[part]
        most = self._context.strategy(role).limits.tests if part == "examiner" else _SPEC_TOKENS
        completion = await self._context.complete(role, messages, schema=schema, temperature=0, max_tokens=most)
        return completion.parsed

    async def write(
        self, messages: Sequence[dict[str, Any]], *, part: Part, count: int, temperature: float, seed: int
    ) -> list[str]:
        """`count` independent texts."""
        begun = messages[-1]["role"] == "assistant"
        completions = await self._context.sample(
            _ROLE[part],
            messages,
            count,
            temperature=temperature,
            seed=seed,
            max_tokens=_CODE_TOKENS,
            stop=[_END_OF_CODE] if begun else None,
        )
        return [completion.text for completion in completions]


class EventWatcher:
    """Tells the front end what happens while a tool is created."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit

    def spec_written(self, spec: ToolSpec, arguments: dict[str, Json]) -> None:
        """The spec is written."""
        self._emit(SpecWritten(spec.signature.removeprefix("def ").rstrip(":"), spec.purpose))

    def candidate_checked(self, candidate: Candidate) -> None:
        """A candidate went through the checks."""
        findings = tuple(f"{f.rule}, line {f.line}: {f.message}" for f in candidate.report.findings)
        self._emit(CandidateChecked(candidate.number, candidate.report.ok, findings))

    def trial_finished(self, candidate: Candidate) -> None:
        """A candidate ran in the sandbox."""
        first = candidate.outcomes[0]
        shown = one_line(value_text(first.value)) if first.ok else ""
        message = first.problem.message if first.problem else ""
        self._emit(TrialFinished(candidate.number, first.ok, shown, one_line(message)))

    def note(self, text: str) -> None:
        """Anything else worth a line."""
        self._emit(Note(text))
