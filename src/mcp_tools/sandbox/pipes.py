"""The pipes between the host and a child, none of which can block the event loop; and the clock of a block."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import termios
import time
from collections.abc import Callable
from typing import Any

from mcp_tools.sandbox.inside.child import MAGIC

LARGEST_FRAME = 4_000_000
_HEADER = len(MAGIC) + 8
_CHUNK = 1 << 18


class FrameError(Exception):
    """What came is no message of the session's own code."""


class Inlet:
    """A pipe from a child.

    Args:
        changed: Called after each piece, and at the end.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.ended = False
        """Whether the child's end is closed."""
        self._changed = changed
        self._ours, self.theirs = os.pipe()
        os.set_blocking(self._ours, False)
        self._reading = False

    def _got(self, chunk: bytes) -> None:
        """Takes a piece of what came."""
        raise NotImplementedError

    def start(self) -> None:
        """Begins to read."""
        if self._ours >= 0:
            self._reading = True
            asyncio.get_running_loop().add_reader(self._ours, self._read)

    def stop(self) -> None:
        """Stops reading."""
        if self._reading:
            self._reading = False
            asyncio.get_running_loop().remove_reader(self._ours)

    def rest(self) -> None:
        """Reads what is in the pipe at this moment, though more may be coming."""
        left = int.from_bytes(fcntl.ioctl(self._ours, termios.FIONREAD, bytes(4)), "little") if self._reading else 0
        while left > 0 and self._reading:
            left -= self._read(left)

    def close(self) -> None:
        """Closes our end."""
        self.stop()
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    def _read(self, most: int = _CHUNK) -> int:
        try:
            chunk = os.read(self._ours, min(most, _CHUNK))
        except BlockingIOError:
            return most
        if chunk:
            self._got(chunk)
        else:
            self.ended = True
            self.stop()
        self._changed()
        return len(chunk)


class Output(Inlet):
    """Printed output, of which the beginning and the end are kept."""

    _half = _left_out = 0
    _head = _tail = bytearray()

    def capture(self, limit: int) -> None:
        """Begins to read what is printed from now on, of which so many bytes are kept."""
        self._half, self._left_out = limit // 2, 0
        self._head, self._tail = bytearray(), bytearray()
        self.start()

    @property
    def cut(self) -> bool:
        """Whether there was more than is kept."""
        return self._left_out > 0

    @property
    def text(self) -> str:
        """What is kept, with a mark where something was left out."""
        if not self.cut:
            return (self._head + self._tail).decode(errors="replace")
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        return f"{head}\n… {self._left_out:,} bytes left out …\n{tail}"

    def _got(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if (over := len(self._tail) - self._half) > 0:
            del self._tail[:over]
            self._left_out += over


class Frames(Inlet):
    """Messages from inside: `MAGIC`, eight bytes of length, JSON.

    Args:
        take: Gets the JSON of each.
        broken: Called with the reason when something else came.
    """

    def __init__(self, take: Callable[[bytes], None], broken: Callable[[str], None]) -> None:
        super().__init__()
        self._data = bytearray()
        self._take = take
        self._broken = broken

    def _got(self, chunk: bytes) -> None:
        self._data += chunk
        try:
            while (body := self._next()) is not None:
                self._take(body)
        except FrameError as error:
            self.stop()
            self._broken(str(error))

    def _next(self) -> bytes | None:
        data = self._data
        if not MAGIC.startswith(data[: len(MAGIC)]):
            raise FrameError("the code wrote into the sandbox's own channel: return and print values instead")
        if len(data) < _HEADER:
            return None
        end = _HEADER + int.from_bytes(data[len(MAGIC) : _HEADER], "big")
        if end > LARGEST_FRAME:
            raise FrameError(f"a message of more than {LARGEST_FRAME:,} bytes came out of the session")
        if len(data) < end:
            return None
        body = bytes(data[_HEADER:end])
        del data[:end]
        return body


class Messages:
    """The pipe to the inside: eight bytes of length, JSON."""

    def __init__(self) -> None:
        self.theirs, self._ours = os.pipe()
        os.set_blocking(self._ours, False)
        self._waiting = bytearray()
        self._full = False  # until there is room again

    def send(self, message: dict[str, Any], *, most: int = 1 << 62) -> bool:
        """Sends a message as soon as there is room; False, and nothing sent, if it takes more bytes than `most`.

        Raises:
            TypeError: It is not JSON.
            ValueError: The same.
        """
        data = json.dumps(message).encode()
        if len(data) > most:
            return False
        if self._ours >= 0:
            self._waiting += len(data).to_bytes(8, "big") + data
            if not self._full:
                self._write()
        return True

    def close(self) -> None:
        """Closes our end."""
        if self._ours >= 0:
            self._set_full(full=False)
            os.close(self._ours)
            self._ours = -1

    def _write(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self._ours, self._waiting[:_CHUNK])]
        except BlockingIOError:
            return self._set_full(full=True)
        except OSError:
            self._waiting.clear()  # nobody reads any more: the end of the process tells the rest
        return self._set_full(full=False)

    def _set_full(self, *, full: bool) -> None:
        loop = asyncio.get_running_loop()
        if full and not self._full:
            loop.add_writer(self._ours, self._write)
        elif self._full and not full:
            loop.remove_writer(self._ours)
        self._full = full


class Clock:
    """The time of a block, which stands still while the host works for it.

    Args:
        seconds: How long it may run.
        over: Called when it has.
    """

    def __init__(self, seconds: float, over: Callable[[], None]) -> None:
        self._seconds = seconds
        self._over = over
        self._spent = 0.0
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def spent(self) -> float:
        """How long it has run."""
        return self._spent + (0.0 if self._since is None else time.monotonic() - self._since)

    def go(self) -> None:
        """Goes on."""
        if self._since is None:
            self._since = time.monotonic()
            self._timer = asyncio.get_running_loop().call_later(max(0.0, self._seconds - self._spent), self._over)

    def stand(self) -> None:
        """Stands still."""
        self._spent, self._since = self.spent, None
        if self._timer is not None:
            self._timer.cancel()
