"""Whether a proved tool is kept: who is asked, what they are shown, and that nobody is asked twice."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from agent.budget import Budget
from agent.events import Event, ToolRefused
from agent.store.journal import Journal
from mcp_tools.errors import LibraryError
from mcp_tools.tool import Json, Tool

ApprovalMode = Literal["ask", "auto", "never"]
"""`ask`: someone decides. `auto`: what is proved is kept. `never`: nothing is kept."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proved tool that would be kept."""

    name: str
    signature: str
    """`nth_fibonacci(n: int) -> int`."""
    purpose: str
    source: str
    checks: tuple[str, ...]
    """What the checks, the trial and the proof said, one line each."""


Approve = Callable[[Proposal], Awaitable[bool]]
"""Says whether a tool is kept."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision about one tool."""

    approved: bool
    reason: str = ""
    """Why it is not kept."""


class RefusedToolError(LibraryError):
    """A proved tool is not kept because someone, or the setting, said so."""


class Library(Protocol):
    """The library of a run, as far as creating a tool needs it."""

    @property
    def folder(self) -> Path:
        """Where its tools are."""
        ...

    async def search(self, query: str, limit: int) -> list[Tool]:
        """The tools that fit a query best."""
        ...

    async def register(self, tool: Tool) -> Tool:
        """Keeps a tool."""
        ...


class Approval:
    """The decisions of one run: each is made once, and stands in the journal.

    Args:
        journal: Where a decision is kept, so that a replay and a resumed run go the same way.
        budget: Whose clock stands still while someone is asked.
        mode: Who decides when `approve` is None.
        approve: Decides, whatever the mode is.
    """

    def __init__(self, journal: Journal, budget: Budget, mode: ApprovalMode, approve: Approve | None = None) -> None:
        self._journal = journal
        self._budget = budget
        self._mode = mode
        self._approve = approve
        self._made: dict[str, Ruling] = {}

    async def of(self, tool: Tool) -> Ruling:
        """The decision about a tool."""
        if tool.source_hash not in self._made:

            async def perform() -> Json:
                ruling = await self._decide(tool)
                return {"approved": ruling.approved, "reason": ruling.reason}

            found = await self._journal.call("approval", {"tool": tool.name, "source": tool.source}, perform)
            self._made[tool.source_hash] = Ruling(**found)
        return self._made[tool.source_hash]

    async def _decide(self, tool: Tool) -> Ruling:
        if self._approve is not None:
            with self._budget.standing_still():
                approved = await self._approve(proposal_of(tool))
            return Ruling(approved, "" if approved else "it was not approved")
        if self._mode == "auto":
            return Ruling(True)
        if self._mode == "never":
            return Ruling(False, "tools are not kept: approval is set to never")
        return Ruling(False, "approval is set to ask, and nobody could be asked; --approve auto keeps it")


class ApprovedShelf:
    """The library to which a tool is added only when that is approved.

    Args:
        library: The library of the run.
        approval: Decides; None keeps everything.
        emit: Is told of a refusal.
    """

    def __init__(self, library: Library, approval: Approval | None, emit: Callable[[Event], None]) -> None:
        self._library = library
        self._approval = approval
        self._emit = emit
        self.refused = False
        """Whether a tool was not kept."""

    async def search(self, query: str, limit: int) -> list[Tool]:
        """The tools that fit a query best."""
        return await self._library.search(query, limit)

    async def register(self, tool: Tool) -> Tool:
        """Keeps a tool.

        Raises:
            RefusedToolError: It is not to be kept.
        """
        ruling = await self._approval.of(tool) if self._approval else Ruling(True)
        if not ruling.approved:
            self.refused = True
            self._emit(ToolRefused(tool.name, ruling.reason))
            raise RefusedToolError(ruling.reason)
        return await self._library.register(tool)


def proposal_of(tool: Tool) -> Proposal:
    """What someone is shown who decides about a tool."""
    purpose = tool.description.partition("\n\n")[0]  # the rest stands in the source
    return Proposal(tool.name, _signature(tool), purpose, tool.source, _checks(tool))


def _signature(tool: Tool) -> str:
    """The first line of its function, as the source has it."""
    for node in ast.parse(tool.source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == tool.name:
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            return f"{tool.name}({ast.unparse(node.args)}){returns}"
    return tool.name


def _checks(tool: Tool) -> tuple[str, ...]:
    """The evidence that stands in a tool's provenance, in words."""
    evidence = tool.provenance.get("evidence") or {}
    tests = tool.provenance.get("tests") or []
    by_examiner = sum(test.get("origin") != "docstring" for test in tests)
    lines = ["the checks pass: typed, general, no side effect, only what its capabilities allow"]
    if tests:
        lines.append(f"{len(tests)} tests pass, {by_examiner} of them by the examiner")
    if "mutants" in evidence:
        lines.append(f"these tests catch {evidence['killed']} of {evidence['mutants']} broken versions of it")
    return tuple(lines)
