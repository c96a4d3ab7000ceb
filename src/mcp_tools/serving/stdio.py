"""Serve MCP over stdin and stdout: one JSON message per line, and nothing else on stdout.

We do not use the SDK's transport: it reads stdin in a thread that no signal can interrupt, accepts lines of any length,
does not answer unreadable lines, and drops running calls when stdin closes. This one runs on the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import stat
from collections.abc import AsyncIterator

import anyio
from anyio.abc import UnreliableObjectReceiveStream, UnreliableObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp_types.jsonrpc import JSONRPCNotification, jsonrpc_message_adapter

_ANSWER_SECONDS = 1.0
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")')


class StdioStreams(
    UnreliableObjectReceiveStream[SessionMessage | Exception], UnreliableObjectSendStream[SessionMessage]
):
    """Both directions of one connection, usable as the stream pair that the SDK expects."""

    def __init__(self, reader: asyncio.StreamReader, sink: int, limit: int) -> None:
        self._reader = reader
        self._sink = sink
        self._limit = limit
        self._sending = asyncio.Lock()
        self._unanswered: set[int | str] = set()
        self._answered = asyncio.Event()

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message. Lines that are not JSON-RPC are answered with an error.

        Raises:
            anyio.EndOfStream: The client closed its end.
        """
        while line := await self._line():
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                request = _id_in(line)
                code = PARSE_ERROR if request is None else INVALID_REQUEST
                await self._refuse(request, code, "the line is not a JSON-RPC message")
                continue
            if isinstance(message, JSONRPCRequest) and message.method != "subscriptions/listen":
                self._unanswered.add(message.id)
            elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                self._forget((message.params or {}).get("requestId"))  # cancelled requests get no answer
            return SessionMessage(message)
        with contextlib.suppress(TimeoutError):  # a script may close stdin after its last line but still read stdout
            async with asyncio.timeout(_ANSWER_SECONDS):
                while self._unanswered:
                    self._answered.clear()
                    await self._answered.wait()
        raise anyio.EndOfStream

    async def _line(self) -> bytes:
        """Return the next non-blank line, or b"" at the end of input.

        Lines that exceed the limit are answered with an error.
        """
        is_rest = False
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as error:
                return b"" if is_rest else error.partial.strip()
            except asyncio.LimitOverrunError as error:
                part = await self._reader.readexactly(error.consumed)
                if not is_rest:
                    await self._refuse(_id_in(part), INVALID_REQUEST, f"a message is limited to {self._limit:,} bytes")
                is_rest = True
                continue
            if line.strip() and not is_rest:
                return line
            is_rest = False

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message. Blocks while the client is not reading.

        Raises:
            anyio.BrokenResourceError: The client is gone.
        """
        message = item.message
        async with self._sending:
            left = memoryview(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            try:
                while left:
                    try:
                        left = left[os.write(self._sink, left) :]
                    except BlockingIOError:
                        await self._writable()
            except OSError as error:
                raise anyio.BrokenResourceError from error
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._forget(message.id)

    async def _writable(self) -> None:
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(self._sink, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_writer(self._sink)

    async def _refuse(self, request: int | str | None, code: int, text: str) -> None:
        refusal = JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=text))
        await self.send(SessionMessage(refusal))

    def _forget(self, request: object) -> None:
        if isinstance(request, int | str):
            self._unanswered.discard(request)
        self._answered.set()

    async def aclose(self) -> None:
        """Do nothing, because `stdio` owns the descriptors."""


def _id_in(line: bytes) -> int | str | None:
    """Find the id of a malformed request, so that the error reaches the caller that is waiting for the reply."""
    found = _ID.search(line[:1000].partition(b'"params"')[0])
    if found is None:
        return None
    text = found[1].decode(errors="replace")
    return text[1:-1] if text.startswith('"') else int(text)


@contextlib.asynccontextmanager
async def stdio(limit: int) -> AsyncIterator[StdioStreams]:
    """Yield a transport over this process's stdin and stdout.

    Inside the block, file descriptor 0 is empty, and anything written to file descriptor 1 goes to stderr.
    """
    source, sink = _take_over(0, os.open(os.devnull, os.O_RDONLY)), _take_over(1, os.dup(2))
    blocking = os.get_blocking(sink)
    if _is_pipe(sink):
        os.set_blocking(sink, False)  # but not on a terminal, because stderr shares its flags
    reader = asyncio.StreamReader(limit)
    reading = os.fdopen(source, "rb", buffering=0)
    if _is_pipe(source) or os.isatty(source):
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, reading)
        end = transport.close
    else:  # event loops cannot wait for regular files or /dev/null
        reader.feed_data(reading.read())
        reader.feed_eof()
        end = reading.close
    try:
        yield StdioStreams(reader, sink, limit)
    finally:
        end()
        with contextlib.suppress(OSError):
            os.set_blocking(sink, blocking)
        os.dup2(sink, 1)
        os.close(sink)


def _take_over(descriptor: int, stand_in: int) -> int:
    """Return a private copy of a descriptor, and replace the original."""
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.dup2(stand_in, descriptor)
    os.close(stand_in)
    return copy


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
