"""What was typed before: one file for all sessions, readable by its owner alone, without keys."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from agent.errors import AlitaError, StorageError
from agent.store.redact import Redactor
from mcp_tools.atomic import private_folder, write_whole

FILE = "history"
MOST = 2_000
"""Entries that are kept; the file is cut to them when it holds half as many again."""
_ENTRY, _MORE = "+", "|"
"""What the first and the further lines of an entry begin with; other lines are skipped."""


class History:
    """Entries of one line or several, oldest first.

    Args:
        folder: Where the file is.
        redactor: Takes keys out of what is written.
    """

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        self._path = folder / FILE
        self._redactor = redactor
        self._problem = ""
        self._told = False

    def load(self) -> list[str]:
        """The entries, oldest first; none when there is no file. A damaged line is no entry."""
        try:
            text = self._path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        entries = _entries(text.split("\n"))
        if len(entries) > MOST + MOST // 2:
            entries = entries[-MOST:]
            with contextlib.suppress(OSError):
                write_whole(self._path, b"".join(map(_encoded, entries)))
        return entries

    def tell(self, listen: Callable[[AlitaError], None]) -> None:
        """Tells once that what is typed cannot be kept."""
        if self._problem and not self._told:
            self._told = True
            listen(StorageError(self._problem, remedy="What you type is not kept for the next session."))

    def add(self, text: str) -> None:
        """Appends an entry. One that begins with a blank is not kept, nor is one without content."""
        if not text.strip() or text.startswith((" ", "\t")):
            return
        try:
            private_folder(self._path.parent)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.fchmod(descriptor, 0o600)
                os.write(descriptor, _encoded(self._redactor.text(text)))
            finally:
                os.close(descriptor)
        except OSError as error:
            self._problem = self._problem or f"{self._path} cannot be written: {error.strerror}."


def _encoded(text: str) -> bytes:
    first, *more = text.replace("\r", "\n").split("\n")
    lines = [_ENTRY + first, *(_MORE + line for line in more)]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _entries(lines: Iterable[str]) -> list[str]:
    entries: list[str] = []
    for line in lines:
        if line.startswith(_ENTRY):
            entries.append(line[1:])
        elif line.startswith(_MORE) and entries:
            entries[-1] += f"\n{line[1:]}"
    return entries
