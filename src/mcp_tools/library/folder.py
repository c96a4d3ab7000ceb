"""A library's folder, which may come from elsewhere: nothing in it is read, written or removed through a link.

Files are opened relative to the descriptor of the folder that holds them, so that no folder on the way can be exchanged
for a link meanwhile. SQLite and the lock open by path: they get paths from `within`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from mcp_tools.errors import LibraryError

PRIVATE = ".alita"
"""The folder in a library's folder that holds what is no tool."""
LARGEST = 10_000_000
"""Bytes: far more than any file of a tool has."""


def require_own_place(folder: Path) -> None:
    """A library's folder may be a link to one beside it or further inside, and to no other place.

    Raises:
        LibraryError: It is a link that leads out of the folder in which it stands.
    """
    if folder.is_symlink() and not folder.resolve().is_relative_to(folder.parent.resolve()):
        raise LibraryError(
            f"the tool library {folder} is a link to {folder.resolve()}, outside the folder that holds it",
            remedy=f"remove the link, or name the place itself: --tools-dir {folder.resolve()}",
        )


def within(folder: Path, *names: str) -> Path:
    """The path of something in a library's folder, for what opens files by path.

    Raises:
        OSError: It is a link, or a folder that leads to it is one.
    """
    path = folder
    for name in names:
        path = path / name
        if path.is_symlink():
            raise OSError(errno.ELOOP, f"{path} is a link")
    return path


@contextlib.contextmanager
def opened(folder: Path, *names: str, create: bool = False) -> Iterator[int]:
    """The descriptor of a library's folder, or of a folder in it.

    Args:
        folder: The library's.
        names: The way from there.
        create: Whether folders that are missing are made.

    Raises:
        OSError: It is not there, or a part of the way is a link.
    """
    if create:
        folder.mkdir(parents=True, exist_ok=True)
    path, descriptor = folder, os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            path = path / name
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=descriptor)
            outer, descriptor = descriptor, _opened(name, os.O_RDONLY | os.O_DIRECTORY, descriptor, path)
            os.close(outer)
        yield descriptor
    finally:
        os.close(descriptor)


def read(path: Path, directory: int | None = None, *, most: int | None = LARGEST) -> bytes:
    """The content of a file; of a pipe, a device or a link there is none.

    Args:
        path: The file, of which only the name counts where a directory is given.
        directory: The descriptor of the folder that holds it.
        most: The largest size that is read.

    Raises:
        OSError: It is not there, is no file, or is larger.
    """
    name = path if directory is None else path.name
    with os.fdopen(_opened(name, os.O_RDONLY | os.O_NONBLOCK, directory, path), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        content = file.read() if most is None else file.read(most + 1)
    if most is not None and len(content) > most:
        raise OSError(errno.EFBIG, "it is too large for a tool")
    return content


def write(name: str, content: bytes, directory: int, *, draft_in: int | None = None) -> None:
    """Puts a file in place whole, whatever is there under its name.

    Args:
        name: The file's.
        content: All of it.
        directory: The descriptor of the folder that holds it.
        draft_in: That of the folder that holds it until it is whole; the same one unless told.

    Raises:
        OSError: It cannot be written; what was there still is.
    """
    draft, drafts = f".{name}.new", directory if draft_in is None else draft_in
    remove(draft, drafts)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(draft, flags, 0o666, dir_fd=drafts), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, name, src_dir_fd=drafts, dst_dir_fd=directory)


def remove(name: str, directory: int) -> None:
    """Removes a file, or the link that is in its place; one that is not there is removed already.

    Raises:
        OSError: It cannot be removed.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)


def _opened(name: str | Path, flags: int, directory: int | None, path: Path) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError as error:
        # A link is ELOOP, or ENOTDIR where a folder is wanted: neither says what is wrong.
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and path.is_symlink():
            raise OSError(errno.ELOOP, f"{path} is a link") from None
        raise
