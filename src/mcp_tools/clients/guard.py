"""What ends a server that outlives us: a shell that waits for our end of a pipe to close.

A server whose stdin has ended should leave by itself. One that does not is ended with all its processes by `Pipes`, but
only while we live: after a SIGKILL nobody would.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Self

from mcp_tools import child
from mcp_tools.errors import ServerError

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
    """A process of its own for one server. It is started before the server, so that no moment is without it."""

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
