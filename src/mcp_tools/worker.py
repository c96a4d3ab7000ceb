"""Worker processes: Python child processes that exchange lines of JSON with us and exit when we do."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import asyncio

MAX_MESSAGE_BYTES = 64 << 20
_PR_SET_PDEATHSIG = 1


class Worker:
    """A worker process. The caller removes its folder."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.folder = process, folder
        self._in, self._out = process.stdin, process.stdout

    @classmethod
    async def launch(cls, code: str, folder: Path, env: Mapping[str, str], stderr: int | IO[bytes]) -> Self:
        """Start a worker. Its code must begin with a call to `begin`.

        Raises:
            OSError: The process cannot be started.
        """
        from mcp_tools import child  # imported here, because workers import this module and must start quickly

        process = await child.start(
            child.python(code),
            env=env,
            cwd=folder,
            stdin=child.PIPE,
            stdout=child.PIPE,
            stderr=stderr,
            limit=MAX_MESSAGE_BYTES,
            private=True,
        )
        return cls(process, folder)

    async def say(self, message: Mapping[str, Any]) -> None:
        """Send a message, unless the worker has exited."""
        send(self._in, message)
        with contextlib.suppress(ConnectionError):
            await self._in.drain()

    async def hear(self) -> dict[str, Any] | None:
        """Return the next message, or None if the worker has exited or sent an invalid message."""
        return await receive(self._out)

    async def aclose(self) -> None:
        """Kill the worker and every process that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()


async def receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """Return the next message, or None at the end of the stream or after an invalid message."""
    try:
        line = await reader.readline()
        message = json.loads(line) if line.endswith(b"\n") else None
    except (ConnectionError, ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def send(writer: asyncio.StreamWriter, message: Mapping[str, Any]) -> None:
    """Send a message, unless the stream is closed."""
    if not writer.is_closing():
        writer.write(_line(message))


def begin() -> Callable[[Mapping[str, Any]], None]:
    """Set up this worker process, and return the function that sends messages. Call it first in the worker.

    Anything else that is printed to stdout goes to stderr.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def say(message: Mapping[str, Any]) -> None:
        out.write(_line(message))
        out.flush()

    return say


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, default=str, separators=(",", ":")).encode() + b"\n"
