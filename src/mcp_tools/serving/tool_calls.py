"""Handle `tools/list` and `tools/call`: list tools, check arguments, run calls, and write the audit log.

The text of an unexpected exception never reaches a client.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import CancelScope
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mcp_tools.atomic import private, private_folder
from mcp_tools.errors import AlitaError, ArgumentsError, IsolationError, LibraryError, NotPermittedError, PolicyError
from mcp_tools.hosts import NOT_ALLOWED, HostError
from mcp_tools.library.arguments import aside, read_arguments, validate_arguments
from mcp_tools.library.dependencies import needs_of
from mcp_tools.run import Carried, limits_of, outcome_class, run_tool
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.serving.catalogue import Catalogue, page_of
from mcp_tools.serving.client_call import (
    FRESH,
    META_SANDBOX,
    REMEDIES,
    BuiltinTool,
    ClientCall,
    ClientReply,
    Markers,
    ServerLimits,
    error_reply,
    heartbeat,
    outcome_meta,
    problem_reply,
    refusal_reply,
    sandbox_meta,
    value_reply,
)
from mcp_tools.serving.elicitation import absolute_paths, ask_to_read, can_ask, is_inside
from mcp_tools.serving.served_files import ServedOutputs, files_of_call
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from mcp.server.context import HandlerResult, ServerRequestContext
    from mcp_types import CallToolRequestParams, InputRequiredResult, PaginatedRequestParams

DISCONNECTED = "alita.gone"
"""Key in the ASGI scope of an HTTP request for an event that is set when the client disconnects."""


class ToolRunner:
    """Runs library tools in the sandbox, and returns the outcomes as MCP results."""

    def __init__(
        self,
        catalogue: Catalogue,
        sandbox: Sandbox,
        limits: ServerLimits,
        outputs: ServedOutputs | None = None,
        carried: Carried | None = None,
        folder: Path | None = None,
    ) -> None:
        self.sandbox = sandbox
        self.readable = (folder,) if folder is not None else ()
        self.outputs = outputs
        self.carried = carried
        self._catalogue = catalogue
        self._limits = limits

    async def run(
        self, tool: Tool, arguments: dict[str, Json], call: ClientCall, *, files: Sequence[str] = ()
    ) -> ClientReply | InputRequiredResult:
        """Run one call of a tool. Cancellation kills the tool's process.

        If the tool reads files, the user is first asked about the paths in its arguments and about `files`.

        Raises:
            ArgumentsError: The arguments do not match the input schema.
            IsolationError: The sandbox is broken.
        """
        try:
            needs = await needs_of(tool.capabilities.tools, self._catalogue.library.get_async, of=tool.name)
        except LibraryError as lacking:
            return error_reply("dependency", lacking.message, remedy=lacking.remedy)
        read: tuple[Path, ...] = ()
        arguments = await aside(arguments, read_arguments, tool.name, tool.input_schema, arguments)
        named = absolute_paths(arguments) if tool.capabilities.read else []
        if tool.capabilities.read:
            read = self.readable
            wanted = [one for one in dict.fromkeys([*files, *named]) if not any(map(partial(is_inside, one), read))]
        else:
            wanted = []
        if wanted:
            optional = [name for name in named if name not in files]
            who, seconds = f"the tool {tool.name}", self._limits.consent_seconds
            answer = await ask_to_read(call, wanted, who, seconds, optional=optional)
            if not isinstance(answer, tuple):
                return answer
            read = (*read, *answer)
        limits = self._limits.call
        try:
            async with (
                files_of_call(self.outputs, tool.capabilities.write) as (folder, made),
                heartbeat(call, tool.name, limits_of(tool, limits).wall_seconds),
            ):
                outcome = await run_tool(
                    tool,
                    arguments,
                    self.sandbox,
                    read=read,
                    write=folder,
                    limits=limits,
                    needs=needs,
                    carried=self.carried,
                )
        except (HostError, NotPermittedError, PolicyError) as error:
            return refusal_reply(error)
        problem, meta = outcome.problem, outcome_meta(outcome)
        ended = outcome_class(tool, outcome)
        library = self._catalogue.library
        count = partial(
            library.record_call, tool.name, outcome.ok, ended, version=tool.source_hash, arguments=arguments
        )
        await library.run_async(count)  # before the reply, so that every answered call is counted
        if outcome.called:
            await library.run_async(library.record_calls, outcome.called)
        if problem is not None:
            remedy = REMEDIES["denied"] if NOT_ALLOWED in problem.message else None
            return problem_reply(problem, who=tool.name, meta=meta, remedy=remedy)
        return value_reply({"result": outcome.value}, limit=self._limits.result_bytes, meta=meta, files=made)


_MAX_TEXT_CHARS = 300


class AuditLog:
    """An audit log with one JSON line per call, without arguments, in a file that only its owner can read.

    The file is rotated when it is full. A failed write never fails a call; it is reported once on stderr.

    Args:
        path: The log file.
        max_bytes: Size at which the file is renamed to `….1`, the previous `….1` to `….2`, and so on.
        kept: Number of old files to keep.
        redact: Function that removes API keys from a line before it is written.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = 5_000_000,
        kept: int = 4,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.path = path
        self._redact = redact
        self._is_failure_reported = False
        self._file = _PrivateFile(path, maxBytes=max_bytes, backupCount=kept, delay=True, encoding="utf-8")
        self._file.failed = self._fail

    def write(self, **entry: Json) -> None:
        """Append one line with the time and these fields. Empty strings are omitted."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        fields = {k: one_line(v, _MAX_TEXT_CHARS) if isinstance(v, str) else v for k, v in entry.items() if v != ""}
        line = self._redact(json.dumps({"time": moment, **fields}))
        self._file.handle(logging.makeLogRecord({"msg": line}))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _fail(self) -> None:
        if not self._is_failure_reported:
            self._is_failure_reported = True
            text = f"alita: the audit log {self.path} cannot be written: {sys.exc_info()[1]}"
            print(text, file=sys.stderr, flush=True)


class _PrivateFile(RotatingFileHandler):
    failed: Callable[[], None]

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that logging calls
        self.failed()

    def _open(self) -> TextIOWrapper:
        private_folder(Path(self.baseFilename).parent)
        return open(self.baseFilename, "a", encoding="utf-8", opener=private)


class _UnknownToolError(MCPError):
    """The server offers no tool with that name."""


class ToolCalls:
    """Handles `tools/list` and `tools/call` for library tools and built-in tools."""

    def __init__(
        self,
        catalogue: Catalogue,
        runner: ToolRunner,
        builtin: Sequence[BuiltinTool],
        limits: ServerLimits,
        audit: AuditLog | None,
        markers: Markers,
    ) -> None:
        self._catalogue = catalogue
        self._runner = runner
        self._builtin = {tool.name: tool for tool in builtin}
        self._limits = limits
        self._audit = audit
        self._markers = markers

    async def list(self, context: ServerRequestContext[Any, Any], params: PaginatedRequestParams) -> dict[str, Json]:
        """Return one page of the offered tools. If the library is unreadable, return the last known tools.

        Raises:
            LibraryError: The library has never been readable.
        """
        if called := _tool_for_sdk(context):
            return {**FRESH, "tools": self._definition(called)}
        try:
            await self._catalogue.renew()
        except LibraryError:
            if not self._catalogue.readings:
                raise
        asks, sandbox = can_ask(context), sandbox_meta(self._runner.sandbox.isolation)
        offered = [name for name in self._catalogue.names if self._catalogue.offers(name, asks)]
        names, following = page_of(offered, params.cursor, self._limits.page)
        listed = [] if params.cursor else [tool.definition for tool in self._builtin.values()]
        for name in names:
            definition = self._catalogue.definition(name)
            definition["_meta"][META_SANDBOX] = sandbox
            listed.append(definition)
        return {**FRESH, "tools": listed, **following}

    def _definition(self, name: str) -> Sequence[dict[str, Json]]:
        if builtin := self._builtin.get(name):
            return [builtin.definition]
        return [self._catalogue.definition(name)] if name in self._catalogue else []

    async def call(self, context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> HandlerResult:
        """Run one call and write it to the audit log.

        Raises:
            MCPError: There is no such tool.
        """
        started = time.monotonic()
        given = json.dumps(params.arguments or {}, sort_keys=True, separators=(",", ":")).encode()
        outcome, error_id, detail, sent = "cancelled", "", "", 0
        try:
            reply = await _while_connected(
                self._reply(ClientCall(params.arguments or {}, context, params, self._markers), len(given)), context
            )
            if not isinstance(reply, ClientReply):
                outcome = "asks"
                return reply
            outcome, sent = reply.outcome, reply.size
            return reply.result
        except MCPError as error:
            outcome, detail = "unknown_tool" if isinstance(error, _UnknownToolError) else "protocol", error.message
            raise
        except Exception as failure:  # noqa: BLE001 - the client gets only an id; the text goes to stderr
            error_id, detail = secrets.token_hex(4), str(failure) or repr(failure)
            outcome = "library" if isinstance(failure, LibraryError) else "internal"
            return _internal(failure, error_id, params.name).result
        finally:
            if self._audit is not None:
                client = context.session.client_params
                self._audit.write(
                    client=f"{client.client_info.name} {client.client_info.version}" if client else "unknown",
                    tool=params.name,
                    arguments=hashlib.sha256(given).hexdigest(),
                    argument_bytes=len(given),
                    outcome=outcome,
                    result_bytes=sent,
                    seconds=round(time.monotonic() - started, 6),
                    isolation=str(self._runner.sandbox.isolation.level),
                    error_id=error_id,
                    detail=detail,
                )

    async def _reply(self, call: ClientCall, size: int) -> ClientReply | InputRequiredResult:
        if size > (limit := self._limits.argument_bytes):
            message = f"the arguments have {size:,} bytes; the limit of a call is {limit:,}"
            return error_reply("argument_size", message, remedy="Split the input into smaller calls.")
        name = call.params.name
        try:
            if builtin := self._builtin.get(name):
                schema = builtin.definition["inputSchema"]
                given = call.arguments
                call.arguments = await aside(given, read_arguments, name, schema, given)
                await aside(given, validate_arguments, name, schema, call.arguments)
                return await builtin.call(call)
            tool = await self._catalogue.tool(name)
            if tool is None:
                raise _UnknownToolError(INVALID_PARAMS, f"unknown tool: {one_line(name, 128)}")
            return await self._runner.run(tool, call.arguments, call)
        except ArgumentsError as error:
            return error_reply("arguments", error.message, remedy=error.remedy)


def _tool_for_sdk(context: ServerRequestContext[Any, Any]) -> str:
    """Return the called tool if the SDK, not a client, requested the list; otherwise an empty string.

    During a `tools/call` of the 2026 protocol over HTTP, the SDK lists all tools to find the schema of the called one.
    Listing 300 tools takes longer than the call itself, so we list only the called tool.
    """
    headers: Mapping[str, str] = getattr(context.request, "headers", {})
    is_call = context.protocol_version in MODERN_PROTOCOL_VERSIONS and headers.get("mcp-method") == "tools/call"
    return headers.get("mcp-name", "") if is_call else ""


async def _while_connected(
    work: Coroutine[Any, Any, ClientReply | InputRequiredResult], context: ServerRequestContext[Any, Any]
) -> ClientReply | InputRequiredResult:
    """Await a call, and cancel it if its HTTP client disconnects, because the SDK would let it continue.

    The call is a task of its own: the SDK's cancellation interrupts every `await` until the task ends, and so would cut
    off the clean-up of the call.
    """
    disconnected: asyncio.Event | None = (getattr(context.request, "scope", None) or {}).get(DISCONNECTED)
    working, disconnect = asyncio.ensure_future(work), asyncio.ensure_future((disconnected or asyncio.Event()).wait())
    try:
        await asyncio.wait((working, disconnect), return_when=asyncio.FIRST_COMPLETED)
    finally:
        disconnect.cancel()
        if not working.done():
            working.cancel()
            with CancelScope(shield=True):
                await asyncio.wait((working,))
    return error_reply("cancelled", "the client disconnected") if working.cancelled() else working.result()


def _internal(failure: Exception, error_id: str, tool: str) -> ClientReply:
    """Print a failure to stderr under a new id, and return an error that contains only the id."""
    text = str(failure) if isinstance(failure, AlitaError) else "".join(traceback.format_exception(failure))
    print(f"alita: error {error_id} in a call of {one_line(tool, 128)}: {text}", file=sys.stderr, flush=True)
    if isinstance(failure, IsolationError):
        message = f"the sandbox is broken, and no code can run without it (error {error_id})"
        return error_reply("sandbox", message, remedy="The operator of this server should run: alita doctor")
    if isinstance(failure, LibraryError):
        message = f"the tool library or its approvals cannot be read now (error {error_id})"
        return error_reply(
            "library", message, remedy="Try again in a minute; the log of this server contains the reason."
        )
    message = f"the server failed (error {error_id})"
    return error_reply("internal", message, remedy="Try again; the log of this server contains the details.")
