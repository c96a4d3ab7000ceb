"""Messages with descriptors over a local socket, without the `socket` module: its import would delay the start."""

from __future__ import annotations

import _socket
import struct

_LARGEST = 4096
_MOST_DESCRIPTORS = 8
_SIZE = struct.calcsize("i")


def pair() -> tuple[int, int]:
    """Two connected sockets that keep the bounds of messages."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    return ours.detach(), theirs.detach()


def send(line: int, message: bytes, descriptors: list[int] | None = None) -> None:
    """Sends a message, with descriptors if there are any.

    Raises:
        OSError: The other end is gone.
    """
    end = _socket.socket(fileno=line)
    try:
        if descriptors:
            packed = struct.pack(f"{len(descriptors)}i", *descriptors)
            end.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])
        else:
            end.send(message)
    finally:
        end.detach()


def receive(line: int) -> tuple[bytes, list[int]]:
    """The next message and the descriptors that came with it; empty when the other end is gone."""
    end = _socket.socket(fileno=line)
    try:
        room = _socket.CMSG_SPACE(_MOST_DESCRIPTORS * _SIZE)
        message, ancillary, _, _ = end.recvmsg(_LARGEST, room)
    finally:
        end.detach()
    descriptors: list[int] = []
    for level, kind, data in ancillary:
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
            descriptors += struct.unpack(f"{len(data) // _SIZE}i", data[: len(data) - len(data) % _SIZE])
    return message, descriptors
