"""The pipes to a server that is a process of ours: its own environment, its own process group, bounded messages.

The SDK's transport reads lines of any length into memory, keeps to itself how the server ended, and lets it live on
where we are killed. A process between the two that sees to that makes a call two to three times as expensive.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from asyncio.subprocess import Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from mcp_tools import child
from mcp_tools.clients.config_files import Expanded
from mcp_tools.clients.messages import LONGEST_MESSAGE, Mail
from mcp_tools.errors import ServerError
from mcp_tools.text import one_line

_GUARD = """
read -r group || exit 0
read -r over && exit 0
sleep 1
kill -s TERM -- "-$group"
sleep 1
kill -s KILL -- "-$group"
"""
"""Ends a server that outlives us: the process group comes first, then a word when all is over; without that word, we
were killed. It is started before the server, so that no moment is without it."""

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_MOST_NOISE = 1_000
"""Lines in a row that are no messages."""
_LONGEST_NOISE = 200
_ERROR_LINES = 3
_LONGEST_ERROR_LINE = 500
_GRACE_SECONDS = 1.5
_TERM_SECONDS = 1.0


class Pipes:
    """A server's process and the streams to it. Open it with `async with pipes.open() as streams`."""

    def __init__(self, server: Expanded, environment: Mapping[str, str], note: Callable[[str], None]) -> None:
        self._server = server
        self._note = note
        self.mail = Mail()
        self._environment = child.environment(of=environment) | server.environment
        self._process: Process | None = None
        self._last_words: deque[str] = deque(maxlen=_ERROR_LINES)
        self._has_spoken = False
        self._is_told = False
        self._noise = ""
        """The first line on stdout that was no message."""
        self.ended = asyncio.Event()
        self.problem = ""

    @property
    def account(self) -> str:
        """The exit code and the last output on stderr."""
        code = self._process.returncode if self._process else None
        parts = [self.problem] if self.problem else []
        if code is not None and not self.problem:
            parts.append(f"exit code {code}" if code >= 0 else f"killed by signal {-code}")
        if self._last_words:
            parts.append(f"stderr: {one_line(' | '.join(self._last_words), 400)}")
        if self._noise and not self._has_spoken:
            parts.append(f"it printed {self._noise!r} to stdout, which is for messages")
        return "; ".join(parts)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Streams]:
        """Starts the process; leaving ends it and all that it started.

        Raises:
            ServerError: It cannot be started.
        """
        async with self._guarded() as process:
            inbound, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            write, outbound = anyio.create_memory_object_stream[SessionMessage](0)
            workers = [
                asyncio.create_task(work)
                for work in (self._read(process, inbound), self._write(process, outbound), self._listen(process))
            ]
            try:
                yield read, write
            finally:
                # A cancelled caller must not leave a process behind; each wait is bounded.
                with anyio.CancelScope(shield=True):
                    await _stop(process)
                    for worker in workers:
                        worker.cancel()
                    await asyncio.gather(*workers, return_exceptions=True)
                    for stream in (inbound, read, write, outbound):
                        stream.close()

    @contextlib.asynccontextmanager
    async def _guarded(self) -> AsyncIterator[Process]:
        """The server's process, which ends when we do, however that is."""
        try:
            guard = await child.start(["/bin/sh", "-c", _GUARD], env={"PATH": "/usr/bin:/bin"}, stdin=child.PIPE)
        except OSError as error:
            raise ServerError(f"it cannot be supervised: {error.strerror or error}", kind="start") from None
        assert guard.stdin is not None
        try:
            process = self._process = await self._start()
            guard.stdin.write(f"{process.pid}\n".encode())
            yield process
        finally:
            with anyio.CancelScope(shield=True):
                with contextlib.suppress(OSError):
                    guard.stdin.write(b"over\n" if self._process else b"")
                guard.stdin.close()
                await guard.wait()

    async def _start(self) -> Process:
        server = self._server
        if not server.folder.is_dir():
            raise ServerError(f"its folder {server.folder} does not exist", kind="start")
        place = str(server.folder / server.command) if "/" in server.command else server.command
        program = shutil.which(place, path=self._environment.get("PATH"))
        if program is None:
            missing = f"there is no command {server.entry.command!r}"
            raise ServerError(missing, kind="start", remedy="Install it, or name its path.")
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

    async def _read(self, process: Process, inbound: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        assert process.stdout is not None
        noisy = 0
        try:
            async for line in process.stdout:
                messages = self.mail.received(line)
                noisy = 0 if messages else noisy + bool(line.strip())
                if noisy and not self._noise:
                    self._noise = one_line(line[:_LONGEST_NOISE].decode("utf-8", "replace").strip(), 80)
                if noisy > _MOST_NOISE:
                    self.problem = f"it printed more than {_MOST_NOISE:,} lines that are no messages"
                    break
                self._has_spoken = self._has_spoken or bool(messages)
                for message in messages:
                    await inbound.send(SessionMessage(message))
                if self._noise and self._has_spoken and not self._is_told:
                    self._is_told = True
                    told = "prints to stdout what are no messages; these lines are ignored"
                    self._note(f"the server {self._server.entry.name} {told}: {self._noise!r}")
        except ValueError:
            self.problem = f"it sent a message of more than {LONGEST_MESSAGE:,} bytes"
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 0.2)  # its exit code says more than its silence
            inbound.close()
            self.ended.set()

    async def _write(self, process: Process, outbound: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, anyio.ClosedResourceError):
            async for message in outbound:
                self.mail.sent(message.message)
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode("utf-8", "replace"))
                await process.stdin.drain()

    async def _listen(self, process: Process) -> None:
        """Keeps the last lines of stderr, of which any amount may come."""
        assert process.stderr is not None
        rest = b""
        while chunk := await process.stderr.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[-_LONGEST_ERROR_LINE:]
            self._hear(*lines)
        self._hear(rest)

    def _hear(self, *lines: bytes) -> None:
        texts = (line[:_LONGEST_ERROR_LINE].decode("utf-8", "replace").strip() for line in lines)
        self._last_words.extend(filter(None, texts))


async def _stop(process: Process) -> None:
    """Closes stdin, waits, then ends the whole process group, also when only children of the server are left."""
    assert process.stdin is not None
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


async def _ends(process: Process, seconds: float) -> bool:
    """Return True if the process ends in time. `wait` also waits for its pipes, which its children may hold."""
    end = asyncio.get_running_loop().time() + seconds
    while process.returncode is None:
        if asyncio.get_running_loop().time() >= end:
            return False
        await asyncio.sleep(0.01)
    return True


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
