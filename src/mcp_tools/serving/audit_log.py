"""The audit log: one JSON line for each call, readable by its owner only, without the texts of arguments."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from mcp_tools.atomic import private, private_folder
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_WIDTH = 300


class AuditLog:
    """Appends to one file, and moves it aside when it is full.

    A failed write never fails a call; it is reported once on stderr.

    Args:
        path: The file.
        most_bytes: Beyond this size it is put aside as `….1`, the one before as `….2` …
        kept: Number of old files to keep.
        redact: Takes keys out of what is written.
    """

    def __init__(
        self,
        path: Path,
        *,
        most_bytes: int = 5_000_000,
        kept: int = 4,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.path = path
        self._redact = redact
        self._told = False
        self._file = _PrivateFile(path, maxBytes=most_bytes, backupCount=kept, delay=True, encoding="utf-8")
        self._file.failed = self._fail

    def write(self, **entry: Json) -> None:
        """Append one line with the caller, the tool and the outcome. Empty texts are left out."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        told = {k: one_line(v, _WIDTH) if isinstance(v, str) else v for k, v in entry.items() if v != ""}
        line = self._redact(json.dumps({"time": moment, **told}))
        self._file.handle(logging.makeLogRecord({"msg": line}))

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _fail(self) -> None:
        if not self._told:
            self._told = True
            text = f"alita: the audit log {self.path} cannot be written: {sys.exc_info()[1]}"
            print(text, file=sys.stderr, flush=True)


class _PrivateFile(RotatingFileHandler):
    failed: Callable[[], None]

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - as logging calls it
        self.failed()

    def _open(self) -> TextIOWrapper:
        private_folder(Path(self.baseFilename).parent)
        return open(self.baseFilename, "a", encoding="utf-8", opener=private)
