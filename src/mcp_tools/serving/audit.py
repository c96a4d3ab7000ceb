"""The audit log: one JSON line for each call, readable by its owner only, without the texts of arguments."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from mcp_tools.atomic import private_folder
from mcp_tools.text import one_line
from mcp_tools.tool import Json


@dataclass(frozen=True, slots=True)
class Entry:
    """What is written down of one call."""

    client: str
    """How the client calls itself."""
    tool: str
    arguments: str
    """SHA-256 of the arguments' JSON."""
    argument_bytes: int
    outcome: str
    """`ok`, `cancelled`, or the kind of error."""
    result_bytes: int
    seconds: float
    isolation: str
    """The level that was in force."""
    error_id: str = ""
    """What the client was told instead of an exception."""
    detail: str = ""
    """The exception behind it, for the operator only."""


def digest_of(arguments: dict[str, Json] | None) -> tuple[str, int]:
    """The hash and the size of arguments as JSON."""
    text = json.dumps(arguments or {}, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(text).hexdigest(), len(text)


class AuditLog:
    """Appends to one file, and puts it aside when it is full. Failing to write never fails a call: it is told once.

    Args:
        path: The file.
        most_bytes: Beyond this size it is put aside as `….1`, the one before as `….2` …
        kept: How many are kept beside the present one.
        complain: Is told once that nothing can be written; stderr when not given.
        redact: Takes keys out of what is written.
    """

    def __init__(
        self,
        path: Path,
        *,
        most_bytes: int = 5_000_000,
        kept: int = 4,
        complain: Callable[[str], None] | None = None,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._redact = redact
        self.path = path
        self._most_bytes = most_bytes
        self._kept = kept
        self._complain = complain or _to_stderr
        self._told = False
        self._descriptor = -1
        self._size = 0
        self._threads = threading.Lock()

    def write(self, entry: Entry) -> None:
        """Appends one line."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        told = {key: value for key, value in asdict(entry).items() if value != ""}
        told |= {"client": one_line(entry.client, 100), "tool": one_line(entry.tool, 128)}
        line = self._redact(json.dumps({"time": moment, **told})).encode() + b"\n"
        with self._threads:
            try:
                self._append(line)
            except OSError as error:
                self.close()
                if not self._told:
                    self._told = True
                    self._complain(f"the audit log {self.path} cannot be written: {error.strerror or error}")

    def _append(self, line: bytes) -> None:
        if self._descriptor < 0 or self._size + len(line) > self._most_bytes:
            self._open(len(line))
        os.write(self._descriptor, line)
        self._size += len(line)

    def _open(self, coming: int) -> None:
        """Opens the file; a full one is put aside first. Another process may have done that already."""
        self.close()
        private_folder(self.path.parent)
        with contextlib.suppress(FileNotFoundError):
            if self.path.stat().st_size + coming > self._most_bytes:
                self._put_aside()
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    def _put_aside(self) -> None:
        for number in range(self._kept, 0, -1):
            older = self.path if number == 1 else self._aside(number - 1)
            with contextlib.suppress(FileNotFoundError):
                older.replace(self._aside(number))

    def _aside(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def close(self) -> None:
        """Closes the file. It is opened again when needed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _to_stderr(text: str) -> None:
    print(f"alita: {text}", file=sys.stderr, flush=True)
