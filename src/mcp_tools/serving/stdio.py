"""The protocol over stdin and stdout: one JSON message on each line, nothing else on stdout.

The SDK's own transport takes a thread for each line in both directions, which costs more than a call in the sandbox,
and a thread that waits for stdin cannot be ended by a signal. This one lives on the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import stat
import threading
from collections import deque
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse
from mcp_types.jsonrpc import JSONRPCNotification, jsonrpc_message_adapter

_WAITING_LINES = 256
"""Beyond so many lines that were not taken yet, reading pauses."""
_ANSWER_SECONDS = 1.0
"""How long calls that are under way may still be answered after stdin has ended."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")')


class Lines(asyncio.Protocol):
    """Cuts what arrives into lines. One that is longer than the limit is skipped and told as too long."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._skipping = False
        self._lines: deque[bytes | _TooLong] = deque()
        self._arrived = asyncio.Event()
        self._ended = False
        self._transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remembers whom to slow down."""
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Takes what arrived apart."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._end_line(part)
        self._extend(rest)
        if len(self._lines) > _WAITING_LINES and self._transport:
            self._transport.pause_reading()
        if whole:
            self._arrived.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing follows."""
        self._ended = True
        self._arrived.set()

    def _extend(self, part: bytes) -> None:
        if self._skipping:
            return
        self._rest += part
        if len(self._rest) > self._limit:
            self._lines.append(_TooLong(bytes(self._rest[:1000])))
            self._rest.clear()
            self._skipping = True

    def _end_line(self, part: bytes) -> None:
        self._extend(part)
        if not self._skipping and self._rest.strip():
            self._lines.append(bytes(self._rest))
        self._rest.clear()
        self._skipping = False

    async def next(self) -> bytes | _TooLong | None:
        """The next line; None after the last."""
        while not self._lines:
            if self._ended:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        if len(self._lines) == _WAITING_LINES and self._transport and not self._ended:
            self._transport.resume_reading()
        return self._lines.popleft()


class _TooLong:
    """A line beyond the limit, of which only the beginning is known."""

    def __init__(self, beginning: bytes) -> None:
        self.beginning = beginning

    @property
    def id(self) -> int | str | None:
        """The request's id, if the line begins with it."""
        return _id_in(self.beginning)


def _id_in(beginning: bytes) -> int | str | None:
    """The id of a request that cannot be read, so that its sender does not wait for an answer."""
    found = _ID.search(beginning.partition(b'"params"')[0])
    if found is None:
        return None
    text = found[1].decode(errors="replace")
    return text[1:-1] if text.startswith('"') else int(text)


class Wire:
    """Both directions of one connection as the SDK wants them: read from it, send to it."""

    def __init__(self, lines: Lines, writer: _Writer, limit: int) -> None:
        self._lines = lines
        self._writer = writer
        self._limit = limit
        self._open: set[int | str] = set()
        """Requests without an answer."""
        self._answered = asyncio.Event()

    async def receive(self) -> SessionMessage | Exception:
        """The next message.

        Raises:
            anyio.EndOfStream: The client is gone.
        """
        while True:
            line = await self._lines.next()
            if line is None:
                await self._settle()
                raise anyio.EndOfStream
            if isinstance(line, _TooLong):
                text = f"a message takes at most {self._limit:,} bytes"
                await self._refuse(line.id, INVALID_REQUEST, text)
                continue
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                request = _id_in(line[:1000])
                code = PARSE_ERROR if request is None else INVALID_REQUEST
                await self._refuse(request, code, "the line is no JSON-RPC message")
                continue
            if isinstance(message, JSONRPCRequest) and message.method != "subscriptions/listen":
                self._open.add(message.id)
            elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                self._forget((message.params or {}).get("requestId"))  # it gets no answer
            return SessionMessage(message)

    async def send(self, item: SessionMessage, /) -> None:
        """Writes one message; waits while the client does not read."""
        message = item.message
        await self._writer.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._forget(message.id)

    async def _refuse(self, request: int | str | None, code: int, text: str) -> None:
        refusal = JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=text))
        await self.send(SessionMessage(refusal))

    def _forget(self, request: object) -> None:
        if isinstance(request, int | str):
            self._open.discard(request)
        self._answered.set()

    async def _settle(self) -> None:
        """Gives calls that are under way a moment to be answered: a script may close its end after its last line."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ANSWER_SECONDS):
                while self._open:
                    self._answered.clear()
                    await self._answered.wait()

    async def aclose(self) -> None:
        """Nothing to give back: the descriptors are `stdio`'s."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        """Nothing to open."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to close."""


class _Writer:
    """Writes to a descriptor without blocking the event loop."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = asyncio.Lock()

    async def write(self, data: bytes) -> None:
        """Writes all of it, one message at a time.

        Raises:
            anyio.BrokenResourceError: The client is gone.
        """
        async with self._turn:
            view = memoryview(data)
            try:
                while view:
                    try:
                        view = view[os.write(self._descriptor, view) :]
                    except BlockingIOError:
                        await self._writable()
            except OSError as error:
                raise anyio.BrokenResourceError from error

    async def _writable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_writer(self._descriptor, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            loop.remove_writer(self._descriptor)


@contextlib.asynccontextmanager
async def stdio(limit: int) -> AsyncIterator[Wire]:
    """Serves this process's stdin and stdout. Meanwhile stdin is empty, and what is printed goes to stderr.

    Args:
        limit: The bytes of one message.
    """
    source, sink = _taken(0, os.open(os.devnull, os.O_RDONLY)), _taken(1, os.dup(2))
    blocking = os.get_blocking(sink)
    if stat.S_ISFIFO(os.fstat(sink).st_mode) or stat.S_ISSOCK(os.fstat(sink).st_mode):
        os.set_blocking(sink, False)  # a terminal is shared with stderr, and stays as it is
    lines = Lines(limit)
    reading = os.fdopen(_readable(source), "rb", buffering=0)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: lines, reading)
    try:
        yield Wire(lines, _Writer(sink), limit)
    finally:
        transport.close()
        with contextlib.suppress(OSError):
            os.set_blocking(sink, blocking)
        os.dup2(sink, 1)
        os.close(sink)


def _taken(descriptor: int, stand_in: int) -> int:
    """A private copy of a descriptor, in whose place stands another one now."""
    own = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.dup2(stand_in, descriptor)
    os.close(stand_in)
    return own


def _readable(source: int) -> int:
    """A descriptor that the event loop can wait for: a file, and /dev/null, are copied into a pipe."""
    mode = os.fstat(source).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(source):
        return source
    reading, writing = os.pipe()

    def copy() -> None:
        with os.fdopen(source, "rb") as file, os.fdopen(writing, "wb") as pipe, contextlib.suppress(OSError):
            while chunk := file.read(65536):
                pipe.write(chunk)

    threading.Thread(target=copy, daemon=True).start()
    return reading
