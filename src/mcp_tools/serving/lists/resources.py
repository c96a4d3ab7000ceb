"""Resources: the source, the tests and the evidence of each tool, for people and models that want to look."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_tools.serving.call import ServerLimits
from mcp_tools.serving.envelope import FIXED, FRESH
from mcp_tools.serving.lists.catalogue import Catalogue
from mcp_tools.serving.lists.paging import CursorError, page_of
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import PaginatedRequestParams, ReadResourceRequestParams

_PLACE = re.compile(r"\{(\w+)\}")
_URI = re.compile(r"alita://tools/([A-Za-z0-9_.-]{1,128})/(source|tests|evidence)")
_NOT_FOUND_UNTIL_2025 = -32002
"""What older versions of MCP call a resource that is not there; since 2026 it is a wrong parameter."""
_KINDS = {
    "source": ("text/x-python", "The program of the tool."),
    "tests": ("application/json", "The tests that the tool passed before it was kept."),
    "evidence": ("application/json", "Why the tool is believed, what it may touch, and how its calls went."),
}
_TOLD = ("evidence", "model", "created", "parent_version", "capabilities")
"""What of a tool's provenance is told; the question that it was made for is not."""


@dataclass(frozen=True, slots=True)
class Document:
    """A resource that belongs to no tool."""

    address: str
    """With `{name}` in it, it stands for all addresses that have something there."""
    name: str
    description: str
    mime: str
    text: str
    """Each `{name}` in it gives way to what the address has there."""

    @property
    def is_template(self) -> bool:
        """Whether it stands for several addresses."""
        return _PLACE.search(self.address) is not None

    def text_at(self, address: str) -> str | None:
        """Its text at an address; None when it is not the one."""
        form = _PLACE.sub(
            lambda place: f"(?P<{place[1]}>[^/]+)", re.escape(self.address).replace(r"\{", "{").replace(r"\}", "}")
        )
        found = re.fullmatch(form, address)
        return None if found is None else _PLACE.sub(lambda place: found.groupdict().get(place[1], place[0]), self.text)


class Resources:
    """The resources of the tools that are offered.

    Args:
        catalogue: The tools.
        limits: How much is told at once.
        documents: More resources.
    """

    def __init__(self, catalogue: Catalogue, limits: ServerLimits, documents: Sequence[Document] = ()) -> None:
        self._catalogue = catalogue
        self._limits = limits
        self._documents = documents

    async def list(self, _: ServerRequestContext[Any, Any], params: PaginatedRequestParams) -> dict[str, Json]:
        """The resources of one page of tools."""
        await self._catalogue.renew()
        try:
            names, after = page_of(self._catalogue.all_names(), params.cursor, self._limits.resource_page)
        except CursorError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        listed = [_resource(name, kind) for name in names for kind in _KINDS]
        if after is None:
            listed += [{"uri": one.address, **_described(one)} for one in self._documents if not one.is_template]
        return {**FRESH, "resources": listed, **({"nextCursor": after} if after else {})}

    async def templates(self, *_: object) -> dict[str, Json]:
        """The forms of the addresses."""
        found = [
            {
                "uriTemplate": f"alita://tools/{{name}}/{kind}",
                "name": f"tool_{kind}",
                "title": f"The {kind} of a tool",
                "description": description,
                "mimeType": mime,
            }
            for kind, (mime, description) in _KINDS.items()
        ]
        found += [{"uriTemplate": one.address, **_described(one)} for one in self._documents if one.is_template]
        return {**FIXED, "resourceTemplates": found}

    def is_template(self, address: str) -> bool:
        """Whether it is one of the forms of addresses."""
        own = {f"alita://tools/{{name}}/{kind}" for kind in _KINDS}
        return address in own or any(one.address == address and one.is_template for one in self._documents)

    async def read(self, context: ServerRequestContext[Any, Any], params: ReadResourceRequestParams) -> dict[str, Json]:
        """One resource.

        Raises:
            MCPError: There is none at that address.
        """
        return {**FRESH, "contents": [await self.content(context, str(params.uri))]}

    async def content(self, context: ServerRequestContext[Any, Any], address: str) -> dict[str, Json]:
        """What is at an address.

        Raises:
            MCPError: Nothing is.
        """
        for one in self._documents:
            if (text := one.text_at(address)) is not None:
                return {"uri": address, "mimeType": one.mime, "text": text}
        found = _URI.fullmatch(address)
        if found is None:
            raise _missing(context, address, "they are alita://tools/NAME/source|tests|evidence")
        name, kind = found.groups()
        if self._catalogue.tool(name) is None:
            await self._catalogue.renew()
        tool = self._catalogue.tool(name)
        if tool is None:
            raise _missing(context, address, f"there is no tool {name}")
        text = self._text(tool, kind)
        if len(text.encode()) > self._limits.result_bytes:
            raise _missing(context, address, f"it is larger than {self._limits.result_bytes:,} bytes")
        return {"uri": address, "mimeType": _KINDS[kind][0], "text": text}

    def _text(self, tool: Tool, kind: str) -> str:
        if kind == "source":
            return tool.source
        if kind == "tests":
            return _json(tool.provenance.get("tests", []))
        stats = self._catalogue.library.stats(tool.name)
        told = {key: tool.provenance[key] for key in _TOLD if key in tool.provenance}
        calls = {"calls": stats.calls, "successes": stats.successes, "failures": stats.failures, "last": stats.last}
        meta = self._catalogue.definition(tool.name)["_meta"]
        return _json({"name": tool.name, "status": str(tool.status), **told, "calls": calls, "_meta": meta})


def _missing(context: ServerRequestContext[Any, Any], address: str, why: str) -> MCPError:
    code = INVALID_PARAMS if context.protocol_version in MODERN_PROTOCOL_VERSIONS else _NOT_FOUND_UNTIL_2025
    return MCPError(code, f"no resource {one_line(address)}: {why}", data={"uri": address})


def _described(one: Document) -> dict[str, Json]:
    return {"name": one.name, "description": one.description, "mimeType": one.mime}


def _resource(name: str, kind: str) -> dict[str, Json]:
    mime, description = _KINDS[kind]
    return {
        "uri": f"alita://tools/{name}/{kind}",
        "name": f"{name}.{kind}",
        "title": f"{name}: {kind}",
        "description": description,
        "mimeType": mime,
    }


def _json(value: Json) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
