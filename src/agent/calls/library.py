"""The library and the gap records of a run: their results are recorded and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from agent.calls.recorder import Recorder
from agent.consent.consent import Consent
from agent.learning.gap_records import GapRecord, GapRecords
from mcp_tools.create.interfaces import RefusedToolError
from mcp_tools.library.library import Library
from mcp_tools.library.reader import Offer
from mcp_tools.tool import CallCount, Json, Tool

T = TypeVar("T")

GAPS = "gaps"


class RecordedGaps:
    """The gap records of a run. For a replay, `records` is None."""

    def __init__(self, records: GapRecords | None, calls: Recorder, *, reviewed: bool = False) -> None:
        self._records = records
        self._calls = calls
        self._reviewed = reviewed

    async def find(self, question: str, kind: str) -> tuple[GapRecord, ...]:
        """Return the records that fit a question best, and note that this run has shown them."""

        async def look() -> tuple[GapRecord, ...]:
            if self._records is None:
                return ()
            found = self._records.find(question, kind, reviewed=self._reviewed)
            self._records.note_shown((record.id for record in found), self._calls.journal.path.parent.name)
            return tuple(found)

        request: dict[str, Json] = {"question": question, "kind": kind}
        return await self._calls.call(GAPS, request, look, form=tuple[GapRecord, ...])


class RecordedLibrary:
    """The library of a run; a replay neither reads nor changes it."""

    def __init__(self, library: Library, calls: Recorder, consent: Consent | None = None, question: str = "") -> None:
        self._consent = consent
        self._library = library
        self._question = question
        self._calls = calls
        self._known: dict[str, Tool] = {}

    @property
    def folder(self) -> Path:
        """See `Library`."""
        return self._library.folder

    async def search(self, query: str, limit: int) -> list[Tool]:
        """Return the tools that fit a query, best first."""

        def look() -> tuple[Tool, ...]:
            return tuple(hit.tool for hit in self._library.search(query, limit=limit))

        return list(await self._recorded({"search": query, "limit": limit}, tuple[Tool, ...], look))

    async def offered(self, question: str, *, most: int, small: int) -> Offer:
        """Return the tools that fit a question, then others: all of a small library, or the nearest of a large one."""
        request: dict[str, Json] = {"offered": question, "most": most, "small": small}
        return await self._recorded(request, Offer, lambda: self._library.offered(question, most=most, small=small))

    async def get(self, name: str) -> Tool:
        """Return the tool with a name. Within a run, a name always gives the same version.

        Raises:
            UnknownToolError: No tool has this name.
        """
        if name not in self._known:
            self._known[name] = await self._recorded({"get": name}, Tool, lambda: self._library.get(name))
        return self._known[name]

    async def flaws(self) -> list[str]:
        """Return the problems of files in the folder that are not valid tools, each with its remedy."""
        request: dict[str, Json] = {"flaws": True}
        flaws = self._library.flaws
        return await self._recorded(request, list[str], lambda: [f"{f.message} ({f.remedy})" for f in flaws()])

    async def register(self, tool: Tool, *, replaces: Tool | None = None, is_draft: bool = False) -> Tool:
        """Register a tool, if the user allows it. Registering the same source again changes nothing.

        Raises:
            RefusedToolError: The user, or a setting, refuses the tool.
        """
        if self._consent is not None and (reason := await self._consent.refusal_of_tool(tool)):
            raise RefusedToolError(reason)
        request = {"register": tool.name, "source": tool.source}
        request |= {"replaces": replaces.source_hash} if replaces else {}

        def keep() -> Tool:
            return self._library.register(tool, replace=replaces is not None, instead_of=replaces, is_draft=is_draft)

        registered = await self._recorded(request, Tool, keep)
        if not is_draft:
            self._known[registered.name] = registered
        return registered

    async def merge(self, tool: Tool, name: str) -> Tool:
        """Add the name of an equivalent tool as another name of this tool."""
        request: dict[str, Json] = {"merge": tool.name, "name": name}
        merged = await self._recorded(request, Tool, lambda: self._library.merge(tool, name))
        self._known[tool.name] = merged
        return merged

    async def record_call(self, tool: Tool, ok: bool, kind: str | None, arguments: Json = None) -> None:
        """Count a call of a tool, unless it was replayed."""
        if self._calls.journal.is_live:
            version = tool.source_hash
            self._library.record_call(
                tool.name, ok, kind, version=version, arguments=arguments, question=self._question
            )

    async def record_calls(self, called: Iterable[CallCount]) -> None:
        """Count calls of imported tools, unless they were replayed."""
        if self._calls.journal.is_live:
            self._library.record_calls(called, question=self._question)

    async def _recorded(self, request: dict[str, Json], form: Any, look: Callable[[], T]) -> T:
        async def work() -> T:
            return look()

        return await self._calls.call("library", request, work, form=form)
