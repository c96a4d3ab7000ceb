"""Approval of proved tools: who is asked and what they see. Nobody is asked twice about one tool."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agent.budget import Budget
from agent.events import Event, ToolRefused
from agent.store.journal import Journal
from mcp_tools.errors import LibraryError
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from mcp_tools.create.interfaces import Shelf

ApprovalMode = Literal["ask", "auto", "never"]
"""`ask`: someone decides. `auto`: what is proved is kept. `never`: nothing is kept."""


@dataclass(frozen=True, slots=True)
class ToolToApprove:
    """A proved tool that would be kept."""

    name: str
    signature: str
    """`nth_fibonacci(n: int) -> int`."""
    purpose: str
    source: str
    checks: tuple[str, ...]
    """What the checks, the trial and the proof said, one line each."""


Approve = Callable[[ToolToApprove], Awaitable[bool]]


class RefusedToolError(LibraryError):
    """A proved tool is not kept because someone, or the setting, said so."""


class Approval:
    """The decisions of one run: each is made once, and stands in the journal."""

    def __init__(self, journal: Journal, budget: Budget, mode: ApprovalMode, approve: Approve | None = None) -> None:
        self._journal = journal
        self._budget = budget
        self._mode = mode
        self._approve = approve
        self._made: dict[str, str] = {}

    async def refusal(self, tool: Tool) -> str:
        """Why a tool is not kept; empty where it is."""
        if tool.source_hash not in self._made:

            async def perform() -> Json:
                reason = await self._decide(tool)
                return {"approved": not reason, "reason": reason}

            found = await self._journal.call("approval", {"tool": tool.name, "source": tool.source}, perform)
            self._made[tool.source_hash] = found["reason"]
        return self._made[tool.source_hash]

    async def _decide(self, tool: Tool) -> str:
        if self._approve is not None:
            with self._budget.standing_still():
                return "" if await self._approve(proposal_of(tool)) else "it was not approved"
        return {
            "auto": "",
            "never": "tools are not kept: approval is set to never",
            "ask": "approval is set to ask, and nobody could be asked; --approve auto keeps it",
        }[self._mode]


class ApprovedShelf:
    """The library to which a tool is added only when that is approved."""

    def __init__(self, library: Shelf, approval: Approval | None, emit: Callable[[Event], None]) -> None:
        self.search = library.search
        self._library = library
        self._approval = approval
        self._emit = emit
        self.refused = False

    async def register(self, tool: Tool) -> Tool:
        """Keeps a tool.

        Raises:
            RefusedToolError: It is not to be kept.
        """
        if self._approval and (reason := await self._approval.refusal(tool)):
            self.refused = True
            self._emit(ToolRefused(tool.name, reason))
            raise RefusedToolError(reason)
        return await self._library.register(tool)


def proposal_of(tool: Tool) -> ToolToApprove:
    """What someone is shown who decides about a tool."""
    evidence = tool.provenance.get("evidence") or {}
    tests = tool.provenance.get("tests") or []
    by_examiner = sum(test.get("origin") != "docstring" for test in tests)
    checks = ["the checks pass: typed, documented, nothing done on import, only packages that it may use"]
    if tests:
        checks.append(f"{len(tests)} tests pass, {by_examiner} of them by the examiner")
    if "mutants" in evidence:
        checks.append(f"these tests catch {evidence['killed']} of {evidence['mutants']} broken versions of it")
    purpose = tool.description.partition("\n\n")[0]  # the rest stands in the source
    return ToolToApprove(tool.name, _signature(tool), purpose, tool.source, tuple(checks))


def _signature(tool: Tool) -> str:
    """The first line of its function, as the source has it."""
    for node in ast.parse(tool.source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == tool.name:
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            return f"{tool.name}({ast.unparse(node.args)}){returns}"
    return tool.name
