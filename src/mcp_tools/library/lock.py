"""The lock of a library between processes: one writer at a time, and nothing half-written left."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from mcp_tools.errors import LibraryError
from mcp_tools.library import commit
from mcp_tools.library.folder import PRIVATE, opened, require_own_place, within

_LOCK_SECONDS = 30.0
_PLACES = ("lock", "index.sqlite", "calls.sqlite", "pending", "versions")
"""What must be no link before anything is written: half of a registration would be too late to notice."""


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Holds the lock of a library's folder; what a killed writer left is settled first.

    Raises:
        LibraryError: Another process holds the lock for too long, or the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    require_own_place(folder)
    try:
        with opened(folder, PRIVATE, create=True):
            lock, *_ = [within(folder, PRIVATE, name) for name in _PLACES]
        with FileLock(lock, timeout=_LOCK_SECONDS):
            commit.settle(folder)
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
