"""What went wrong with a server, in one sentence: every error of its connection is mapped here."""

from __future__ import annotations

import asyncio

import httpx2
from mcp.client.extension import UnexpectedClaimedResult
from mcp.client.streamable_http import StreamableHTTPError
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from mcp_tools.errors import ServerError
from mcp_tools.text import one_line

CLOSED = -32000
"""The SDK's code for a connection that ended."""
TIMED_OUT = -32001


def failure_of(error: BaseException) -> ServerError:
    """The failure that an error of a connection stands for."""
    if isinstance(error, BaseExceptionGroup):
        return failure_of(_telling(error))
    if isinstance(error, ServerError):
        return error
    if isinstance(error, TimeoutError):
        return ServerError("it did not answer in time", kind="timeout")
    if isinstance(error, asyncio.CancelledError):
        return ServerError("the connection was closed", kind="gone")
    if isinstance(error, MCPError):
        return _protocol_failure(error)
    if isinstance(error, ValidationError):
        return ServerError("its answer is not what MCP says", kind="protocol")
    if isinstance(error, httpx2.ConnectTimeout | httpx2.ConnectError):
        return ServerError("it is not reached: no connection to its address", kind="unreachable")
    if isinstance(error, httpx2.HTTPError | httpx2.StreamError | httpx2.InvalidURL | httpx2.CookieConflict):
        return ServerError(f"the connection failed: {_words(error)}", kind="gone")
    if isinstance(error, StreamableHTTPError | UnexpectedClaimedResult):
        return ServerError(f"its answer is not what MCP says: {_words(error)}", kind="protocol")
    if isinstance(error, SubscriptionLost | ListenNotSupportedError):
        return ServerError("it ended the stream of its changes", kind="gone")
    if isinstance(error, OSError):
        return ServerError(f"the connection failed: {error.strerror or _words(error)}", kind="gone")
    return ServerError(f"the connection failed: {type(error).__name__}: {_words(error)}", kind="protocol")


def _protocol_failure(error: MCPError) -> ServerError:
    if error.code == CLOSED:
        return ServerError("it ended the connection", kind="gone")
    if error.code == TIMED_OUT:
        return ServerError("it did not answer in time", kind="timeout")
    return ServerError(f"it refused: {one_line(error.message, 300)} ({error.code})", kind="refused")


def _telling(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error of a group that tells most: one that is no mere consequence of the others' end."""
    leaves: list[BaseException] = []
    waiting: list[BaseException] = [group]
    while waiting:
        error = waiting.pop(0)
        if isinstance(error, BaseExceptionGroup):
            waiting += error.exceptions
        else:
            leaves.append(error)
    own = [error for error in leaves if not isinstance(error, asyncio.CancelledError)]
    return (own or leaves)[0]


def _words(error: BaseException) -> str:
    return one_line(str(error) or type(error).__name__, 200)
