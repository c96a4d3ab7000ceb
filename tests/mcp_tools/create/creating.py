"""Stand-ins for the tests of creation: a watcher that remembers, a library as a shelf."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcp_tools.checks import Report
from mcp_tools.library.library import Library
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.tool import Tool, ToolSpec


@dataclass
class Memory:
    """A watcher that remembers."""

    specs: list[ToolSpec] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def spec_written(self, spec: ToolSpec) -> None:
        self.specs.append(spec)

    def checked(self, report: Report) -> None:
        self.reports.append(report)

    def tried(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    def note(self, text: str) -> None:
        self.notes.append(text)


@dataclass
class LibraryShelf:
    """A library as creation sees it."""

    library: Library

    async def search(self, query: str, limit: int) -> list[Tool]:
        return [hit.tool for hit in self.library.search(query, limit=limit)]

    async def register(self, tool: Tool) -> Tool:
        return self.library.register(tool)
