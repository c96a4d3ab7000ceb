"""Reads a library: lookup, search, approvals and trust of its tools."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library import folder as files
from mcp_tools.library import tool_files
from mcp_tools.library.approvals import (
    ApprovalEntries,
    Approvals,
    ApprovalsFile,
    ApprovedHashes,
    CurrentApprovals,
    Withheld,
    errors_of,
)
from mcp_tools.library.calls import Calls, CallsFile, Stats
from mcp_tools.library.index import CurrentIndex
from mcp_tools.library.tool_files import Flaw, valid_name
from mcp_tools.text import did_you_mean, one_line
from mcp_tools.tool import Status, Tool

Trust = Literal["draft", "verified", "trusted", "quarantined"]
"""`draft`: not approved in its present state. `verified`: approved. `trusted`: approved, and successful in several
questions. `quarantined`: approved, but withheld because its calls failed."""
_MAX_CACHED = 1000
_MAX_OTHERS = 5
"""Number of tools that an offer contains in addition to those that fit the question."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that a search found."""

    tool: Tool
    score: float
    """Higher is better. Scores of different searches are not comparable."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of a library that may answer a question."""

    fitting: tuple[Tool, ...]
    """Results of a search, best first; approved or not."""
    others: tuple[Tool, ...]
    """Other approved tools: all of a small library, the most similar of a large one."""
    is_all: bool
    """True if `fitting` and `others` contain all approved tools."""


class StoredTool(NamedTuple):
    """A tool as it was read from its files."""

    stamp: str
    tool: Tool
    now: ApprovedHashes
    """Its hashes, to be compared with the approved ones."""


T = TypeVar("T")
Names = list[str]
Tools = list[Tool]
Hits = list[Hit]
Flaws = list[Flaw]
AllWithheld = list[Withheld]


class LibraryReader:
    """The read-only part of a library; see `mcp_tools.library.library.Library`."""

    def __init__(
        self, folder: Path, data: Path, *, approvals: ApprovalEntries | None = None, calls: Calls | None = None
    ) -> None:
        self.folder = Path(folder)
        files.require_own_place(self.folder)
        self.approvals = Approvals(approvals or ApprovalsFile(self.folder, data / "approvals.json"))
        derived = files.derived_folder(self.folder, data)
        self._calls: Calls = calls or CallsFile(derived / "calls.sqlite")
        self._index = CurrentIndex(self.folder, derived / "index.sqlite", self._read)
        self._cache: dict[str, StoredTool] = {}

    def get(self, name: str) -> Tool:
        """Return the tool with this name, or an approved tool with this alias.

        Its status is `DRAFT` unless it is approved on this machine.

        Raises:
            UnknownToolError: There is no such tool. The message suggests similar names.
            LibraryError: Its files are damaged, or the source was changed since it was checked.
        """
        try:
            return self._with_status(self._stored(name))
        except UnknownToolError:
            for other in self._index.query(lambda index: index.having(name)) if valid_name(name) else ():
                stored = self._lookup(other)
                if isinstance(stored, StoredTool) and name in stored.tool.aliases:
                    tool = self._with_status(stored)
                    if tool.status is Status.VERIFIED:
                        return tool
            raise

    async def get_async(self, name: str) -> Tool:
        """Like `get`, without blocking the event loop."""
        return await self.run_async(self.get, name)

    async def run_async(self, ask: Callable[..., T], *given: Any) -> T:
        """Call a method of the library, in a thread if approvals and counts are on another machine."""
        return await asyncio.to_thread(ask, *given) if self.approvals.waits else ask(*given)

    def tool_or_flaw(self, name: str) -> Tool | Flaw:
        """Return the tool with this name and the status in its files, or the flaw of the files.

        Raises:
            UnknownToolError: There are no files of this name.
        """
        found = self._lookup(self._named(name))
        if found is None:
            raise self._unknown(name)
        return found.tool if isinstance(found, StoredTool) else found

    def path(self, name: str) -> Path:
        """Return the path of a tool's source file, which may not exist.

        Raises:
            UnknownToolError: The name is invalid.
        """
        return tool_files.source_path(self.folder, self._named(name))

    def source(self, name: str) -> bytes:
        """Return the content of a tool's source file, even if the tool is damaged.

        Raises:
            UnknownToolError: The name is invalid, or there is no such file.
            LibraryError: The file cannot be read.
        """
        try:
            return files.read(self.path(name))
        except FileNotFoundError:
            raise self._unknown(name) from None
        except OSError as error:
            raise LibraryError(f"{name}.py cannot be read: {error.strerror}") from None

    def list(self) -> Tools:
        """Return all undamaged tools, sorted by name. Tools that are not approved here have the status `DRAFT`."""
        approved, stored = self.approvals.read(), map(self._lookup, self._names())
        return [self._with_status(found, approved) for found in stored if isinstance(found, StoredTool)]

    def search(self, query: str, limit: int = 5) -> Hits:
        """Return the tools that fit a question or a purpose best. Tools that are not approved are drafts."""
        matches = self._index.query(lambda index: index.search(query, limit))
        approved, found = self.approvals.read(), [(self._lookup(match.name), match.score) for match in matches]
        return [
            Hit(self._with_status(whole, approved), score) for whole, score in found if isinstance(whole, StoredTool)
        ]

    def offered(self, question: str, *, most: int, small: int) -> Offer:
        """Return the tools that fit a question, and other approved tools.

        Args:
            question: The question.
            most: Maximum number of fitting tools.
            small: A library of at most this many tools is offered as a whole.
        """
        matches = self._index.query(lambda index: index.search(question, most + _MAX_OTHERS, with_unlikely=True))
        fitting = [match.name for match in matches if match.fits][:most]
        count = self._index.query(lambda index: index.count())
        near = [*self._names()] if count <= small else [match.name for match in matches]
        stored = {name: self._lookup(name) for name in dict.fromkeys([*fitting, *near])}
        approved = self.approvals.read()
        tools = {name: self._with_status(one, approved) for name, one in stored.items() if isinstance(one, StoredTool)}
        others = [tool for name, tool in tools.items() if name not in fitting and tool.status is Status.VERIFIED]
        is_all = count <= small
        found = tuple(tools[name] for name in fitting if name in tools)
        return Offer(found, tuple(others if is_all else others[:_MAX_OTHERS]), is_all)

    def served(self) -> Iterator[tuple[Tool, ApprovedHashes]]:
        """Yield the tools that are served to clients, with their hashes: all that are approved in their present state.

        Run the `source` of the tool, which has the approved hash, and not the file, which may change. Tools are read
        one by one, so that a large library does not have to fit into memory.
        """
        found = self.approvals.read()
        for name in self._names():
            stored = self._lookup(name)
            if isinstance(stored, StoredTool) and found.approves(stored.tool, stored.now):
                yield stored.tool, stored.now

    def withheld(self) -> AllWithheld:
        """Return all tools that are not served, sorted by name, with the reason and the remedy."""
        found = self.approvals.read()
        all_withheld = {
            flaw.name: Withheld(one_line(flaw.name), one_line(flaw.message, 500), one_line(flaw.remedy, 500))
            for flaw in self.flaws()
        }
        for name in self._names():
            stored = self._lookup(name)
            if isinstance(stored, Flaw):  # edited since it was indexed
                all_withheld[name] = Withheld(name, stored.message, stored.remedy)
            elif stored and not found.approves(stored.tool, stored.now):
                all_withheld[name] = found.objection(stored.tool, stored.now)
        return [all_withheld[name] for name in sorted(all_withheld)]

    def flaws(self) -> Flaws:
        """Return the damaged tools of the folder, with their remedies."""
        return self._index.query(lambda index: index.flaws())

    def kept(self, name: str, source_hash: str) -> Tool | None:
        """Return the version of a tool with this source hash, if its files are intact."""
        return tool_files.version_of(self.folder, self._named(name), source_hash)

    def versions(self, name: str) -> Tools:
        """Return the intact versions of a tool, oldest first. A deleted tool still has its versions."""
        return tool_files.versions_of(self.folder, self._named(name))

    def approved_versions(self, name: str) -> Tools:
        """Return the versions that were approved on this machine, oldest first, without reading any others."""
        sources = dict.fromkeys(one.source for one in self.approvals.all_of(name))
        found = [version for source in sources if (version := self.kept(name, source)) and self.was_approved(version)]
        return sorted(found, key=lambda version: str(version.provenance.get("created", "")))

    def version(self, name: str, source_hash: str) -> Tool:
        """Return the version with a source hash, or with a unique prefix of its hash.

        Raises:
            UnknownToolError: The name is invalid.
            LibraryError: There is no such version, or the prefix is ambiguous.
        """
        return tool_files.one_version(self.folder, self._named(name), source_hash)

    def source_of(self, name: str, source_hash: str) -> str:
        """Return the source of a version; see `version`."""
        return self.version(name, source_hash).source

    def was_approved(self, version: Tool) -> bool:
        """Return True if `restore` would make a version an approved tool."""
        return not errors_of(version) and self.approvals.was_approved(version.name, ApprovedHashes.of(version))

    def trust(self, name: str) -> Trust:
        """Return a tool's trust level, derived from its approval and its calls.

        Raises:
            UnknownToolError: There is no such tool.
        """
        self.tool_or_flaw(name)
        whole, found = self._lookup(name), self.approvals.read()
        if not isinstance(whole, StoredTool):
            return "draft"
        if found.approves(whole.tool, whole.now):
            return "trusted" if self.stats(name).is_trusted else "verified"
        approved = found.by_name.get(name)
        is_same = approved is not None and approved.quarantined and not approved.differences(whole.now)
        return "quarantined" if is_same else "draft"

    def stats(self, name: str) -> Stats:
        """Return the counts of a tool's calls."""
        return self._calls.stats(name, self._version(name))

    def unused_since(self, name: str) -> float:
        """Return the time when a tool was last called, approved or written, in seconds since 1970.

        Raises:
            UnknownToolError: There is no such tool.
        """
        self.tool_or_flaw(name)
        moments = [self.stats(name).last or 0.0]
        with contextlib.suppress(OSError):
            moments.append(self.path(name).lstat().st_mtime)
        if approved := self.approvals.read().by_name.get(name):
            with contextlib.suppress(ValueError):
                moments.append(datetime.fromisoformat(approved.approved).timestamp())
        return max(moments)

    def state(self) -> tuple[object, ...]:
        """Return a value that changes when any served tool changes. This is slow for a large folder.

        Raises:
            LibraryError: The folder or the approvals cannot be read.
        """
        try:
            return self._index.stamps(), self.approvals.stamp()
        except OSError as error:
            raise LibraryError(f"the tool library cannot be read: {error.strerror or error}") from None

    def is_unchanged(self, state: tuple[object, ...] | None) -> bool:
        """Return True if the state is certainly unchanged. This is fast; False may also mean that a scan is due.

        Raises:
            LibraryError: See `state`.
        """
        return state is not None and not self._index.is_due() and self.state() == state

    def close(self) -> None:
        """Close the index and the counts. They are opened again if the library is used afterwards."""
        self._index.close()
        self._calls.close()

    def _with_status(self, whole: StoredTool, found: CurrentApprovals | None = None) -> Tool:
        if (found or self.approvals.read()).approves(whole.tool, whole.now):
            return whole.tool
        return replace(whole.tool, status=Status.DRAFT)

    def _stored(self, name: str) -> StoredTool:
        found = self._lookup(self._named(name))
        if found is None:
            raise self._unknown(name)
        if isinstance(found, Flaw):
            raise LibraryError(found.message, remedy=found.remedy)
        return found

    def _lookup(self, name: str) -> StoredTool | Flaw | None:
        stamp = tool_files.stamp(self.folder, name)
        known = self._cache.get(name)
        if known and known.stamp == stamp:
            return known
        found = self._read(name)
        if not isinstance(found, Tool):
            return found
        try:
            known = StoredTool(stamp, found, ApprovedHashes.of(found))
        except RecursionError:
            return Flaw(
                name, "corrupt", f"{name}.json is nested too deeply", f"remove the tool: alita tools delete {name}"
            )
        if stamp == tool_files.stamp(self.folder, name):
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[name] = known
        return known

    def _read(self, name: str) -> Tool | Flaw | None:
        """Read a tool. If its files look half-written, read them again under the lock, when no one is writing."""
        found = tool_files.read_tool(self.folder, name)
        if isinstance(found, Flaw) and found.kind in {"changed", "incomplete"}:
            with contextlib.suppress(LibraryError), files.writing(self.folder):
                found = tool_files.read_tool(self.folder, name)
        return found

    def _names(self) -> Iterator[str]:
        yield from self._index.query(lambda index: index.names())

    def _named(self, name: str) -> str:
        """Return a valid name; all methods that build a path call this.

        Raises:
            UnknownToolError: The name is invalid.
        """
        if not valid_name(name):
            raise self._unknown(name)
        return name

    def _unknown(self, name: str) -> UnknownToolError:
        hint = did_you_mean(name, self._names(), most=3)
        return UnknownToolError(
            f"there is no tool {name[:200]!r} in {self.folder}", remedy=f"{hint}`alita tools list` shows all tools"
        )

    def _is_approved(self, tool: Tool) -> bool:
        return not errors_of(tool) and self.approvals.read().approves(tool, ApprovedHashes.of(tool))

    def _version(self, name: str) -> str:
        """Return the hash of the approved source, or of a draft; empty if there is no tool."""
        if approved := self.approvals.read().by_name.get(name):
            return approved.source
        draft = self._lookup(name) if valid_name(name) else None
        return draft.tool.source_hash if isinstance(draft, StoredTool) else ""
