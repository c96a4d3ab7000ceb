"""The pipes to a server that is a process of ours: the SDK's transport, with bounds on what a server may send.

Closing ends the server and what it started. Where we are killed, nothing is left to do that: a server's stdin ends,
and a well-behaved server then ends too.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import shutil
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

import anyio
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS, StdioServerParameters, stdio_client
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from mcp_tools import child
from mcp_tools.clients.config_files import Expanded
from mcp_tools.errors import ServerError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.client._transport import ReadStream, TransportStreams

Inbound = SessionMessage | Exception

LONGEST_MESSAGE = 16 * 1024 * 1024
_MOST_NOISE = 1_000
_ERROR_LINES = 3
_LONGEST_ERROR_LINE = 500
_ENCODING = "alita_bounded_lines"
_UTF_8 = codecs.lookup("utf-8")
_LAUNCH = 'echo $$ >&2; unset {}; exec "$@"'
"""Tells us first of all which process group to end, which the SDK keeps to itself; takes back the SDK's variables."""
_ADDED = {*DEFAULT_INHERITED_ENV_VARS, "PWD", "OLDPWD", "SHLVL"}
"""Variables that the SDK and the shell hand down besides."""


class _BoundedLines(codecs.getincrementaldecoder("utf-8")):  # type: ignore[misc]  # a class made at run time
    """UTF-8 in whole lines; one that is too long for a message is broken: the SDK would read on and on."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._waiting: list[str] = []
        self._length = 0

    def decode(self, data: bytes, final: bool = False) -> str:
        text: str = super().decode(data, final)
        self._waiting.append(text)
        self._length += len(text)
        if "\n" not in text and self._length <= LONGEST_MESSAGE:
            return ""
        whole = "".join(self._waiting)
        self._waiting, self._length = [], 0
        return whole if "\n" in text else f"{whole}\n"


_CODEC = codecs.CodecInfo(_UTF_8.encode, _UTF_8.decode, incrementaldecoder=_BoundedLines)
codecs.register({_ENCODING: _CODEC}.get)


class Pipes:
    """A server's process and the streams to it. Open it with `async with pipes.open() as streams`.

    `ended` is set when the process has ended, or sent what no server may.
    """

    def __init__(self, server: Expanded, environment: Mapping[str, str], ended: asyncio.Event) -> None:
        self._server = server
        self._ended = ended
        self._environment = child.environment(of=environment) | server.environment
        self._group = 0
        self._last_words: deque[str] = deque(maxlen=_ERROR_LINES)
        self._has_spoken = False
        self._noise: list[str] = []
        self._problem = ""

    @property
    def account(self) -> str:
        """What is known of how the process ended: what it last wrote to stderr, or should not have written."""
        parts = [self._problem] if self._problem else []
        if self._last_words:
            parts.append(f"stderr: {one_line(' | '.join(self._last_words), 400)}")
        if self._noise and not self._has_spoken:
            parts.append(f"it printed {one_line(self._noise[0], 80)!r} to stdout, which is for messages")
        return "; ".join(parts)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[TransportStreams]:
        """Starts the process; leaving ends it and all that it started.

        Raises:
            ServerError: It cannot be started.
        """
        parameters = self._parameters()
        ours, theirs = os.pipe()
        listening = asyncio.create_task(self._listen(ours))
        try:
            async with contextlib.AsyncExitStack() as stack:
                with os.fdopen(theirs, "w") as errors:
                    try:
                        inbound, outbound = await stack.enter_async_context(stdio_client(parameters, errors))
                    except OSError as error:
                        message = f"it cannot be started: {error.strerror or error}"
                        raise ServerError(message, kind="start") from None
                relay, read = anyio.create_memory_object_stream[Inbound](0)
                stack.enter_context(read)
                stack.enter_context(relay)
                stack.callback(asyncio.create_task(self._relay(inbound, relay, listening)).cancel)
                yield read, outbound
        finally:
            if self._group:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._group, signal.SIGKILL)  # what a server left behind that ended by itself
            listening.cancel()

    def _parameters(self) -> StdioServerParameters:
        server = self._server
        if not server.folder.is_dir():
            raise ServerError(f"its folder {server.folder} does not exist", kind="start")
        place = str(server.folder / server.command) if "/" in server.command else server.command
        program = shutil.which(place, path=self._environment.get("PATH"))
        if program is None:
            missing = f"there is no command {server.entry.command!r}"
            raise ServerError(missing, kind="start", remedy="Install it, or name its path.")
        return StdioServerParameters(
            command="/bin/sh",
            args=["-c", _LAUNCH.format(" ".join(_ADDED - self._environment.keys())), "sh", program, *server.arguments],
            env=self._environment,
            cwd=server.folder,
            encoding=_ENCODING,
            encoding_error_handler="replace",
        )

    async def _relay(
        self,
        inbound: ReadStream[Inbound],
        relay: MemoryObjectSendStream[Inbound],
        listening: asyncio.Task[None],
    ) -> None:
        """Hands messages on, until the server ends or sends what no server may."""
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            async for message in inbound:
                if isinstance(message, SessionMessage):
                    self._has_spoken = True
                    await relay.send(message)
                elif self._is_too_much(message):
                    break
        await asyncio.wait({listening}, timeout=0.2)  # its last words tell more than its silence
        relay.close()
        self._ended.set()

    def _is_too_much(self, error: Exception) -> bool:
        """Notes a line that is no message."""
        line = str(error.errors()[0]["input"]) if isinstance(error, ValidationError) else str(error)
        self._noise += [line[:200]] if line.strip() else []
        if len(line) >= LONGEST_MESSAGE:
            self._problem = f"it sent a message of more than {LONGEST_MESSAGE:,} bytes"
        elif len(self._noise) > _MOST_NOISE:
            self._problem = f"it printed more than {_MOST_NOISE:,} lines that are no messages"
        return bool(self._problem)

    async def _listen(self, pipe: int) -> None:
        """Takes the process group, then keeps the last lines of stderr, of which any amount may come."""
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", 0)
        )
        with contextlib.closing(transport):
            self._group = int(await reader.readline() or 0)
            while True:
                with contextlib.suppress(ValueError):  # of a line that is too long to be kept
                    if not (line := await reader.readline()):
                        return
                    text = line[:_LONGEST_ERROR_LINE].decode("utf-8", "replace").strip()
                    self._last_words.extend([text] if text else [])
