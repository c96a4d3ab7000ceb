"""`tools/call`: which tool, do the arguments fit, run it, write it down. No exception's text reaches a client."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
import traceback
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from mcp_tools.errors import AlitaError, ArgumentsError, IsolationError
from mcp_tools.library import validate_arguments
from mcp_tools.serving.audit import AuditLog, Entry, digest_of
from mcp_tools.serving.call import GONE, Call, ConstantTool, ServerLimits
from mcp_tools.serving.lists.catalogue import Catalogue
from mcp_tools.serving.results import Reply, error_reply
from mcp_tools.serving.running import Runner
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from mcp.server.context import HandlerResult, ServerRequestContext
    from mcp_types import CallToolRequestParams, InputRequiredResult


class Calling:
    """Carries out calls of tools, those of the library and the constant ones."""

    def __init__(
        self,
        catalogue: Catalogue,
        runner: Runner,
        constant: Mapping[str, ConstantTool],
        limits: ServerLimits,
        audit: AuditLog | None,
    ) -> None:
        self._catalogue = catalogue
        self._runner = runner
        self._constant = constant
        self._as_tools = {name: tool.as_tool() for name, tool in constant.items()}
        self._limits = limits
        self._audit = audit

    async def call(self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> HandlerResult:
        """One call, from its arguments to its result.

        Raises:
            MCPError: No tool of that name is offered.
        """
        started = time.monotonic()
        digest, size = digest_of(params.arguments) if self._audit else ("", 0)
        outcome, error_id, detail, sent = "cancelled", "", "", 0
        try:
            reply = await _while_connected(self._reply(Call(params.arguments or {}, context, params)), context)
            if not isinstance(reply, Reply):
                outcome = "asks"
                return reply
            outcome, sent = reply.outcome, reply.size
            return reply.result
        except MCPError:
            outcome = "unknown_tool"
            raise
        except Exception as failure:  # noqa: BLE001 - the boundary to the client: told on stderr, with its id
            error_id, outcome = secrets.token_hex(4), "internal"
            detail = _told_operator(failure, error_id, params.name)
            return _internal(failure, error_id).result
        finally:
            if self._audit is not None:
                seconds = round(time.monotonic() - started, 6)
                level = str(self._runner.sandbox.isolation.level)
                client = _client(context)
                self._audit.write(
                    Entry(client, params.name, digest, size, outcome, sent, seconds, level, error_id, detail)
                )

    async def _reply(self, call: Call) -> Reply | InputRequiredResult:
        name = call.params.name
        constant = self._constant.get(name)
        if constant is not None:
            return self._misfit(call, name) or await constant.call(call)
        tool = self._catalogue.tool(name)
        if tool is None:
            await self._catalogue.renew()  # it may have come or changed since the last look
            tool = self._catalogue.tool(name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"unknown tool: {one_line(name, 128)}")
        return self._too_large(call) or await self._runner.run(tool, call.arguments, call)

    def _misfit(self, call: Call, name: str) -> Reply | None:
        if too_large := self._too_large(call):
            return too_large
        try:
            validate_arguments(self._as_tools[name], call.arguments)
        except ArgumentsError as error:
            return error_reply("arguments", error.message, remedy=error.remedy)
        return None

    def _too_large(self, call: Call) -> Reply | None:
        limit = self._limits.argument_bytes
        if _surely_small(call.arguments, limit):
            return None
        size = len(json.dumps(call.arguments))
        if size <= limit:
            return None
        message = f"the arguments have {size:,} bytes, and a call takes at most {limit:,}"
        return error_reply("argument_size", message, remedy="Give less at once.")


async def _while_connected(
    work: Coroutine[Any, Any, Reply | InputRequiredResult], context: ServerRequestContext[Any, Any]
) -> Reply | InputRequiredResult:
    """What comes of a call, which ends when its client goes away: over HTTP, the SDK would let it run on."""
    scope = getattr(context.request, "scope", None) or {}
    if (gone := scope.get(GONE)) is None:
        return await work
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone.wait())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not working.done():
            working.cancel()
            await asyncio.wait((working,))
    if working.cancelled():
        return error_reply("cancelled", "the client went away")
    return working.result()


def _surely_small(arguments: Mapping[str, Any], limit: int) -> bool:
    """Whether a few numbers and short texts are all there is: then nothing needs to be counted."""
    return len(arguments) < 64 and all(
        value is None
        or isinstance(value, bool | int | float)
        or (isinstance(value, str) and len(value) < limit // 1000)
        for value in arguments.values()
    )


def _client(context: ServerRequestContext[Any, Any]) -> str:
    params = context.session.client_params
    return f"{params.client_info.name} {params.client_info.version}" if params else "unknown"


def _told_operator(failure: Exception, error_id: str, tool: str) -> str:
    """Tells stderr all of a failure, and gives its last line for the audit log."""
    text = "".join(traceback.format_exception(failure))
    summary = str(failure) if isinstance(failure, AlitaError) else repr(failure)
    shown = summary if isinstance(failure, AlitaError) else text
    print(f"alita: error {error_id} in a call of {one_line(tool, 128)}: {shown}", file=sys.stderr, flush=True)
    return one_line(summary, 300)


def _internal(failure: Exception, error_id: str) -> Reply:
    if isinstance(failure, IsolationError):
        message = f"the sandbox is out of order, and nothing runs without it (error {error_id})"
        return error_reply("sandbox", message, remedy="The operator of this server runs: alita doctor")
    message = f"the server failed (error {error_id})"
    return error_reply("internal", message, remedy="Try again; the operator of this server finds more in its log.")
