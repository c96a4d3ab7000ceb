"""What servers last said of their tools, so that a tool that turns into another one under its name is told.

Trust is given to a command or an address. What it offers may change at any time, also for the worse.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp_tools.clients.definitions import ExternalTool
from mcp_tools.clients.entry import ServerEntry
from mcp_tools.clients.files import write_atomically

FILE = "mcp-seen.json"
"""In the user's data folder."""
_SCHEMA = 1


class Seen:
    """The definitions that were seen.

    Args:
        path: Their file. What cannot be read was not seen; what cannot be written is forgotten.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def changed(self, entry: ServerEntry, tools: Sequence[ExternalTool]) -> list[str]:
        """The tools of a server that it defined in another way before, by its own names; remembers the new ones."""
        document = self._document()
        before = document["servers"].get(entry.digest)
        before = before if isinstance(before, dict) else {}
        now = {tool.tool: _hash(tool) for tool in tools}
        known = {**before, **now}
        if known != before:
            document["servers"][entry.digest] = known
            with contextlib.suppress(OSError):
                write_atomically(self._path, json.dumps(document) + "\n")
        return [name for name, digest in now.items() if before.get(name, digest) != digest]

    def _document(self) -> dict[str, Any]:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            document = None
        if not isinstance(document, dict) or not isinstance(document.get("servers"), dict):
            return {"schema": _SCHEMA, "servers": {}}
        return document


def _hash(tool: ExternalTool) -> str:
    told = json.dumps([tool.description, tool.input_schema, tool.output_schema, tool.hints], sort_keys=True)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
