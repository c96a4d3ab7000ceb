"""The audit log: one JSON line per call. Only its owner can read it, and it never holds arguments."""

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

_MAX_TEXT_CHARS = 300


class AuditLog:
    """Appends to one file, and rotates it when it is full.

    A failed write never fails a call; it is reported once on stderr.

    Args:
        path: The file.
        max_bytes: The size at which the file is renamed to `….1`, the previous `….1` to `….2`, and so on.
        kept: Number of old files to keep.
        redact: Removes API keys from a line before it is written.
    """

    def __init__(
        self,
        path: Path,
        *,
        max_bytes: int = 5_000_000,
        kept: int = 4,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.path = path
        self._redact = redact
        self._is_failure_reported = False
        self._file = _PrivateFile(path, maxBytes=max_bytes, backupCount=kept, delay=True, encoding="utf-8")
        self._file.failed = self._fail

    def write(self, **entry: Json) -> None:
        """Append one line with these fields and the time. Empty strings are left out."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        fields = {k: one_line(v, _MAX_TEXT_CHARS) if isinstance(v, str) else v for k, v in entry.items() if v != ""}
        line = self._redact(json.dumps({"time": moment, **fields}))
        self._file.handle(logging.makeLogRecord({"msg": line}))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _fail(self) -> None:
        if not self._is_failure_reported:
            self._is_failure_reported = True
            text = f"alita: the audit log {self.path} cannot be written: {sys.exc_info()[1]}"
            print(text, file=sys.stderr, flush=True)


class _PrivateFile(RotatingFileHandler):
    failed: Callable[[], None]

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name that logging calls
        self.failed()

    def _open(self) -> TextIOWrapper:
        private_folder(Path(self.baseFilename).parent)
        return open(self.baseFilename, "a", encoding="utf-8", opener=private)
