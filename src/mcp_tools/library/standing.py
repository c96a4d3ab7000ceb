"""What stands under each name of a library: read from its two files, and kept while their stamp stays."""

from __future__ import annotations

import contextlib
from pathlib import Path

from mcp_tools.errors import LibraryError
from mcp_tools.library import tool_files
from mcp_tools.library.lock import writing
from mcp_tools.library.tool_files import Flaw
from mcp_tools.tool import Tool

_MOST_CACHED = 4096


class Standing:
    """The tools of one folder by name.

    Args:
        folder: Where the tools are; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cache: dict[str, tuple[str, Tool]] = {}

    def of(self, name: str) -> Tool | Flaw | None:
        """A tool, what is wrong with its files, or nothing."""
        return self.stamped(name)[1]

    def stamped(self, name: str, *, keep: bool = True) -> tuple[str, Tool | Flaw | None]:
        """What stands under a name, and the stamp of its files; empty when they changed while they were read.

        A pass over a large library keeps no tool: they would be most of a server's memory.
        """
        stamp = tool_files.stamp(self._folder, name)
        cached = self._cache.get(name)
        if cached and cached[0] == stamp:
            return stamp, cached[1]
        found = self.read(name)
        if not isinstance(found, Tool) or stamp != tool_files.stamp(self._folder, name):
            return "", found
        if keep:
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            self._cache[name] = (stamp, found)
        return stamp, found

    def read(self, name: str) -> Tool | Flaw | None:
        """Reads a tool. What looks half-written is read again under the lock, when no write is under way."""
        found = tool_files.read_tool(self._folder, name)
        if isinstance(found, Flaw) and found.kind in {"changed", "incomplete"}:
            with contextlib.suppress(LibraryError), writing(self._folder):
                found = tool_files.read_tool(self._folder, name)
        return found
