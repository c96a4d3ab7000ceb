"""Messages between us and a server, prepared for the SDK.

The SDK drops a reply that it cannot read, so the caller waits until its timeout, and it rejects a whole list or result
if one part is invalid. Here, a malformed reply fails its request immediately, and lists and results are kept as the
server sent them.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import secrets
from collections.abc import Mapping
from typing import Any

import httpx2
import mcp_types as types
from mcp.client.extension import UnexpectedClaimedResult
from mcp.client.streamable_http import StreamableHTTPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, REQUEST_TIMEOUT, RequestId, methods
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import ValidationError

from mcp_tools.errors import ServerError
from mcp_tools.text import one_line
from mcp_tools.tool import Json

LONGEST_MESSAGE = 16 * 1024 * 1024
RAW = "alita/raw"
"""Key in the `_meta` of a list or result. The value is the number under which the original is stored."""
_CLOSED_HERE = "the connection was closed"
_ALREADY_KNOWN = frozenset({CONNECTION_CLOSED, REQUEST_TIMEOUT})
"""Error codes that the SDK itself uses. If a server sends one, it means something else."""


_FAILURE = f"alita/{secrets.token_hex(8)}"
"""Key in the `data` of an error that we created. Its value is the failure. No server can guess the key."""


def failed(request: RequestId, failure: ServerError) -> types.JSONRPCError:
    """Return an error reply for a request that failed on our side."""
    error = types.ErrorData(code=INTERNAL_ERROR, message=failure.message, data=_data_of(failure))
    return types.JSONRPCError(jsonrpc="2.0", id=request, error=error)


def _failure_in(error: types.ErrorData) -> ServerError | None:
    """Return the failure that `failed` stored in an error, if any."""
    data = error.data
    return ServerError(**data[_FAILURE]) if isinstance(data, dict) and _FAILURE in data else None


def _data_of(failure: ServerError) -> dict[str, Json]:
    return {_FAILURE: {"message": failure.message, "kind": failure.kind, "remedy": failure.remedy}}


def _server_error(error: types.ErrorData) -> ServerError:
    """Return the failure for an error that the server sent over a working connection."""
    return ServerError(f"it answered with an error: {one_line(error.message, 1000)} ({error.code})", kind="answer")


class Inbox:
    """Reads the messages of one connection, and tracks which requests are waiting for a reply."""

    def __init__(self) -> None:
        self._waiting: dict[RequestId, str] = {}
        self._kept: dict[int, dict[str, Json]] = {}
        self._numbers = itertools.count()

    def sent(self, message: types.JSONRPCMessage) -> None:
        """Record a message that we sent."""
        if isinstance(message, types.JSONRPCRequest):
            self._waiting[message.id] = message.method
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self.forget((message.params or {}).get("requestId", ""))

    def forget(self, request: RequestId) -> None:
        """Stop waiting for the reply to a request."""
        self._waiting.pop(request, None)

    def received(self, text: bytes | str, *, reply_to: RequestId | None = None) -> list[types.JSONRPCMessage]:
        """Return the messages in a text. A malformed reply becomes the failure of its request.

        Args:
            text: One message as JSON, or a list of messages.
            reply_to: Id of the request that the text replies to, if the transport knows it.
        """
        try:
            loaded = json.loads(text)
        except (ValueError, RecursionError) as error:
            request = _id_in(text) if reply_to is None else reply_to
            is_meant = reply_to is not None or _LIKE_A_MESSAGE.search(_bytes(text)[:1000])
            return self._broken(request, f"it is not JSON: {error}") if is_meant else []
        batch = loaded if isinstance(loaded, list) else [loaded]
        return [message for one in batch for message in self._read(one, reply_to)]

    def _read(self, loaded: Any, reply_to: RequestId | None) -> list[types.JSONRPCMessage]:
        is_object = isinstance(loaded, dict)
        if is_object and "method" not in loaded and (reply_to is not None or loaded.get("id") is None):
            loaded = {**loaded, "id": self._only_waiting() if reply_to is None else reply_to}
        request = loaded.get("id") if is_object else None
        whole = loaded.get("result") if is_object else None
        method = self._waiting.get(self._sent_id(request)) if isinstance(request, int | str) else None
        if isinstance(whole, dict) and method in _MINIMAL_RESULTS and whole.get("resultType") != "input_required":
            tools = {"tools": _header_tools(whole.get("tools"))} if method == "tools/list" else {}
            loaded = {**loaded, "result": {**_MINIMAL_RESULTS[method], **tools, "_meta": {RAW: self._keep(whole)}}}
        try:
            message = types.jsonrpc_message_adapter.validate_python(loaded, by_name=False)
        except ValidationError as error:
            is_meant = is_object and "method" not in loaded and {"result", "error", "jsonrpc"} & set(loaded)
            return self._broken(request, _first_misfit(error)) if is_meant or reply_to is not None else []
        if isinstance(message, types.JSONRPCError) and message.error.code in _ALREADY_KNOWN:
            message.error.data = _data_of(_server_error(message.error))
        if isinstance(message, types.JSONRPCError | types.JSONRPCResponse):
            self._finish(message.id)
        return [message]

    def _keep(self, result: dict[str, Json]) -> int:
        number = next(self._numbers)
        self._kept[number] = result
        return number

    def original(self, meta: Mapping[str, Any] | None) -> dict[str, Json]:
        """Return a result as the server sent it, given the `_meta` of the SDK's copy."""
        return self._kept.pop((meta or {})[RAW])

    def _broken(self, request: Any, problem: str) -> list[types.JSONRPCMessage]:
        request = request if isinstance(request, int | str) else self._only_waiting()
        if self._finish(request) is None:
            return []
        return [failed(request, ServerError(f"its reply cannot be read: {one_line(problem, 300)}", kind="protocol"))]

    def _finish(self, request: RequestId | None) -> str | None:
        """Stop waiting for the reply to a request, and return the request's method."""
        return None if request is None else self._waiting.pop(self._sent_id(request), None)

    def _sent_id(self, request: RequestId) -> RequestId:
        """Return the id as we sent it, because some servers reply with "1" to request 1."""
        is_text = request not in self._waiting and isinstance(request, str) and request.isdecimal()
        return int(request) if is_text else request

    def _only_waiting(self) -> RequestId | None:
        """Return the pending request if there is exactly one."""
        return next(iter(self._waiting)) if len(self._waiting) == 1 else None


_MINIMAL_RESULTS: dict[str | None, dict[str, Json]] = {
    "tools/list": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"},
    "tools/call": {"resultType": "complete", "content": []},
}
"""Minimal valid results, by method, that the SDK gets in place of the originals."""


def _header_tools(tools: Json) -> list[Json]:
    """Return the tools whose arguments the SDK must copy into HTTP headers (`x-mcp-header`)."""
    found: list[Json] = []
    for tool in tools if isinstance(tools, list) else ():
        schema = tool.get("inputSchema") if isinstance(tool, dict) else None
        if isinstance(schema, dict) and "x-mcp-header" in str(schema.get("properties")):
            brief = {"name": tool.get("name"), "inputSchema": schema}
            listed = _MINIMAL_RESULTS["tools/list"] | {"tools": [brief]}
            with contextlib.suppress(ValidationError):
                methods.validate_server_result("tools/list", LATEST_MODERN_VERSION, listed)
                found.append(brief)
    return found


_LIKE_A_MESSAGE = re.compile(rb'"jsonrpc"|^\s*\{\s*"(?:id|result|error)"')
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")')


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace")


def _id_in(text: bytes | str) -> RequestId | None:
    """Return the id in a malformed message, if it contains exactly one."""
    found = {match[1] for match in _ID.finditer(_bytes(text))}
    value = found.pop().decode(errors="replace") if len(found) == 1 else ""
    return (value[1:-1] if value.startswith('"') else int(value)) if value else None


def _first_misfit(error: ValidationError) -> str:
    """Return the first validation error and its location, preferring the message type that was probably meant."""
    first = min(error.errors(include_url=False), key=lambda one: "Response" not in str(one["loc"]))
    place = ".".join(str(part) for part in first["loc"] if not str(part).startswith("JSONRPC"))
    return f"{place}: {first['msg']}" if place else str(first["msg"])


_CONNECT_ERRORS = (httpx2.ConnectTimeout, httpx2.ConnectError)
_PROTOCOL_ERRORS = (StreamableHTTPError, UnexpectedClaimedResult, RuntimeError)
_TRANSPORT_ERRORS = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, httpx2.CookieConflict, OSError)


def failure_of(error: BaseException) -> ServerError:
    """Convert any exception of a connection to a `ServerError`."""
    if isinstance(error, BaseExceptionGroup):  # prefer the cause to tasks that were cancelled because of it
        leaves = [failure_of(inner) for inner in error.exceptions]
        return next((leaf for leaf in leaves if leaf.message != _CLOSED_HERE), leaves[0])
    match error:
        case ServerError():
            return error
        case MCPError():
            return _failure_of_protocol(error.error)
        case TimeoutError():
            return ServerError("it did not answer in time", kind="timeout")
        case asyncio.CancelledError():
            return ServerError(_CLOSED_HERE, kind="gone")
        case ValidationError():
            return ServerError(f"its answer does not follow MCP: {_first_misfit(error)}", kind="protocol")
        case SubscriptionLost() | ListenNotSupportedError():
            return ServerError("it closed its stream of change notifications", kind="gone")
    words = one_line(str(error) or type(error).__name__, 200)
    if isinstance(error, _PROTOCOL_ERRORS):
        return ServerError(f"its answer does not follow MCP: {words}", kind="protocol")
    if isinstance(error, _CONNECT_ERRORS):
        return ServerError("it cannot be reached: connecting to its address failed", kind="unreachable")
    if isinstance(error, _TRANSPORT_ERRORS):
        return ServerError(f"the connection failed: {getattr(error, 'strerror', None) or words}", kind="gone")
    return ServerError(f"the connection failed: {type(error).__name__}: {words}", kind="protocol")


def _failure_of_protocol(error: types.ErrorData) -> ServerError:
    if (failure := _failure_in(error)) is not None:
        return failure
    if error.code == REQUEST_TIMEOUT:
        return ServerError("it did not answer in time", kind="timeout")
    if error.code == CONNECTION_CLOSED:
        return ServerError("it closed the connection", kind="gone")
    return _server_error(error)
