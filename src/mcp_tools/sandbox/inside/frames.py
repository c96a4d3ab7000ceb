"""A child's descriptors: messages from and to the host, and stdout and stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

JOB, RESULT = 3, 4
"""Descriptors for messages from and to the host. 0, 1 and 2 are the standard streams."""
FIRST_FREE = 5
MAGIC = b"alita1"
"""First bytes of each frame from a child, followed by the length in eight bytes and the JSON."""


def make_streams() -> None:
    """Create `sys.stdout` and `sys.stderr` for calls. This is done only once, because children inherit them."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        stream = open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
        vars(sys).update({name: stream, f"__{name}__": stream})


def receive() -> dict[str, Any]:
    """Read the host's next message.

    Raises:
        EOFError: The host has closed the pipe.
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
    """Return a frame that contains this JSON."""
    return MAGIC + len(body).to_bytes(8, "big") + body


def send(body: bytes) -> None:
    """Send a message to the host. Do nothing if the host has closed the pipe."""
    left = memoryview(frame(body))
    try:
        while left:
            left = left[os.write(RESULT, left) :]
    except OSError:
        return
