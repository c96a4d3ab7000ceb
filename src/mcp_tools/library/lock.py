"""The lock of a library between processes: one writer at a time, and nothing half-written left."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from mcp_tools.errors import LibraryError
from mcp_tools.library import commit

PRIVATE = ".alita"
"""The folder in a library's folder that holds what is no tool."""
_LOCK_SECONDS = 30.0


def pending_folder(folder: Path) -> Path:
    """Where the files of a tool wait until both are whole."""
    return folder / PRIVATE / "pending"


def require_own(folder: Path) -> None:
    """A library that came from elsewhere must not lead our writing out of its folder.

    Raises:
        OSError: Something of its private folder is a link.
    """
    private = folder / PRIVATE
    for path in (private, *(private / name for name in ("lock", "pending", "versions", "index.sqlite"))):
        if path.is_symlink():
            raise OSError(errno.ELOOP, f"{path} is a link")


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Holds the lock of a library's folder; what a killed writer left is settled first.

    Raises:
        LibraryError: Another process holds the lock for too long, or the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    try:
        require_own(folder)
        (folder / PRIVATE).mkdir(parents=True, exist_ok=True)
        with FileLock(folder / PRIVATE / "lock", timeout=_LOCK_SECONDS):
            commit.settle(folder, pending_folder(folder))
            yield
    except Timeout as error:
        raise LibraryError(
            f"another process has held the lock of {folder} for {_LOCK_SECONDS:.0f} seconds",
            remedy="end that process, or try again",
        ) from error
    except OSError as error:
        raise LibraryError(
            f"the tool library {folder} cannot be written: {error.strerror or error}",
            remedy="make space or make the folder writable, or choose another with --tools-dir",
        ) from error
    except ValueError as error:
        raise LibraryError(str(error)) from error
