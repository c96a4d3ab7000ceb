"""Writing two files as one: after a kill at any moment a tool is there whole, as it was before or as it became.

Both files are first written whole to `pending/`. Then the source is moved into place, then the JSON file: that move is
the commit. What a killed process left is rolled forward when its source is in place already, and dropped otherwise.
All of it happens under the lock of the library.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from mcp_tools.errors import LibraryError
from mcp_tools.library import commit
from mcp_tools.library.folder import PRIVATE, opened, read, remove, require_own_place, within, write
from mcp_tools.library.tool_files import META_HASH, object_path, source_path

PENDING = (PRIVATE, "pending")
"""Where the files of a tool wait until both are whole."""
_VERSIONS = (PRIVATE, "versions")


def write_pair(folder: Path, name: str, source: bytes, document: bytes) -> None:
    """Puts both files of a tool in place.

    Raises:
        OSError: A file could not be written; the tool is as it was before.
    """
    names = source_path(folder, name).name, object_path(folder, name).name
    with opened(folder, *PENDING, create=True) as pending, opened(folder) as here:
        try:
            for file, content in zip(names, (source, document), strict=True):
                write(file, content, pending)
            os.fsync(pending)
            for file in names:
                os.replace(file, file, src_dir_fd=pending, dst_dir_fd=here)
        finally:
            settle(folder)
        os.fsync(here)


def remove_pair(folder: Path, name: str) -> None:
    """Removes both files of a tool. Until its source is gone, `settle` puts its JSON file back.

    Raises:
        OSError: A file cannot be removed.
    """
    source, document = source_path(folder, name).name, object_path(folder, name).name
    with opened(folder, *PENDING, create=True) as pending, opened(folder) as here:
        with contextlib.suppress(FileNotFoundError):
            os.replace(document, document, src_dir_fd=here, dst_dir_fd=pending)
        remove(source, here)
        remove(document, pending)
        os.fsync(here)


def settle(folder: Path) -> None:
    """Finishes or drops what an interrupted write left. Only under the lock."""
    try:
        with opened(folder, *PENDING) as pending, opened(folder) as here:
            left = os.listdir(pending)  # noqa: PTH208 - of a descriptor, which pathlib cannot list
            for document in sorted(left):
                source = Path(document).with_suffix(".py").name
                if document.endswith(".json") and source not in left and _belongs(document, pending, source, here):
                    os.replace(document, document, src_dir_fd=pending, dst_dir_fd=here)
            for file in left:
                remove(file, pending)
    except FileNotFoundError:
        return


def _belongs(document: str, pending: int, source: str, here: int) -> bool:
    try:
        wanted = json.loads(read(Path(document), pending))["_meta"][META_HASH]
        return bool(wanted == hashlib.sha256(read(Path(source), here)).hexdigest())
    except (ValueError, KeyError, TypeError, RecursionError, OSError):
        return False


def keep_version(folder: Path, name: str) -> None:
    """Copies the files of a name, as they are, to where old versions are kept; a link, a pipe or a device is no file.

    Raises:
        OSError: A file cannot be read, or none can be written.
    """
    found: dict[str, bytes] = {}
    with opened(folder) as here:
        for path in (source_path(folder, name), object_path(folder, name)):
            try:
                found[path.suffix] = read(path, here, most=None)
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno not in {errno.ELOOP, errno.EINVAL}:
                    raise
    if not found:
        return
    label = _label(hashlib.sha256(next(iter(found.values()))).hexdigest())
    with opened(folder, *PENDING, create=True) as pending, opened(folder, *_VERSIONS, name, create=True) as kept:
        for suffix, content in found.items():
            write(f"{label}{suffix}", content, kept, draft_in=pending)
        os.fsync(kept)


def kept_version(folder: Path, name: str, source_hash: str) -> tuple[bytes, bytes] | None:
    """The source and the JSON file of an old version; None unless its source has that very hash."""
    label = Path(_label(source_hash))
    try:
        with opened(folder, *_VERSIONS, name) as kept:
            source, document = read(label.with_suffix(".py"), kept), read(label.with_suffix(".json"), kept)
    except OSError:
        return None
    return (source, document) if hashlib.sha256(source).hexdigest() == source_hash else None


def _label(content_hash: str) -> str:
    return content_hash[:12]


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
