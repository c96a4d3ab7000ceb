"""What a worker is given and gives back, as JSON lines over a socket. No true answer is in it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict, dataclass
from typing import Any

from agent.gaia.attempt import Attempt

LONGEST_LINE = 64 * 2**20
"""Bytes; a question has at most 100,000 characters, an answer may be longer."""


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt: all that its worker knows of the question."""

    task_id: str
    epoch: int
    question: str
    file: str = ""
    """Path of the attachment; empty without one."""
    own_folder: str = ""
    """Folder of a library of its own, empty at first; empty for the shared library."""
    run_id: str = ""
    """A run that was begun and goes on."""

    @property
    def key(self) -> tuple[str, int]:
        """The question and the epoch."""
        return self.task_id, self.epoch

    def as_json(self) -> dict[str, Any]:
        """What is sent."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Result:
    """What a job came to."""

    attempt: Attempt
    """Not scored yet."""
    stops: str = ""
    """Why no other question can fare better: a wrong key, no sandbox. Empty when it concerns this one alone."""


async def receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None at the end of the stream."""
    try:
        line = await reader.readline()
    except (ConnectionError, ValueError):
        return None
    if not line.endswith(b"\n"):
        return None
    message: dict[str, Any] = json.loads(line)
    return message


def send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    """Sends a message; to nobody when the other end is gone."""
    if not writer.is_closing():
        writer.write(json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")
