"""Writes files that a user named, either completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

from agent.errors import StorageError, UsageError
from mcp_tools import atomic
from mcp_tools.errors import os_errors_as

_ROOM = "Free some space or fix the permissions. To move all of alita's folders, set ALITA_HOME."


def writing(path: Path) -> AbstractContextManager[None]:
    """Raise a StorageError if one of alita's own files or folders cannot be written."""
    return os_errors_as(StorageError, f"{path} cannot be written", _ROOM)


def write_file(path: Path, text: str, *, shared: bool = False) -> None:
    """Write a file that a user named, or that only its user may read. If the path is a link, its target is written.

    Raises:
        StorageError: It cannot be written; the old file is unchanged.
    """
    with whole_file(path, shared=shared) as file:
        file.write(text.encode("utf-8", "surrogatepass"))


@contextmanager
def whole_file(path: Path, *, shared: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing; it appears at its path only if the block succeeds.

    An existing file keeps its mode. A new file is readable only by its user, or with `shared` by everyone the umask
    allows.

    Raises:
        StorageError: It cannot be written; the old file is unchanged.
    """
    remedy = "Choose another file, or make its folder writable."
    with os_errors_as(StorageError, f"{path} cannot be written", remedy):
        is_stream = path.exists() and not path.is_file()  # write to a device or pipe, never replace it
        with (
            path.open("wb")
            if is_stream
            else atomic.whole_file(path.resolve(), keep_mode=True, mode=usual_mode() if shared else 0o600) as file
        ):
            yield file


def require_readable(paths: Iterable[Path]) -> None:
    """Check the files of a question before a run begins. Empty files are allowed.

    Raises:
        UsageError: A file is missing, is not a regular file, or cannot be read.
    """
    for path in paths:
        with os_errors_as(UsageError, f"The file {path} cannot be read", "Correct the path, or ask without this file."):
            if path.is_dir():
                remedy = "Attach the files in this folder one by one, or attach an archive."
                raise UsageError(f"The file {path} cannot be read: it is a folder.", remedy=remedy)
            if path.exists() and not path.is_file():  # reading a pipe may block, and a device may be infinite
                raise UsageError(
                    f"The file {path} cannot be read: it is a pipe or a device.",
                    remedy="Save the data to a regular file, and attach that.",
                )
            path.open("rb").close()


def usual_mode() -> int:
    """Return the mode that the umask gives to a new file."""
    os.umask(mask := os.umask(0o077))
    return 0o666 & ~mask


def numbered_folder(parent: Path) -> Path:
    """Create a private folder named with the next free number, and its parent if needed."""
    parent.mkdir(mode=0o700, exist_ok=True)
    folder = parent / str(sum(1 for _ in parent.iterdir()) + 1)
    folder.mkdir(mode=0o700)
    return folder
