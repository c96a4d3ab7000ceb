"""A server that runs as a child process: its environment, its process group, and size-limited messages.

The SDK's transport reads lines of any length into memory, does not report how the server exited, and leaves it running
if we are killed. A supervisor process between us and the server would make calls two to three times slower.
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
from mcp_tools.clients.config_files import ExpandedServer
from mcp_tools.clients.messages import LONGEST_MESSAGE, Inbox
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
"""Shell script that kills the server if we are killed.

The script reads the process group from a pipe, and then `over` once the server has exited. If the pipe closes before
that, we were killed. The script starts before the server, so the server is never unsupervised.
"""

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

_MAX_NOISE_LINES = 1_000
"""Limit of consecutive lines on stdout that are not messages."""
_MAX_NOISE_CHARS = 200
_ERROR_LINES = 3
_MAX_ERROR_LINE_BYTES = 500
_GRACE_SECONDS = 1.5
_TERM_SECONDS = 1.0


class StdioTransport:
    """Starts a server's process and provides its streams: `async with transport.open() as streams`."""

    def __init__(self, server: ExpandedServer, environment: Mapping[str, str], note: Callable[[str], None]) -> None:
        self._server = server
        self._note = note
        self.inbox = Inbox()
        self._environment = child.environment(of=environment) | server.environment
        self._process: Process | None = None
        self._last_errors: deque[str] = deque(maxlen=_ERROR_LINES)
        self._has_sent_message = False
        self._has_noted_noise = False
        self._noise = ""
        """The first line on stdout that was not a message."""
        self.ended = asyncio.Event()
        self.problem = ""

    @property
    def diagnosis(self) -> str:
        """The server's exit code and the last lines of its stderr."""
        code = self._process.returncode if self._process else None
        parts = [self.problem] if self.problem else []
        if code is not None and not self.problem:
            parts.append(f"exit code {code}" if code >= 0 else f"killed by signal {-code}")
        if self._last_errors:
            parts.append(f"stderr: {one_line(' | '.join(self._last_errors), 400)}")
        if self._noise and not self._has_sent_message:
            parts.append(f"it printed {self._noise!r} to stdout, which is reserved for MCP messages")
        return "; ".join(parts)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Streams]:
        """Start the process and yield its streams. On exit, stop it and every process that it started.

        Raises:
            ServerError: The process cannot be started.
        """
        async with self._supervised() as process:
            inbound, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            write, outbound = anyio.create_memory_object_stream[SessionMessage](0)
            workers = [
                asyncio.create_task(work)
                for work in (self._read(process, inbound), self._write(process, outbound), self._read_stderr(process))
            ]
            try:
                yield read, write
            finally:
                # Shielded, so that cancellation does not leave a process behind. Every wait has a time limit.
                with anyio.CancelScope(shield=True):
                    await _stop(process)
                    for worker in workers:
                        worker.cancel()
                    await asyncio.gather(*workers, return_exceptions=True)
                    for stream in (inbound, read, write, outbound):
                        stream.close()

    @contextlib.asynccontextmanager
    async def _supervised(self) -> AsyncIterator[Process]:
        """Yield the server's process, which is stopped even if we are killed."""
        try:
            guard = await child.start(["/bin/sh", "-c", _GUARD], env={"PATH": "/usr/bin:/bin"}, stdin=child.PIPE)
        except OSError as error:
            raise ServerError(
                f"the process that supervises it cannot be started: {error.strerror or error}", kind="start"
            ) from None
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
            raise ServerError(f"its working folder {server.folder} does not exist", kind="start")
        place = str(server.folder / server.command) if "/" in server.command else server.command
        program = shutil.which(place, path=self._environment.get("PATH"))
        if program is None:
            missing = f"the command {server.entry.command!r} was not found"
            raise ServerError(
                missing, kind="start", remedy="Install it, or give its full path in the server's definition."
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

    async def _read(self, process: Process, inbound: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        assert process.stdout is not None
        noisy = 0
        try:
            async for line in process.stdout:
                messages = self.inbox.received(line)
                noisy = 0 if messages else noisy + bool(line.strip())
                if noisy and not self._noise:
                    self._noise = one_line(line[:_MAX_NOISE_CHARS].decode("utf-8", "replace").strip(), 80)
                if noisy > _MAX_NOISE_LINES:
                    self.problem = (
                        f"it printed more than {_MAX_NOISE_LINES:,} lines to stdout that are not MCP messages"
                    )
                    break
                self._has_sent_message = self._has_sent_message or bool(messages)
                for message in messages:
                    await inbound.send(SessionMessage(message))
                if self._noise and self._has_sent_message and not self._has_noted_noise:
                    self._has_noted_noise = True
                    problem = "prints lines to stdout that are not MCP messages; they are ignored"
                    self._note(f"the server {self._server.entry.name} {problem}: {self._noise!r}")
        except ValueError:
            self.problem = f"it sent a message of more than {LONGEST_MESSAGE:,} bytes"
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 0.2)  # so that the failure can include the exit code
            inbound.close()
            self.ended.set()

    async def _write(self, process: Process, outbound: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, anyio.ClosedResourceError):
            async for message in outbound:
                self.inbox.sent(message.message)
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(f"{text}\n".encode("utf-8", "replace"))
                await process.stdin.drain()

    async def _read_stderr(self, process: Process) -> None:
        """Keep only the last lines of stderr, because a server may write any amount."""
        assert process.stderr is not None
        rest = b""
        while chunk := await process.stderr.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            rest = rest[-_MAX_ERROR_LINE_BYTES:]
            self._keep_lines(*lines)
        self._keep_lines(rest)

    def _keep_lines(self, *lines: bytes) -> None:
        texts = (line[:_MAX_ERROR_LINE_BYTES].decode("utf-8", "replace").strip() for line in lines)
        self._last_errors.extend(filter(None, texts))


async def _stop(process: Process) -> None:
    """Close stdin, wait, and kill the whole process group, even if only the server's children still run."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        if not await _wait_for_exit(process, _GRACE_SECONDS):
            _signal_group(process.pid, signal.SIGTERM)
            await _wait_for_exit(process, _TERM_SECONDS)
    finally:
        _signal_group(process.pid, signal.SIGKILL)
    await _wait_for_exit(process, _TERM_SECONDS)
    transport = getattr(process, "_transport", None)  # no public method closes pipes that another process holds open
    if transport is not None:
        with contextlib.suppress(PermissionError):
            transport.close()


async def _wait_for_exit(process: Process, seconds: float) -> bool:
    """Return True if the process exits in time. `process.wait` also waits for pipes that children hold open."""
    end = asyncio.get_running_loop().time() + seconds
    while process.returncode is None:
        if asyncio.get_running_loop().time() >= end:
            return False
        await asyncio.sleep(0.01)
    return True


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
