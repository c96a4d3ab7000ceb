"""The pipes between the host and a child. Reads and writes never block the event loop."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import termios
from collections.abc import Callable
from typing import Any

from mcp_tools.sandbox.inside.frames import MAGIC

_HEADER = len(MAGIC) + 8
_CHUNK = 1 << 18


class FrameError(Exception):
    """The bytes from a child are not a valid message and must have been forged by code inside."""

    def __init__(
        self, message: str = "the code wrote into the sandbox's own channel: return and print values instead"
    ) -> None:
        super().__init__(message)


class Inlet:
    """A pipe from a child, read between `start` and `stop`. `changed` is called after each chunk and at end of file."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.ended = False
        self._changed = changed
        self._ours, self.theirs = os.pipe()
        os.set_blocking(self._ours, False)
        self._reading = False

    def _got(self, chunk: bytes) -> None:
        raise NotImplementedError

    def start(self) -> None:
        """Start reading."""
        if self._ours >= 0:
            self._reading = True
            asyncio.get_running_loop().add_reader(self._ours, self._read)

    def stop(self) -> None:
        """Stop reading."""
        if self._reading:
            self._reading = False
            asyncio.get_running_loop().remove_reader(self._ours)

    def rest(self) -> None:
        """Read whatever is in the pipe now, without waiting for more."""
        left = int.from_bytes(fcntl.ioctl(self._ours, termios.FIONREAD, bytes(4)), "little") if self._reading else 0
        while left > 0 and self._reading:
            left -= self._read(left)

    def close(self) -> None:
        """Close our end."""
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


class CapturedOutput(Inlet):
    """Captured output. Only its beginning and its end are kept."""

    _half = _left_out = 0
    _head = _tail = bytearray()

    def capture(self, limit: int) -> None:
        """Start reading, and keep at most `limit` bytes."""
        self._half, self._left_out = limit // 2, 0
        self._head, self._tail = bytearray(), bytearray()
        self.start()

    @property
    def cut(self) -> bool:
        """True if some output was left out."""
        return self._left_out > 0

    @property
    def text(self) -> str:
        """The output that was kept. A line in it says how much was left out."""
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
    """Messages from a child: `MAGIC`, the length in eight bytes, then JSON. `Pipes` documents the arguments."""

    def __init__(self, take: Callable[[bytes], None], broken: Callable[[str], None], largest: int) -> None:
        super().__init__()
        self.data = bytearray()
        self._take = take
        self._broken = broken
        self._largest = largest

    def _got(self, chunk: bytes) -> None:
        self.data += chunk
        try:
            while (body := self._next()) is not None:
                self._take(body)
        except FrameError as error:
            self.stop()
            self._broken(str(error))

    def _next(self) -> bytes | None:
        data = self.data
        if not MAGIC.startswith(data[: len(MAGIC)]):
            raise FrameError
        if len(data) < _HEADER:
            return None
        end = _HEADER + int.from_bytes(data[len(MAGIC) : _HEADER], "big")
        if end > self._largest:
            raise FrameError(f"the sandbox sent a message of more than {self._largest:,} bytes")
        if len(data) < end:
            return None
        body = bytes(data[_HEADER:end])
        del data[:end]
        return body


class Messages:
    """Messages to a child: the length in eight bytes, then JSON."""

    def __init__(self) -> None:
        self.theirs, self._ours = os.pipe()
        os.set_blocking(self._ours, False)
        self._waiting = bytearray()
        self._full = False  # True while the pipe has no room

    @property
    def unsent(self) -> int:
        """Number of bytes that are waiting for room in the pipe."""
        return len(self._waiting)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message as soon as the pipe has room."""
        self.put(json.dumps(message).encode())

    def put(self, data: bytes) -> None:
        """Send encoded JSON as soon as the pipe has room."""
        if self._ours >= 0:
            self._waiting += len(data).to_bytes(8, "big") + data
            if not self._full:
                self._write()

    def close(self) -> None:
        """Close our end."""
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
            self._waiting.clear()  # the child has closed its end; its exit status explains why
        return self._set_full(full=False)

    def _set_full(self, *, full: bool) -> None:
        loop = asyncio.get_running_loop()
        if full and not self._full:
            loop.add_writer(self._ours, self._write)
        elif self._full and not full:
            loop.remove_writer(self._ours)
        self._full = full


class Pipes:
    """The four pipes of a child: messages to the child, messages from the child, stdout and stderr.

    Args:
        take: Called with the JSON bytes of each message.
        broken: Called with the reason if the child sends bytes that are not a frame.
        largest: Size limit of one frame, in bytes.
        changed: Called after each chunk of output, and at end of file.
    """

    def __init__(
        self,
        take: Callable[[bytes], None],
        broken: Callable[[str], None],
        largest: int,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.messages = Messages()
        self.frames = Frames(take, broken, largest)
        self.output, self.errors = CapturedOutput(changed), CapturedOutput(changed)
        self._inlets: tuple[Inlet, ...] = (self.frames, self.output, self.errors)

    @property
    def theirs(self) -> list[int]:
        """The child's ends of the pipes, in the order that `child.live` expects."""
        return [self.messages.theirs, *(inlet.theirs for inlet in self._inlets)]

    @property
    def cut(self) -> bool:
        """True if some output was left out."""
        return self.output.cut or self.errors.cut

    def start(self, output_bytes: int) -> None:
        """Start reading, and keep at most `output_bytes` of stdout and of stderr."""
        self.frames.start()
        for output in (self.output, self.errors):
            output.capture(output_bytes)

    def rest(self) -> None:
        """Read whatever is in the pipes now."""
        for inlet in self._inlets:
            inlet.rest()

    def stop(self) -> None:
        """Stop reading."""
        for inlet in self._inlets:
            inlet.stop()

    def close(self) -> None:
        """Close our ends."""
        self.messages.close()
        for inlet in self._inlets:
            inlet.close()
