"""The lists of tools and prompts, page by page, and the completion of arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, PromptReference

from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.serving.call import ServerLimits
from mcp_tools.serving.consent import can_ask
from mcp_tools.serving.envelope import COMPLETE, FRESH
from mcp_tools.serving.lists.catalogue import Catalogue
from mcp_tools.serving.lists.paging import CursorError, page_of
from mcp_tools.serving.lists.prompts import Prompts
from mcp_tools.serving.lists.resources import Resources
from mcp_tools.serving.results import META_SANDBOX, sandbox_meta
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CompleteRequestParams, PaginatedRequestParams


class Listing:
    """Lists the tools that are offered now."""

    def __init__(
        self, catalogue: Catalogue, constant: Sequence[dict[str, Json]], sandbox: Sandbox, limits: ServerLimits
    ) -> None:
        self._catalogue = catalogue
        self._constant = constant
        self._sandbox = sandbox
        self._limits = limits

    async def list(self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams) -> dict[str, Json]:
        """One page of tools.

        Raises:
            MCPError: The cursor is none of ours.
        """
        await self._catalogue.renew()
        offered, asks = self._catalogue.names, can_ask(context)
        try:
            names, after = page_of(
                [name for name in offered if self._catalogue.offers(name, asks)], params.cursor, self._limits.page
            )
        except CursorError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from None
        sandbox = sandbox_meta(self._sandbox.isolation)
        listed = [] if params.cursor else [*self._constant]
        for name in names:
            tool = self._catalogue.definition(name)
            tool["_meta"][META_SANDBOX] = sandbox
            listed.append(tool)
        return {**FRESH, "tools": listed, **({"nextCursor": after} if after else {})}


_MOST = 100
"""MCP allows no more values in one reply."""
_TOOL_ADDRESS = re.compile(r"alita://tools/\{name\}/\w+")
_TOOL_PROMPT = "explain_tool"


class Completions:
    """What the beginning of an argument may go on to."""

    def __init__(self, catalogue: Catalogue, prompts: Prompts, resources: Resources) -> None:
        self._catalogue = catalogue
        self._prompts = prompts
        self._resources = resources

    async def complete(self, _: ServerRequestContext[Any, Any], params: CompleteRequestParams) -> dict[str, Json]:
        """The names of tools that begin, then those that go on with what was typed; nothing for free text.

        Raises:
            MCPError: There is no such prompt, address or argument.
        """
        found: list[str] = []
        if self._wants_a_tool(params):
            await self._catalogue.renew()
            typed = params.argument.value.casefold()
            fitting = [name for name in self._catalogue.all_names() if typed in name.casefold()]
            found = sorted(fitting, key=lambda name: (not name.casefold().startswith(typed), name))
        shown: dict[str, Json] = {"values": [*found[:_MOST]], "total": len(found), "hasMore": len(found) > _MOST}
        return {**COMPLETE, "completion": shown}

    def _wants_a_tool(self, params: CompleteRequestParams) -> bool:
        argument, reference = params.argument.name, params.ref
        if isinstance(reference, PromptReference):
            prompt = self._prompts.by_name.get(reference.name)
            if prompt is None or argument not in prompt.arguments:
                raise MCPError(INVALID_PARAMS, f"no prompt {one_line(reference.name)} with {one_line(argument)}")
            return reference.name == _TOOL_PROMPT
        address = str(reference.uri)
        if not self._resources.is_template(address) or f"{{{argument}}}" not in address:
            raise MCPError(INVALID_PARAMS, f"no resource template {one_line(address)} with {one_line(argument)}")
        return _TOOL_ADDRESS.fullmatch(address) is not None
