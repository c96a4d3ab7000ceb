"""The pipes to a server that is a process of ours: its own environment, its own process group, bounded messages.

The SDK's transport hands down more variables, reads lines of any length into memory, and lets a server's own children
live on; this one does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Self

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from mcp_tools import child
from mcp_tools.clients.config_files import Expanded
from mcp_tools.errors import ServerError
from mcp_tools.text import one_line

_SCRIPT = """
read -r group || exit 0
read -r over && exit 0
sleep 1
kill -s TERM -- "-$group"
sleep 1
kill -s KILL -- "-$group"
"""
"""The process group comes first, then a word when all is over; without that word, we died."""


class Guard:
    """What ends a server that outlives us: a shell that waits for our end of a pipe to close.

    `Pipes` ends a server that does not leave by itself, but only while we live: after a SIGKILL nobody would. It is
    started before the server, so that no moment is without it.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> Self:
        """Starts it, out of reach of signals to our terminal and our group.

        Raises:
            ServerError: There is no shell.
        """
        try:
            process = await child.start(["/bin/sh", "-c", _SCRIPT], env={"PATH": "/usr/bin:/bin"}, stdin=child.PIPE)
        except OSError as error:
            raise ServerError(f"it cannot be guarded: {error.strerror or error}", kind="start") from None
        return cls(process)

    def watch(self, group: int) -> None:
        """Ends this process group should we die."""
        self._say(f"{group}\n")

    async def dismiss(self) -> None:
        """All is over: nothing is left to end."""
        self._say("over\n")
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()

    def _say(self, text: str) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(text.encode())


Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

LONGEST_MESSAGE = 16 * 1024 * 1024
"""Bytes of one message. A longer one ends the connection."""
MOST_NOISE = 1_000
"""Lines on stdout that are no messages. More end the connection."""
_ERROR_LINES = 20
_LONGEST_ERROR_LINE = 500
_GRACE_SECONDS = 1.5
"""For a server to end by itself once its stdin is closed."""
_TERM_SECONDS = 1.0


class Pipes:
    """A server's process and the streams to it. Open it with `async with pipes.open() as streams`."""

    def __init__(self, server: Expanded, environment: Mapping[str, str]) -> None:
        self._server = server
        self._environment = child.environment(of=environment) | server.environment
        self._process: asyncio.subprocess.Process | None = None
        self._last_words: deque[str] = deque(maxlen=_ERROR_LINES)
        self._has_spoken = False
        self._noise = 0
        self._first_noise = ""
        self.ended = asyncio.Event()
        """Set when the server's stdout has come to its end."""
        self.problem = ""
        """Why the connection was ended, when it was ended from here."""

    @property
    def account(self) -> str:
        """What is known of how the process ended: exit code, and what it last wrote to stderr."""
        code = self._process.returncode if self._process else None
        parts = [self.problem] if self.problem else []
        if code is not None and not self.problem:
            parts.append(f"exit code {code}" if code >= 0 else f"killed by signal {-code}")
        if self._last_words:
            parts.append(f"stderr: {one_line(' | '.join(list(self._last_words)[-3:]), 400)}")
        if self._first_noise and not self._has_spoken:
            parts.append(f"it printed {one_line(self._first_noise, 80)!r} to stdout, which is for messages")
        return "; ".join(parts)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Streams]:
        """Starts the process; leaving ends it and all that it started.

        Raises:
            ServerError: It cannot be started.
        """
        guard = await Guard.start()
        try:
            process = self._process = await self._start()
        except BaseException:
            await guard.dismiss()
            raise
        guard.watch(process.pid)
        inbound, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outbound = anyio.create_memory_object_stream[SessionMessage](0)
        workers = [
            asyncio.create_task(work)
            for work in (self._read(process, inbound), self._write(process, outbound), self._listen(process))
        ]
        try:
            yield read, write
        finally:
            # A cancelled caller must not leave a process behind; each wait below is bounded.
            with anyio.CancelScope(shield=True):
                await self._stop(process)
                await guard.dismiss()
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
                for stream in (inbound, read, write, outbound):
                    stream.close()

    async def _start(self) -> asyncio.subprocess.Process:
        server = self._server
        if not server.folder.is_dir():
            raise ServerError(f"its folder {server.folder} does not exist", kind="start")
        place = str(server.folder / server.command) if "/" in server.command else server.command
        program = shutil.which(place, path=self._environment.get("PATH"))
        if program is None:
            raise ServerError(
                f"there is no command {server.entry.command!r}", kind="start", remedy="Install it, or name its path."
            )
        try:
            return await child.start(
                [program, *server.arguments],
                env=self._environment,
                cwd=server.folder,
                stdin=child.PIPE,
                stdout=child.PIPE,
                stderr=child.PIPE,
                limit=LONGEST_MESSAGE,
            )
        except OSError as error:
            raise ServerError(f"it cannot be started: {error.strerror or error}", kind="start") from None

    async def _read(
        self, process: asyncio.subprocess.Process, inbound: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        assert process.stdout is not None
        try:
            async for line in process.stdout:
                if (message := self._parsed(line)) is not None:
                    await inbound.send(message)
                if self._noise > MOST_NOISE:
                    self.problem = f"it printed more than {MOST_NOISE:,} lines that are no messages"
                    break
        except ValueError:
            self.problem = f"it sent a message of more than {LONGEST_MESSAGE:,} bytes"
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 0.2)  # its exit code tells more than its silence
            inbound.close()
            self.ended.set()

    def _parsed(self, line: bytes) -> SessionMessage | None:
        try:
            message = SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            if line.strip():
                self._noise += 1
                self._first_noise = self._first_noise or line[:200].decode("utf-8", "replace")
            return None
        self._has_spoken = True
        return message

    async def _write(
        self, process: asyncio.subprocess.Process, outbound: MemoryObjectReceiveStream[SessionMessage]
    ) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, anyio.ClosedResourceError):
            async for message in outbound:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode("utf-8", "replace"))
                await process.stdin.drain()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Keeps the last lines of stderr, of which any amount may come."""
        assert process.stderr is not None
        rest = b""
        while chunk := await process.stderr.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[-_LONGEST_ERROR_LINE:]
            for line in lines[-_ERROR_LINES:]:
                self._hear(line)
        self._hear(rest)

    def _hear(self, line: bytes) -> None:
        text = line[:_LONGEST_ERROR_LINE].decode("utf-8", "replace").strip()
        if text:
            self._last_words.append(text)

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        """Closes stdin, waits, then ends the whole process group, also when only children of the server are left."""
        if process.stdin is not None:
            process.stdin.close()
        try:
            if not await _ends(process, _GRACE_SECONDS):
                _signal_group(process.pid, signal.SIGTERM)
                await _ends(process, _TERM_SECONDS)
        finally:
            _signal_group(process.pid, signal.SIGKILL)
        await _ends(process, _TERM_SECONDS)
        transport = getattr(process, "_transport", None)  # nothing public closes pipes that a stranger still holds
        if transport is not None:
            with contextlib.suppress(PermissionError):
                transport.close()


async def _ends(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether the process ends in time. `wait` also waits for its pipes, which a child of it may hold."""
    end = asyncio.get_running_loop().time() + seconds
    while process.returncode is None:
        if asyncio.get_running_loop().time() >= end:
            return False
        await asyncio.sleep(0.01)
    return True


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
