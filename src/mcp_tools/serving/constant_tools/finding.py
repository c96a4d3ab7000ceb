"""`search_tools`, `describe_tool` and `call_tool`: the library for clients that do not follow its list."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from mcp_tools.serving.call import Call, ConstantTool, ServerLimits
from mcp_tools.serving.consent import FILES_SCHEMA, can_ask
from mcp_tools.serving.constant_tools.schemas import definition
from mcp_tools.serving.lists.catalogue import Catalogue
from mcp_tools.serving.results import Reply, error_reply, value_reply
from mcp_tools.serving.running import Runner
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp_types import InputRequiredResult

_MOST_FOUND = 50
_SEARCHED = 200
"""So many matches of the whole library are looked through for those that are offered."""


class Finding:
    """The three tools with which any tool of the library is found, understood and called."""

    def __init__(self, catalogue: Catalogue, runner: Runner, limits: ServerLimits) -> None:
        self._catalogue = catalogue
        self._runner = runner
        self._limits = limits

    def tools(self) -> list[ConstantTool]:
        """The constant tools of this file."""
        return [
            ConstantTool(_SEARCH, self._search),
            ConstantTool(_DESCRIBE, self._describe),
            ConstantTool(_CALL, self._call),
        ]

    async def _search(self, call: Call) -> Reply:
        await self._catalogue.renew()
        limit = call.arguments.get("limit", 10)
        hits = self._catalogue.library.search(call.arguments["query"], _SEARCHED)
        offered = [hit.tool.name for hit in hits if self._catalogue.offers(hit.tool.name, can_ask(call.context))][
            :limit
        ]
        found = [self._catalogue.definition(name) for name in offered]
        brief = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in found]
        return self._reply({"tools": brief, "total": len(self._catalogue.all_names())})

    async def _describe(self, call: Call) -> Reply:
        await self._catalogue.renew()
        name = call.arguments["name"]
        if name not in self._catalogue:
            return self._unknown(name)
        stats = self._catalogue.library.stats(name)
        calls = {"calls": stats.calls, "successes": stats.successes, "failures": stats.failures}
        return self._reply({"tool": self._catalogue.definition(name), "calls": calls})

    async def _call(self, call: Call) -> Reply | InputRequiredResult:
        name, arguments = call.arguments["name"], call.arguments.get("arguments", {})
        await self._catalogue.renew()
        tool = self._catalogue.tool(name)
        if tool is None:
            return self._unknown(name)
        files = call.arguments.get("files", [])
        if files and not tool.capabilities.read:
            return error_reply("denied", f"{name} reads no files", remedy="Call it without files.")
        return await self._runner.run(tool, arguments, call, files=files)

    def _unknown(self, name: str) -> Reply:
        near = difflib.get_close_matches(name, self._catalogue.all_names(), n=3)
        hint = f"Did you mean {', '.join(near)}? " if near else ""
        return error_reply("unknown_tool", f"there is no tool {name!r}", remedy=f"{hint}search_tools finds the tools.")

    def _reply(self, content: dict[str, Any]) -> Reply:
        return value_reply(content, limit=self._limits.result_bytes)


_NAME: dict[str, Json] = {"type": "string", "maxLength": 128, "description": "The tool's name."}

_SEARCH = definition(
    "search_tools",
    "Search tools",
    "Finds tools in the library that fit a task. "
    "Use it before asking for a new tool; call what it finds with call_tool.",
    {
        "query": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The task, in a few words."},
        "limit": {"type": "integer", "minimum": 1, "maximum": _MOST_FOUND, "description": "How many at most; 10."},
    },
    required=["query"],
    output={"tools": {"type": "array", "items": {"type": "object"}}, "total": {"type": "integer"}},
)
_DESCRIBE = definition(
    "describe_tool",
    "Describe a tool",
    "Tells all of one tool: its schemas, its status, the hashes of its source and definition, and how its calls went.",
    {"name": _NAME},
    required=["name"],
    output={"tool": {"type": "object"}, "calls": {"type": "object"}},
)
_CALL = definition(
    "call_tool",
    "Call a tool",
    "Calls a tool of the library by name, in the sandbox. Its arguments must fit the inputSchema that search_tools and "
    "describe_tool tell.",
    {
        "name": _NAME,
        "arguments": {"type": "object", "description": "The tool's arguments."},
        "files": FILES_SCHEMA,
    },
    required=["name"],
    output={"result": {}},
)
