"""The tools of a library that a server offers: a snapshot, renewed when the library changes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import zlib
from bisect import bisect_right
from collections.abc import Container, Sequence
from fnmatch import fnmatchcase

from mcp_tools.definition import definition_of
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library.approvals import ApprovedHashes
from mcp_tools.library.folder import META_HASH
from mcp_tools.library.library import Library
from mcp_tools.library.tool_files import META_STATUS
from mcp_tools.tool import Json, Status, Tool

META_DEFINITION_HASH = "alita/definition-hash"
META_VERSION = "alita/version"
META_PARENT = "alita/parent-version"


class Catalogue:
    """The tools that are offered now.

    Args:
        library: The library.
        offered: `all`, `meta` for the built-in tools alone, or patterns of names, separated by commas.
        reserved: Names of built-in tools: a tool of the library under such a name is reached through `call_tool` only.
    """

    def __init__(self, library: Library, offered: str, reserved: Container[str]) -> None:
        self.library = library
        self.names: list[str] = []
        self.shadowed: list[str] = []
        self.readings = 0
        self.changed = asyncio.Event()
        self._offered = offered
        self._reserved = reserved
        self._packed: dict[str, bytes] = {}
        """Each definition as compressed JSON: 10,000 of them must not fill the memory."""
        self._readers: set[str] = set()
        self._seen: tuple[object, ...] | None = None
        self._renewing = asyncio.Lock()

    async def renew(self) -> None:
        """Looks whether the library changed. Cheap when nothing happened.

        Raises:
            LibraryError: The folder or the approvals cannot be read; what was offered stays.
        """
        aside = self.library.aside
        if await aside(self.library.is_still, self._seen):
            return
        async with self._renewing:
            if not await aside(self.library.is_still, self._seen):
                is_first = not self.readings
                if await asyncio.to_thread(self._renew) and not is_first:
                    self.changed.set()

    def _renew(self) -> bool:
        state = self.library.state()
        if state == self._seen:
            return False
        packed: dict[str, bytes] = {}
        readers: set[str] = set()
        patterns = ["*"] if self._offered in {"all", "meta"} else [one.strip() for one in self._offered.split(",")]
        for tool, approval in self.library.served():
            if any(fnmatchcase(tool.name, pattern) for pattern in patterns):
                packed[tool.name] = _packed(tool, approval)
                if tool.capabilities.read:
                    readers.add(tool.name)
        before = self._packed
        self._packed, self._readers, self._seen = packed, readers, state
        listed = [] if self._offered == "meta" else sorted(packed)
        self.names = [name for name in listed if name not in self._reserved]
        self.shadowed = [name for name in listed if name in self._reserved]
        self.readings += 1
        return packed != before

    def definition(self, name: str) -> dict[str, Json]:
        """The MCP tool object of an offered tool.

        Raises:
            KeyError: It is not offered.
        """
        found: dict[str, Json] = json.loads(zlib.decompress(self._packed[name]))
        return found

    def __contains__(self, name: str) -> bool:
        """Return True if a tool is offered, listed or not."""
        return name in self._packed

    def offers(self, name: str, can_ask: bool) -> bool:
        """Return True if a client can call a tool; one that reads files needs a person to ask."""
        return name in self._packed and (can_ask or name not in self._readers)

    def is_reserved(self, name: str) -> bool:
        """Return True for the name of a built-in tool."""
        return name in self._reserved

    def all_names(self) -> list[str]:
        """The tools that can be found and called, sorted."""
        return sorted(self._packed)

    async def tool(self, name: str) -> Tool | None:
        """Return an offered tool in its approved state; None if the library has no such tool.

        Its `source` is what was hashed: run that, never the file.

        Raises:
            LibraryError: The folder or the approvals cannot be read.
        """
        found = await self.library.aside(self._approved, name)
        if found is None:
            await self.renew()  # it may have come or changed since the last look
            found = await self.library.aside(self._approved, name)
        return found

    def _approved(self, name: str) -> Tool | None:
        if name not in self._packed:
            return None
        with contextlib.suppress(LibraryError, UnknownToolError):
            found = self.library.get(name)
            if found.status is Status.VERIFIED and found.name == name:
                return found
        self._seen = None  # it is listed no longer
        return None


def page_of(names: Sequence[str], cursor: str | None, size: int) -> tuple[Sequence[str], dict[str, str]]:
    """The sorted names after a cursor, which is a name, and the next cursor as a part of the result."""
    start = 0 if cursor is None else bisect_right(names, cursor)
    page = names[start : start + size]
    return page, {"nextCursor": page[-1]} if start + size < len(names) else {}


def _packed(tool: Tool, approval: ApprovedHashes) -> bytes:
    meta = {META_STATUS: str(tool.status), META_VERSION: tool.source_hash[:12], META_HASH: tool.source_hash}
    if parent := tool.provenance.get("parent_version"):
        meta[META_PARENT] = str(parent)
    definition = {**definition_of(tool), "_meta": {**meta, META_DEFINITION_HASH: approval.definition}}
    return zlib.compress(json.dumps(definition, ensure_ascii=False, separators=(",", ":")).encode(), 1)
