"""Which tools of a library a server offers: a snapshot of it, renewed when the library changes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
import zlib
from collections.abc import Container, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mcp_tools.definition import canonical, definition_of
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library import Library
from mcp_tools.library.tool_files import META_HASH, META_STATUS, stamps
from mcp_tools.tool import Capabilities, Json, Tool

META_DEFINITION_HASH = "alita/definition-hash"
META_VERSION = "alita/version"
META_PARENT = "alita/parent-version"

_SETTLED_NS = 50_000_000
"""What changed so recently may change again within one tick of the file system's clock."""
_SCAN_SHARE = 100
"""Looking into every file takes at most this part of the time."""
_LEAST_SCAN_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One tool that is offered, as compact as 10,000 of them must be."""

    packed: bytes
    """Its definition with `_meta` as JSON, compressed."""
    source_hash: str
    definition_hash: str
    capabilities: Capabilities


@dataclass(frozen=True, slots=True)
class Offer:
    """What a server offers of its library."""

    listed: str
    """`all`, `meta` for the constant tools alone, or patterns of names, separated by commas."""

    def lists(self, name: str) -> bool:
        """Whether a tool stands in the list of tools."""
        return self.listed != "meta" and self.reaches(name)

    def reaches(self, name: str) -> bool:
        """Whether a tool can be found and called at all."""
        return self.listed in {"all", "meta"} or any(fnmatchcase(name, pattern) for pattern in self._patterns)

    @property
    def _patterns(self) -> Iterable[str]:
        return (pattern.strip() for pattern in self.listed.split(",") if pattern.strip())


class Catalogue:
    """The tools that are offered now.

    Args:
        library: Where they are.
        offer: Which of them.
        reserved: Names of constant tools: a tool of the library under such a name is reached through `call_tool` only.
    """

    def __init__(self, library: Library, offer: Offer, reserved: Container[str]) -> None:
        self.library = library
        self.shadowed: tuple[str, ...] = ()
        """Tools whose name is a constant tool's."""
        self.names: tuple[str, ...] = ()
        """The tools that are listed, sorted."""
        self.readings = 0
        """How often the library was read."""
        self.changed = asyncio.Event()
        """Set when what is offered became another."""
        self._offer = offer
        self._reserved = reserved
        self._entries: dict[str, Entry] = {}
        self._ready: dict[str, Tool] = {}
        self._is_new = True
        self._seen: tuple[object, ...] | None = None
        """The stamp when everything was read; None when it must be read again."""
        self._files = b""
        self._scan_at = 0.0
        self._renewing = asyncio.Lock()

    async def renew(self) -> None:
        """Looks whether the library changed. Cheap when nothing happened.

        Raises:
            LibraryError: The folder cannot be read; what was offered stays.
        """
        if self._is_current():
            return
        async with self._renewing:
            if self._is_current():
                return
            is_first = self._is_new
            if await asyncio.to_thread(self._renew) and not is_first:
                self.changed.set()

    def _is_current(self) -> bool:
        return self._seen is not None and self._quick_stamp() == self._seen and time.monotonic() < self._scan_at

    def _renew(self) -> bool:
        quick, started = self._quick_stamp(), time.monotonic()
        files = self._file_stamps()
        self._scan_at = time.monotonic() + max(_LEAST_SCAN_SECONDS, _SCAN_SHARE * (time.monotonic() - started))
        if self._seen is not None and quick == self._seen and files == self._files:
            return False
        before = self._entries
        entries = {
            tool.name: self._entry(tool) for tool in self.library.each_served() if self._offer.reaches(tool.name)
        }
        listed = sorted(name for name in entries if self._offer.lists(name))
        self.names = tuple(name for name in listed if name not in self._reserved)
        self.shadowed = tuple(name for name in listed if name in self._reserved)
        self._entries, self._files = entries, files
        self._ready = {}
        self.readings += 1
        self._seen, self._is_new = (quick if _is_settled(quick) else None), False
        return entries != before

    def _entry(self, tool: Tool) -> Entry:
        definition = definition_of(tool)
        digest = sys.intern(hashlib.sha256(canonical(definition)).hexdigest())
        meta = {META_STATUS: str(tool.status), META_VERSION: tool.source_hash[:12], META_HASH: tool.source_hash}
        if parent := tool.provenance.get("parent_version"):
            meta[META_PARENT] = str(parent)
        definition["_meta"] = {**meta, META_DEFINITION_HASH: digest}
        text = json.dumps(definition, ensure_ascii=False, separators=(",", ":"))
        return Entry(zlib.compress(text.encode(), 1), tool.source_hash, digest, tool.capabilities)

    def _quick_stamp(self) -> tuple[object, ...]:
        """What changes when a file is added, replaced or removed, and when something is approved."""
        return _changed(self.library.folder), _changed(self.library.approvals.path)

    def _file_stamps(self) -> bytes:
        """What changes with any file: a digest, since the stamps of all would take room."""
        try:
            found = stamps(self.library.folder)
        except OSError:
            return b""
        return hashlib.sha256("\n".join(f"{name} {found[name]}" for name in sorted(found)).encode()).digest()

    def definition(self, name: str) -> dict[str, Json]:
        """The MCP tool object of an offered tool.

        Raises:
            KeyError: It is not offered.
        """
        found: dict[str, Json] = json.loads(zlib.decompress(self._entries[name].packed))
        return found

    def __contains__(self, name: str) -> bool:
        """Whether a tool is offered, listed or not."""
        return name in self._entries

    def offers(self, name: str, can_ask: bool) -> bool:
        """Whether a client can call a tool: one that reads files only works where a person can be asked for them."""
        return name in self._entries and (can_ask or not self._entries[name].capabilities.read)

    def all_names(self) -> list[str]:
        """The tools that can be found and called, sorted."""
        return sorted(self._entries)

    def tool(self, name: str) -> Tool | None:
        """The very tool that was approved and listed; None when there is none, or when it is another by now.

        Its `source` is what was hashed: run that, never the file.
        """
        entry = self._entries.get(name)
        if entry is None:
            return None
        try:
            found = self.library.get(name)
        except (LibraryError, UnknownToolError):
            self._seen = None  # it is listed no longer
            return None
        if self._ready.get(name) is found:
            return found
        if not _is_as_approved(found, entry):
            self._seen = None
            return None
        if len(self._ready) >= _MOST_READY:
            self._ready.clear()
        self._ready[name] = found
        return found


_MOST_READY = 1024


def _is_as_approved(tool: Tool, entry: Entry) -> bool:
    if tool.source_hash != entry.source_hash or tool.capabilities != entry.capabilities:
        return False
    return hashlib.sha256(canonical(definition_of(tool))).hexdigest() == entry.definition_hash


def _changed(path: Path) -> tuple[int, ...]:
    try:
        state = path.stat()
    except OSError:
        return ()
    return state.st_mtime_ns, state.st_ino, state.st_size


def _is_settled(stamp: tuple[object, ...]) -> bool:
    moments = [part[0] for part in stamp if isinstance(part, tuple) and part]
    return all(time.time_ns() - moment > _SETTLED_NS for moment in moments)
