"""An index that says what the files say: looked after before each question, and built anew after damage."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mcp_tools.errors import LibraryError
from mcp_tools.library import commit, tool_files
from mcp_tools.library.commit import writing
from mcp_tools.library.folder import PRIVATE, opened, within
from mcp_tools.library.index import Index
from mcp_tools.library.tool_files import Flaw
from mcp_tools.tool import Tool

_LOOK_AGAIN_SECONDS = 10.0
"""How long an edit inside a file may go unseen; new, replaced and deleted files are seen at once."""
_SETTLED_NS = 50_000_000
"""A folder changed so recently may change again within one tick of its clock."""

T = TypeVar("T")


class CurrentIndex:
    """The index of one folder, for any thread, in any process that was forked since.

    Args:
        folder: Where the tools are; it need not exist.
        read: Reads the tool of a name.
    """

    def __init__(self, folder: Path, read: Callable[[str], Tool | Flaw | None]) -> None:
        self._folder = folder
        self._read = read
        self._index: Index | None = None
        self._index_pid = 0
        self._is_absent = False
        """Whether there was no folder when the index was opened."""
        self._seen = -1
        self._look_again = 0.0
        self._threads = threading.RLock()

    def names(self) -> list[str]:
        """The names of the tools that have no flaw."""
        return self.asked(lambda index: index.names())

    def look_again(self) -> None:
        """A file was edited in place since it was indexed: the next question compares all stamps."""
        self._seen = -1

    def close(self) -> None:
        """Closes the index; the next question opens it again."""
        with self._threads:
            if self._index is not None and self._index_pid == os.getpid():
                self._index.close()
            self._index, self._seen = None, -1

    def asked(self, ask: Callable[[Index], T]) -> T:
        """Asks the index. Damage is answered by building it anew, then in memory.

        Raises:
            LibraryError: The folder cannot be read.
        """
        with self._threads:
            try:
                return ask(self._current())
            except sqlite3.Error:
                self._seen = -1
            try:
                self._opened().rebuild()
                return ask(self._current())
            except sqlite3.Error:
                self._index, self._seen = Index(None), -1
                return ask(self._current())

    def _opened(self) -> Index:
        arrived = self._is_absent and self._folder.is_dir()
        if self._index is None or self._index_pid != os.getpid() or arrived:
            self._is_absent = not self._folder.is_dir()
            self._index, self._index_pid, self._seen = Index(self._index_path()), os.getpid(), -1
        return self._index

    def _index_path(self) -> Path | None:
        """The index's file; None where nothing can be written, or where there is no library yet."""
        if not self._folder.is_dir():
            return None
        try:
            with opened(self._folder, PRIVATE, create=True):
                path = within(self._folder, PRIVATE, "index.sqlite")
        except OSError:
            return None
        return path if os.access(path.parent, os.W_OK) else None

    def _current(self) -> Index:
        index = self._opened()
        try:
            changed = self._folder.stat().st_mtime_ns
        except OSError:
            changed = 0
        if changed == self._seen and time.monotonic() < self._look_again:
            return index
        pending = self._folder.joinpath(*commit.PENDING)
        try:
            if pending.is_dir() and any(pending.iterdir()):
                with contextlib.suppress(LibraryError), writing(self._folder):
                    pass  # a writer was killed: taking the lock settles what it left
            index.refresh(tool_files.stamps(self._folder), self._read)
        except OSError as error:
            raise LibraryError(
                f"the tool library {self._folder} cannot be read: {error.strerror or error}",
                remedy="make the folder readable, or choose another with --tools-dir",
            ) from error
        self._look_again = time.monotonic() + _LOOK_AGAIN_SECONDS
        self._seen = changed if time.time_ns() - changed > _SETTLED_NS else -1
        return index
