"""Stand-ins for the tests of creation: what is told, a library as a store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mcp_tools.checks.check import Report
from mcp_tools.create.interfaces import News
from mcp_tools.library.library import Library
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.tool import Tool, ToolSpec


@dataclass
class Memory:
    """Remembers what it is told."""

    specs: list[ToolSpec] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __call__(self, news: News) -> None:
        of_kind: dict[type, list[Any]] = {ToolSpec: self.specs, Report: self.reports, Outcome: self.outcomes}
        of_kind.get(type(news), self.notes).append(news)


@dataclass
class LibraryStore:
    """A library as creation sees it."""

    library: Library

    async def search(self, query: str, limit: int) -> list[Tool]:
        return [hit.tool for hit in self.library.search(query, limit=limit)]

    async def get(self, name: str) -> Tool:
        return self.library.get(name)

    async def register(self, tool: Tool) -> Tool:
        return self.library.register(tool)
