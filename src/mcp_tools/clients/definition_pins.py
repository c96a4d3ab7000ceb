"""What servers last said of their tools: one that turns into another one under its name is not called unasked.

Trust is given to a command or an address. What it offers may change at any time, also for the worse.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_tools.clients.config_files import write_atomically
from mcp_tools.clients.definitions import ExternalTool
from mcp_tools.clients.entry import ServerEntry

FILE = "mcp-seen.json"
"""In the user's data folder."""
_SCHEMA = 2


@dataclass(frozen=True, slots=True)
class Changed:
    """A tool of which its server says something else than when it was trusted."""

    server: str
    tool: str
    definition: str
    """What it says now, as JSON."""


class Seen:
    """The definitions that were seen: the first one of a tool is trusted, a later one once the user allows it.

    Args:
        path: Their file. What cannot be read was not seen; what cannot be written is forgotten.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def changed(self, entry: ServerEntry, tools: Sequence[ExternalTool]) -> dict[str, Changed]:
        """The tools of a server that are not as they were trusted, by its own names; remembers what is new."""
        document = self._document()
        before = _tools(document, entry)
        known = dict(before)
        for tool in tools:
            now = _definition(tool)
            seen = known.get(tool.tool) or {"trusted": _hash(now)}
            is_new = seen["trusted"] != _hash(now)
            known[tool.tool] = {"trusted": seen["trusted"], **({"now": now} if is_new else {})}
        if known != before:
            document["servers"][entry.digest] = known
            self._write(document)
        listed = {tool.tool for tool in tools}
        return {name: one for name, one in _changes(entry, known).items() if name in listed}

    def pending(self, entry: ServerEntry) -> list[Changed]:
        """The tools of a server that were not as they were trusted when it last listed them."""
        return list(_changes(entry, _tools(self._document(), entry)).values())

    def trust(self, entry: ServerEntry, tools: Iterable[str]) -> None:
        """Trusts what the server last said of these tools."""
        document = self._document()
        known = document["servers"][entry.digest] = _tools(document, entry)
        for name in tools:
            if now := known.get(name, {}).get("now"):
                known[name] = {"trusted": _hash(now)}
        self._write(document)

    def _write(self, document: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            write_atomically(self._path, json.dumps(document) + "\n")

    def _document(self) -> dict[str, Any]:
        try:
            document: Any = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            document = None
        if (
            isinstance(document, dict)
            and document.get("schema") == _SCHEMA
            and isinstance(document.get("servers"), dict)
        ):
            return document
        return {"schema": _SCHEMA, "servers": {}}


def _tools(document: dict[str, Any], entry: ServerEntry) -> dict[str, dict[str, str]]:
    """What is known of the tools of a server; what is damaged was not seen."""
    known = document["servers"].get(entry.digest)
    told = known if isinstance(known, dict) else {}
    return {
        name: seen for name, seen in told.items() if isinstance(seen, dict) and isinstance(seen.get("trusted"), str)
    }


def _changes(entry: ServerEntry, known: dict[str, dict[str, str]]) -> dict[str, Changed]:
    return {name: Changed(entry.name, name, seen["now"]) for name, seen in known.items() if "now" in seen}


def _definition(tool: ExternalTool) -> str:
    told = {
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.hints,
    }
    return json.dumps(told, sort_keys=True)


def _hash(definition: str) -> str:
    return hashlib.sha256(definition.encode("utf-8", "surrogatepass")).hexdigest()
