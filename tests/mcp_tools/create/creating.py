"""Stand-ins for creation: a progress recorder, a library as a store, and a scripted examiner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_tools.checks.check import CheckReport
from mcp_tools.create.examiner import ModelExaminer
from mcp_tools.create.interfaces import Creation, Progress, Proposal
from mcp_tools.create.prove import prove
from mcp_tools.library.library import Library
from mcp_tools.library.reader import Offer
from mcp_tools.sandbox.protocol import Outcome, Sandbox
from mcp_tools.tool import Json, Tool, ToolSpec, call_text


@dataclass
class Memory:
    """Collects the progress of a creation."""

    specs: list[ToolSpec] = field(default_factory=list)
    reports: list[CheckReport] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        of_kind: dict[type, list[Any]] = {ToolSpec: self.specs, CheckReport: self.reports, Outcome: self.outcomes}
        of_kind.get(type(progress), self.notes).append(progress)


@dataclass
class LibraryStore:
    """A library behind the `ToolStore` interface."""

    library: Library

    async def offered(self, question: str, *, most: int, small: int) -> Offer:
        return self.library.offered(question, most=most, small=small)

    async def get(self, name: str) -> Tool:
        return self.library.get(name)

    async def register(self, tool: Tool, *, replaces: Tool | None = None, is_draft: bool = False) -> Tool:
        return self.library.register(tool, replace=replaces is not None, instead_of=replaces, is_draft=is_draft)

    async def merge(self, tool: Tool, name: str) -> Tool:
        return self.library.merge(tool, name)


def exam(*forms: dict[str, Json]) -> dict[str, Json]:
    return {"tests": [written_test(**form) for form in forms]}


def written_test(
    arguments: dict[str, Json], expected: Json = None, raises: bool = False, **more: Json
) -> dict[str, Json]:
    result = "error" if raises else repr(expected)
    return {"call": call_text("tool", arguments), "because": "the docstring", "result": result, **more}


@dataclass
class Asked:
    """A scripted model for the examiner that records its prompts."""

    replies: list[Any]
    messages: list[str] = field(default_factory=list)
    schemas: list[dict[str, Json]] = field(default_factory=list)

    async def fill(self, messages: Sequence[dict[str, Any]], schema: dict[str, Json]) -> Json:
        self.messages.append("\n".join(message["content"] for message in messages))
        self.schemas.append(schema)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


@dataclass
class Case:
    sandbox: Sandbox
    store: LibraryStore
    memory: Memory = field(default_factory=Memory)
    asked: Asked = field(default_factory=lambda: Asked([]))
    examiner: ModelExaminer | None = None

    async def prove(
        self,
        code: str,
        arguments: dict[str, Json],
        *replies: Any,
        question: str = "?",
        again: bool = False,
        **more: Any,
    ) -> Creation:
        self.asked.replies += replies
        if not again or self.examiner is None:
            self.examiner = ModelExaminer(self.asked.fill, "examiner-1")
        proposal = Proposal(question, code, arguments, run_id="run-1", model="writer-1", **more)
        return await prove(
            proposal, examiner=self.examiner, sandbox=self.sandbox, library=self.store, notify=self.memory
        )
