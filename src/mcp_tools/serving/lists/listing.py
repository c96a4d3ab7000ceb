"""`tools/list`: the constant tools first, then the library's, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.serving.elicitation import can_ask
from mcp_tools.serving.envelope import FRESH
from mcp_tools.serving.limits import ServerLimits
from mcp_tools.serving.lists.catalogue import Catalogue
from mcp_tools.serving.lists.paging import CursorError, page_of
from mcp_tools.serving.results import META_SANDBOX, sandbox_meta
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import PaginatedRequestParams


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
