"""Asking the person behind a client, in either era of the protocol."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import (
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from mcp_tools.serving.call import Call
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext


def can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client said that it can ask a person."""
    return context.session.check_client_capability(ClientCapabilities(elicitation=ElicitationCapability()))


async def elicited(
    call: Call, question: str, form: dict[str, Json], key: str, seconds: float
) -> ElicitResult | InputRequiredResult | None:
    """The answer, if there is one; in the era of 2026 the client is asked to call again with it.

    Args:
        call: The call for which is asked.
        question: What the person reads.
        form: The schema of the answer: an object of plain values.
        key: The name of the question: an answer under another one does not count.
        seconds: How long the person may take.
    """
    if call.context.session.can_send_request:
        try:
            async with asyncio.timeout(seconds):
                return await call.context.session.elicit_form(question, form, call.context.request_id)
        except (TimeoutError, MCPError, NoBackChannelError, ValueError):
            return None
    given = (call.params.input_responses or {}).get(key)
    if isinstance(given, ElicitResult):
        return given
    params = ElicitRequestFormParams(message=question, requested_schema=form)
    return InputRequiredResult(input_requests={key: ElicitRequest(params=params)})
