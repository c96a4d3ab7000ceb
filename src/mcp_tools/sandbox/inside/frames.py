"""What goes through a child's descriptors: frames to and from the host, and output."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

JOB, RESULT = 3, 4
"""Descriptors of a child, besides 0, 1 and 2."""
FIRST_FREE = 5
MAGIC = b"alita1"
"""Begins each frame that a child sends; then its length in eight bytes, then JSON."""


def make_streams() -> None:
    """Standard output and errors as calls get them. Made once: each child inherits them."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        vars(sys).update({name: stream, f"__{name}__": stream})


def receive() -> dict[str, Any]:
    """The host's next message.

    Raises:
        EOFError: The host hung up.
    """
    message: dict[str, Any] = json.loads(_read(int.from_bytes(_read(8), "big")))
    return message


def _read(size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = os.read(JOB, size - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)


def frame(body: bytes) -> bytes:
    """A message to the host as it travels."""
    return MAGIC + len(body).to_bytes(8, "big") + body


def send(body: bytes) -> None:
    """Sends a message to the host, as far as it still listens."""
    left = memoryview(frame(body))
    try:
        while left:
            left = left[os.write(RESULT, left) :]
    except OSError:
        return
