"""Searches and calls the tools of external MCP servers, with consent for calls that need it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.calls.recorder import Recorder, opened
from agent.events import Event, Note
from agent.records import as_plain, from_plain
from agent.state import ToolRef
from mcp_tools.clients.definitions import returned_type
from mcp_tools.clients.replies import ServerReply
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.consent.consent import Consent
    from mcp_tools.clients.servers import Servers


KIND = "external"


class ExternalTools:
    """The tools of external servers. For a replay, `servers` is None."""

    def __init__(
        self,
        servers: Servers | None,
        calls: Recorder,
        consent: Consent,
        keep: Callable[[str, bytes], Path],
    ) -> None:
        self.is_active = servers is not None or calls.journal.knows(KIND)
        """True if there may be external tools."""
        self._servers = servers
        self._consent = consent
        self._calls = calls
        self._keep = keep
        self._found: dict[str, list[ToolRef]] = {}
        """The last result of each search. A later result is only recorded if it differs."""

    async def search(self, query: str, limit: int) -> list[ToolRef]:
        """Return the tools that fit a query, best first."""
        if not self.is_active:
            return []

        async def work() -> dict[str, Any]:
            found = await self._servers.search(query, limit) if self._servers else []
            tools = [
                {
                    "name": t.name,
                    "description": t.description,
                    "inputSchema": t.input_schema,
                    "returns": returned_type(t.output_schema),
                    "readOnly": t.hints.get("readOnlyHint") is True,
                    "server": t.server,
                }
                for t in found
            ]
            same = [_tool_of(tool) for tool in tools] == self._found.get(query)
            return {"tools": None if same else tools, "notes": self._servers.notes() if self._servers else []}

        request: dict[str, Json] = {"search": query, "limit": limit}
        tools = (await self._calls.call(KIND, request, work, events=_notes))["tools"]
        if tools is not None:
            self._found[query] = [_tool_of(tool) for tool in tools]
        return list(self._found[query])

    async def call(self, name: str, arguments: dict[str, Json], seconds: float | None = None) -> ServerReply:
        """Call a tool, or return the recorded reply, which may be a failure. The workspace has the reply's files."""
        servers = self._servers

        async def refused() -> dict[str, Any] | None:
            if servers is None:
                gone = f"the server of {name} is no longer configured here"
                return _recorded(ServerReply(False, gone, kind="unknown"))
            if refusal := await self._consent.refusal_of_call(name, arguments, servers):
                return _recorded(ServerReply(False, refusal, kind="refused"), [*servers.notes(), refusal])
            return None

        async def work() -> dict[str, Any]:
            reply = self._with_kept(await opened(servers).call(name, arguments, seconds), name)
            refused = [reply.text] if reply.kind == "refused" else []
            return _recorded(reply, [*opened(servers).notes(), *refused])

        request: dict[str, Json] = {"call": name, "arguments": arguments}
        done = await self._calls.call(KIND, request, work, consent=refused, events=_notes)
        return from_plain(ServerReply, done["reply"])

    def _with_kept(self, reply: ServerReply, name: str) -> ServerReply:
        """Save the files of a reply, so that the journal keeps their paths instead of their bytes."""
        files, texts = [], [reply.text, *reply.returned]
        for file in reply.files:
            path = str(self._keep(f"{name}_{file.name}", base64.b64decode(file.data)))
            files.append(replace(file, data="", path=path))
            old, new = f"file {file.name}:", f"file {path}:"
            texts = [text.replace(old, new) if isinstance(text, str) else text for text in texts]
        return replace(reply, text=texts[0], files=tuple(files), returned=tuple(texts[1:]))


def _recorded(reply: ServerReply, notes: Sequence[str] = ()) -> dict[str, Any]:
    return {"reply": as_plain(reply), "notes": [*notes]}


def _tool_of(found: dict[str, Any]) -> ToolRef:
    return ToolRef(
        found["name"],
        found["description"],
        found.get("inputSchema") or {},
        found["server"],
        returns=found.get("returns"),
        is_read_only=found.get("readOnly") is True,
    )


def _notes(done: dict[str, Any]) -> list[Event]:
    return [Note(text) for text in done["notes"]]
