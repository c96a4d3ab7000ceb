"""Worker processes: Python children of ours that end when we end, and the messages to and from them, lines of JSON."""

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

LONGEST_LINE = 64 << 20
"""Bytes of a message."""
_PR_SET_PDEATHSIG = 1


class Worker:
    """Handle of a worker process. The caller removes its folder."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.folder = process, folder
        self._in, self._out = process.stdin, process.stdout

    @classmethod
    async def launch(cls, code: str, folder: Path, env: Mapping[str, str], stderr: int | IO[bytes]) -> Self:
        """Starts one, which runs code that calls `begin` first.

        Raises:
            OSError: It does not start.
        """
        from mcp_tools import child  # not for workers themselves, which start sooner without it

        process = await child.start(
            child.python(code),
            env=env,
            cwd=folder,
            stdin=child.PIPE,
            stdout=child.PIPE,
            stderr=stderr,
            limit=LONGEST_LINE,
            private=True,
        )
        return cls(process, folder)

    async def say(self, message: Mapping[str, Any]) -> None:
        """Send a message; do nothing if it has ended."""
        send(self._in, message)
        with contextlib.suppress(ConnectionError):
            await self._in.drain()

    async def hear(self) -> dict[str, Any] | None:
        """The next message; None if it has ended, or sends something else."""
        return await receive(self._out)

    async def aclose(self) -> None:
        """Ends it, with all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()


async def receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None at the end of the stream, or for an invalid message."""
    try:
        line = await reader.readline()
        message = json.loads(line) if line.endswith(b"\n") else None
    except (ConnectionError, ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def send(writer: asyncio.StreamWriter, message: Mapping[str, Any]) -> None:
    """Sends a message; to nobody where the other end is gone."""
    if not writer.is_closing():
        writer.write(_line(message))


def begin() -> Callable[[Mapping[str, Any]], None]:
    """Called first in a worker: gives what sends a message. Output of libraries goes to stderr."""
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
