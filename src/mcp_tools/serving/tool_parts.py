"""The parts of an offered tool that a client may read: source, tests, evidence, approved versions, a server file."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, replace

from mcp_tools.errors import LibraryError
from mcp_tools.library.tool_files import CAPABILITIES, encoded
from mcp_tools.serving.catalogue import Catalogue
from mcp_tools.tool import Json, Tool

PARTS: Mapping[str, tuple[str, str]] = {
    "source": ("text/x-python", "The program of the tool."),
    "tests": ("application/json", "The tests that the tool passed before it was kept."),
    "evidence": ("application/json", "Why the tool is believed, what it may touch, and how its calls went."),
    "versions": ("application/json", "The versions that the user approved, newest first, with changes up to now."),
    "server": ("text/x-python", "The tool as an MCP server of its own, for `uv run FILE`; nothing isolates it there."),
}
"""Media type and description of each."""
_TOLD = ("evidence", "model", "created", "parent_version", CAPABILITIES)
"""The parts of a tool's record that a client gets. The question behind the tool is left out."""
_MOST_VERSIONS, _LONGEST_DIFF = 20, 10_000


class ToolParts:
    """The parts of the tools that are offered."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def part(self, tool: Tool, kind: str) -> Json:
        """One part of an approved tool: a text, or JSON.

        Raises:
            LibraryError: It cannot be a separate server.
        """
        if kind == "source":
            return tool.source
        if kind == "tests":
            return tool.provenance.get("tests", [])
        if kind == "versions":
            return await asyncio.to_thread(self._versions, tool)
        if kind == "server":
            return await self._server(tool)
        told = {key: tool.provenance[key] for key in _TOLD if key in tool.provenance}
        library = self._catalogue.library
        calls = asdict(await library.aside(library.stats, tool.name))
        meta = self._catalogue.definition(tool.name)["_meta"]
        return {"name": tool.name, "status": str(tool.status), **told, "calls": calls, "_meta": meta}

    def _versions(self, tool: Tool) -> list[dict[str, Json]]:
        """The approved versions only: the text of any other is data that nobody has looked at."""
        from mcp_tools.approve import difference

        library, now, found = self._catalogue.library, _bare(tool), list[dict[str, Json]]()
        for version in reversed(library.approved_versions(tool.name)[-_MOST_VERSIONS:]):
            changes = difference(_bare(version), now, (version.source_hash[:12], "now"))
            cut = f"{changes[:_LONGEST_DIFF]}\n[cut]" if len(changes) > _LONGEST_DIFF else changes
            about = {"created": version.provenance.get("created"), "current": version.source_hash == tool.source_hash}
            found.append({"version": version.source_hash[:12], **about, "diff": cut})
        return found

    async def _server(self, tool: Tool) -> str:
        """Return a file with the tool and its imports, each in its approved state."""
        from mcp_tools.exchange import server_file
        from mcp_tools.exchange.parcel import Parcel, public_record, require_runnable

        found, waiting = dict[str, Tool](), [tool]
        while waiting:
            one = waiting.pop()
            found[one.name] = one
            for name in one.capabilities.tools:
                imported = await self._catalogue.tool(name)
                if imported is None:
                    raise LibraryError(f"{one.name} imports {name}, which this server does not offer")
                waiting += [] if name in found else [imported]
        public = [replace(one, provenance=public_record(one.provenance)) for one in found.values()]
        parcels = [Parcel(one, one.source.encode(), encoded(one)) for one in public]
        require_runnable(parcels, "a server of its own")
        file = f"{tool.name}.py"
        return server_file.files(parcels, file)[file].decode()


def _bare(tool: Tool) -> Tool:
    """A tool without what its record says of the user."""
    kept = {CAPABILITIES: tool.provenance[CAPABILITIES]} if CAPABILITIES in tool.provenance else {}
    return replace(tool, provenance=kept)
