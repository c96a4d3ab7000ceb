"""The protocol over stdin and stdout: one JSON message on each line, nothing else on stdout.

The SDK's own transport waits for stdin in a thread that no signal can end. It reads lines of any length, does not
answer unreadable lines, and drops running calls when stdin ends. This one lives on the event loop.
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
"""Seconds for answering running calls after stdin has ended."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")')


class StdioTransport(
    UnreliableObjectReceiveStream[SessionMessage | Exception], UnreliableObjectSendStream[SessionMessage]
):
    """Both directions of one connection as the SDK wants them: read from it, send to it."""

    def __init__(self, reader: asyncio.StreamReader, sink: int, limit: int) -> None:
        self._reader = reader
        self._sink = sink
        self._limit = limit
        self._turn = asyncio.Lock()
        self._open: set[int | str] = set()
        self._answered = asyncio.Event()

    async def receive(self) -> SessionMessage | Exception:
        """The next message.

        Raises:
                anyio.EndOfStream: The client is gone.
        """
        while line := await self._line():
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                request = _id_in(line)
                code = PARSE_ERROR if request is None else INVALID_REQUEST
                await self._refuse(request, code, "the line is no JSON-RPC message")
                continue
            if isinstance(message, JSONRPCRequest) and message.method != "subscriptions/listen":
                self._open.add(message.id)
            elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                self._forget((message.params or {}).get("requestId"))  # it gets no answer
            return SessionMessage(message)
        with contextlib.suppress(TimeoutError):  # a script may close its end after its last line
            async with asyncio.timeout(_ANSWER_SECONDS):
                while self._open:
                    self._answered.clear()
                    await self._answered.wait()
        raise anyio.EndOfStream

    async def _line(self) -> bytes:
        """The next line that is not blank; empty after the last. A line that is too long is refused."""
        is_rest = False
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as error:
                return b"" if is_rest else error.partial.strip()
            except asyncio.LimitOverrunError as error:
                part = await self._reader.readexactly(error.consumed)
                if not is_rest:
                    await self._refuse(_id_in(part), INVALID_REQUEST, f"a message takes at most {self._limit:,} bytes")
                is_rest = True
                continue
            if line.strip() and not is_rest:
                return line
            is_rest = False

    async def send(self, item: SessionMessage, /) -> None:
        """Writes one message; waits while the client does not read.

        Raises:
                anyio.BrokenResourceError: The client is gone.
        """
        message = item.message
        async with self._turn:
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
            self._open.discard(request)
        self._answered.set()

    async def aclose(self) -> None:
        """Do nothing: the descriptors are `stdio`'s."""


def _id_in(line: bytes) -> int | str | None:
    """The id of a request that cannot be read, so that its sender does not wait for an answer."""
    found = _ID.search(line[:1000].partition(b'"params"')[0])
    if found is None:
        return None
    text = found[1].decode(errors="replace")
    return text[1:-1] if text.startswith('"') else int(text)


@contextlib.asynccontextmanager
async def stdio(limit: int) -> AsyncIterator[StdioTransport]:
    """Serves this process's stdin and stdout. Meanwhile stdin is empty, and what is printed goes to stderr."""
    source, sink = _taken(0, os.open(os.devnull, os.O_RDONLY)), _taken(1, os.dup(2))
    blocking = os.get_blocking(sink)
    if _is_pipe(sink):
        os.set_blocking(sink, False)  # a terminal is shared with stderr, and is not changed
    reader = asyncio.StreamReader(limit)
    reading = os.fdopen(source, "rb", buffering=0)
    if _is_pipe(source) or os.isatty(source):
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, reading)
        end = transport.close
    else:  # a file, or /dev/null, for which no event loop can wait
        reader.feed_data(reading.read())
        reader.feed_eof()
        end = reading.close
    try:
        yield StdioTransport(reader, sink, limit)
    finally:
        end()
        with contextlib.suppress(OSError):
            os.set_blocking(sink, blocking)
        os.dup2(sink, 1)
        os.close(sink)


def _taken(descriptor: int, stand_in: int) -> int:
    """Return a private copy of a descriptor, and replace the original."""
    own = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.dup2(stand_in, descriptor)
    os.close(stand_in)
    return own


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
