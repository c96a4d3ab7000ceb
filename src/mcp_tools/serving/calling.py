"""`tools/call`: which tool, do the arguments fit, run it, write it down. No exception's text reaches a client."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import json
import re
import secrets
import sys
import time
import traceback
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from mcp_tools.errors import AlitaError, ArgumentsError, IsolationError
from mcp_tools.library import Library, validate_arguments
from mcp_tools.run import limits_of, run_tool
from mcp_tools.sandbox.protocol import Outcome, Sandbox
from mcp_tools.serving.audit import AuditLog, Entry, digest_of
from mcp_tools.serving.call import (
    GONE,
    META_SANDBOX,
    META_SECONDS,
    Call,
    ConstantTool,
    Reply,
    ServerLimits,
    error_reply,
    files_in,
    granted,
    problem_reply,
    sandbox_meta,
    value_reply,
    with_real_paths,
)
from mcp_tools.serving.catalogue import Catalogue
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Tool

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
        if too_large := self._too_large(call):
            return too_large
        if (constant := self._constant.get(name)) is not None:
            try:
                validate_arguments(self._as_tools[name], call.arguments)
            except ArgumentsError as error:
                return error_reply("arguments", error.message, remedy=error.remedy)
            return await constant.call(call)
        tool = self._catalogue.tool(name)
        if tool is None:
            await self._catalogue.renew()  # it may have come or changed since the last look
            tool = self._catalogue.tool(name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"unknown tool: {one_line(name, 128)}")
        return await self._runner.run(tool, call.arguments, call)

    def _too_large(self, call: Call) -> Reply | None:
        limit = self._limits.argument_bytes
        if (size := len(json.dumps(call.arguments))) <= limit:
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


_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,100}")


def with_media(tool: Tool, value: Json) -> tuple[Json, list[dict[str, Json]]]:
    """A result as text shows it, with the size of each image or sound in its place, and the media as MCP content.

    JSON Schema 2020-12 has the words for what an outputSchema marks: `contentMediaType`, and `contentEncoding: base64`
    for what is binary (Validation, section 8). What is no base64, although it is marked so, stays as it is.
    """
    schema = tool.output_schema.get("properties", {}).get("result", {})
    if "contentMediaType" in schema:
        return _shown(tool.name, schema, value, 0)
    if not isinstance(value, list) or not ("prefixItems" in schema or "items" in schema):
        return value, []
    parts = [_shown(tool.name, inner, item, at) for at, (inner, item) in enumerate(_items(schema, value))]
    return [shown for shown, _ in parts], [block for _, blocks in parts for block in blocks]


def _items(schema: dict[str, Json], values: list[Json]) -> Iterator[tuple[dict[str, Json], Json]]:
    first = schema.get("prefixItems", [])
    for at, value in enumerate(values):
        found = first[at] if at < len(first) else schema.get("items")
        yield found if isinstance(found, dict) else {}, value


def _shown(name: str, schema: dict[str, Json], value: Json, at: int) -> tuple[Json, list[dict[str, Json]]]:
    media_type = schema.get("contentMediaType")
    if not isinstance(value, str) or not isinstance(media_type, str) or not _MEDIA_TYPE.fullmatch(media_type):
        return value, []
    uri = f"alita://results/{name}/{at}"
    if schema.get("contentEncoding") != "base64":
        return value, [{"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": value}}]
    try:
        size = len(base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        return value, []
    kind = media_type.partition("/")[0]
    block: dict[str, Json] = {"type": kind, "data": value, "mimeType": media_type}
    if kind not in {"image", "audio"}:
        block = {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "blob": value}}
    return f"{media_type}, {size:,} bytes", [block]


_HEARTBEAT_SECONDS = 1.0


class Runner:
    """Runs tools in the sandbox, and says what came of it in the words of MCP.

    Args:
        library: Counts the calls.
        sandbox: Where the tools run.
        limits: What a call may use.
    """

    def __init__(self, library: Library, sandbox: Sandbox, limits: ServerLimits) -> None:
        self.sandbox = sandbox
        self._library = library
        self._limits = limits

    async def run(
        self, tool: Tool, arguments: dict[str, Json], call: Call, *, files: Sequence[str] = ()
    ) -> Reply | InputRequiredResult:
        """Runs one call of a tool. A call that is cancelled kills its process.

        Args:
            tool: The tool. If it reads files, a person is asked about those that its arguments name.
            arguments: Its arguments.
            call: The client's call.
            files: Paths of more files that it should read.

        Raises:
            IsolationError: The sandbox is out of order.
        """
        read: tuple[Path, ...] = ()
        wanted = list(dict.fromkeys([*files, *files_in(arguments)])) if tool.capabilities.read else []
        if wanted:
            answer = await granted(call, wanted, f"the tool {tool.name}", self._limits.consent_seconds)
            if not isinstance(answer, tuple):
                return answer
            read, arguments = answer, with_real_paths(arguments, wanted, answer)
        try:
            async with heartbeat(call, tool.name, limits_of(tool, self._limits.call).wall_seconds):
                outcome = await run_tool(tool, arguments, self.sandbox, read=read, limits=self._limits.call)
        except ArgumentsError as error:
            return error_reply("arguments", error.message, remedy=error.remedy)
        self._library.record_call(tool.name, outcome.ok, outcome.problem.kind if outcome.problem else None)
        if outcome.problem is not None:
            return problem_reply(outcome.problem, who=tool.name, meta=outcome_meta(outcome))
        shown, media = with_media(tool, outcome.value)
        return value_reply(
            {"result": outcome.value},
            limit=self._limits.result_bytes,
            meta=outcome_meta(outcome),
            shown={"result": shown} if media else None,
            media=media,
        )


def outcome_meta(outcome: Outcome) -> dict[str, Json]:
    """What every result says of how it came about."""
    return {META_SANDBOX: sandbox_meta(outcome.isolation), META_SECONDS: round(outcome.seconds, 6)}


@contextlib.asynccontextmanager
async def heartbeat(call: Call, what: str, limit: float) -> AsyncIterator[None]:
    """Meanwhile tells a client that asked for progress how long it has been, so that it does not give up."""
    loop = asyncio.get_running_loop()
    beating: list[asyncio.Task[None]] = []
    timer = loop.call_later(_HEARTBEAT_SECONDS, lambda: beating.append(loop.create_task(_beat(call, what, limit))))
    try:
        yield
    finally:
        timer.cancel()
        for task in beating:
            task.cancel()


async def _beat(call: Call, what: str, limit: float) -> None:
    seconds = _HEARTBEAT_SECONDS
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client is gone
        while True:
            await call.tell(f"{what} runs, {seconds:.0f} of at most {limit:.0f} s")
            await asyncio.sleep(_HEARTBEAT_SECONDS)
            seconds += _HEARTBEAT_SECONDS
