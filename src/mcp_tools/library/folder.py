"""Safe access to a library's folder: links are never followed, and a tool's two files change together.

Both files are first written to `pending/`. Then the source is moved into place, then the JSON file, which commits the
change. If a process is killed in between, the next one completes the change if the source is in place, and drops it
otherwise. All changes happen under the library's lock.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.errors import LibraryError
from mcp_tools.small_files import read_small

PRIVATE = ".alita"
"""Subfolder for the lock, pending files and old versions."""
MAX_FILE_BYTES = 10_000_000
META_HASH = "alita/source-hash"
"""Key of the source's hash in the `_meta` of a JSON file."""
PENDING = (PRIVATE, "pending")
VERSIONS = (PRIVATE, "versions")
LOCK_SECONDS = 30.0
_OWNER = "folder"
_MAX_PATH_BYTES = 4096
_MAX_SWEPT = 10_000
_UNUSED_SECONDS = 30 * 86400.0
"""Data is kept this long after its last change, because the library may be on a disk that is not always connected."""
_NEVER_LINKS = ("lock", "pending", "versions")
"""Parts of the private folder that are checked for links before any write."""


def require_own_place(folder: Path) -> None:
    """Check that a library's folder is not a link out of its parent folder.

    Raises:
        LibraryError: The folder is such a link.
    """
    if folder.is_symlink() and not folder.resolve().is_relative_to(folder.parent.resolve()):
        raise LibraryError(
            f"the tool library {folder} is a link to {folder.resolve()}, which is outside its parent folder",
            remedy=f"remove the link, or use its target: --tools-dir {folder.resolve()}",
        )


def derived_folder(folder: Path, data: Path) -> Path:
    """Return the folder for a library's databases. In the library itself, other people could plant them."""
    return data_folder_of(folder, data / "libraries")


def data_folder_of(folder: Path, parent: Path) -> Path:
    """Return the subfolder of `parent` that is reserved for data about another folder."""
    return parent / hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:24]


def note_owner(data_folder: Path, folder: Path) -> None:
    """Create a data folder with a note of the folder that it belongs to, so that `sweep_data_folders` can remove it."""
    with contextlib.suppress(OSError):
        private_folder(data_folder)
        if not (data_folder / _OWNER).exists():
            write_whole(data_folder / _OWNER, os.fsencode(folder.resolve()))


def sweep_data_folders(parent: Path) -> None:
    """Remove the data of folders that no longer exist, unless it changed within the last 30 days."""
    with contextlib.suppress(OSError):
        for data_folder in itertools.islice(parent.iterdir(), _MAX_SWEPT):
            with contextlib.suppress(OSError, ValueError):
                owner = Path(os.fsdecode(read_small(data_folder / _OWNER, _MAX_PATH_BYTES, follow=False)))
                newest = max(path.lstat().st_mtime for path in (data_folder, *data_folder.iterdir()))
                if owner.is_absolute() and not owner.exists() and newest < time.time() - _UNUSED_SECONDS:
                    shutil.rmtree(data_folder)


def within(folder: Path, *names: str) -> Path:
    """Return a path in a library's folder, and check that it contains no link.

    Raises:
        OSError: A part of the path is a link.
    """
    path = folder
    for name in names:
        path = path / name
        if path.is_symlink():
            raise OSError(errno.ELOOP, f"{path} is a link")
    return path


def made(folder: Path, *names: str) -> Path:
    """Return a subfolder of a library's folder, and create it if necessary.

    Raises:
        OSError: The subfolder cannot be created, or a part of its path is a link.
    """
    path = within(folder, *names)
    path.mkdir(parents=True, exist_ok=True)
    return path


def read(path: Path) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: The file does not exist or is too large, or it is a link, a pipe or a device.
    """
    return read_small(path, MAX_FILE_BYTES, follow=False)


def _write(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold the lock of a library's folder. Unfinished changes of a killed process are completed or dropped first.

    Raises:
        LibraryError: Another process holds the lock for too long, or the folder cannot be written.
    """
    from filelock import FileLock

    require_own_place(folder)
    remedy = "free some disk space, make the folder writable, or choose another folder with --tools-dir"
    with write_errors(folder, f"the tool library {folder}", remedy):
        made(folder, PRIVATE)
        lock, *_ = [within(folder, PRIVATE, name) for name in _NEVER_LINKS]
        with FileLock(lock, timeout=LOCK_SECONDS):
            _settle(folder)
            yield


@contextlib.contextmanager
def write_errors(locked: Path, what: str, remedy: str) -> Iterator[None]:
    """Turn a lock timeout or a failed write into a `LibraryError`."""
    from filelock import Timeout

    try:
        yield
    except Timeout as error:
        raise LibraryError(
            f"another process has held the lock of {locked} for {LOCK_SECONDS:.0f} seconds",
            remedy="stop that process, or try again later",
        ) from error
    except OSError as error:
        raise LibraryError(f"{what} cannot be written: {error.strerror or error}", remedy=remedy) from error


def write_pair(folder: Path, name: str, source: bytes, document: bytes) -> None:
    """Write both files of a tool. The caller must hold the lock.

    Raises:
        OSError: A file could not be written. The tool is unchanged.
    """
    pending = made(folder, *PENDING)
    files = {f"{name}.py": source, f"{name}.json": document}
    try:
        for file, content in files.items():
            _write(pending / file, content)
        _sync(pending)
        for file in files:
            (pending / file).replace(folder / file)
    finally:
        _settle(folder)
    _sync(folder)


def remove_pair(folder: Path, name: str) -> None:
    """Remove both files of a tool. The caller must hold the lock.

    If the process is killed before the source is gone, the next one restores the JSON file.

    Raises:
        OSError: A file cannot be removed.
    """
    held = made(folder, *PENDING) / f"{name}.json"
    with contextlib.suppress(FileNotFoundError):
        (folder / held.name).replace(held)
    (folder / f"{name}.py").unlink(missing_ok=True)
    held.unlink(missing_ok=True)
    _sync(folder)


def _settle(folder: Path) -> None:
    """Complete or drop the unfinished change of a killed process; see the module's docstring."""
    pending = within(folder, *PENDING)
    found = sorted(pending.iterdir()) if pending.is_dir() else []
    left = [file for file in found if file.is_symlink() or not file.is_dir()]
    for folder_left in {*found} - {*left}:  # alita creates no folders here, and one could block every write
        shutil.rmtree(folder_left, ignore_errors=True)
    for document in left:
        source = folder / f"{document.stem}.py"
        if document.suffix == ".json" and document.with_suffix(".py") not in left and _belongs(document, source):
            document.replace(folder / document.name)
    for file in left:
        file.unlink(missing_ok=True)


def _belongs(document: Path, source: Path) -> bool:
    try:
        wanted = json.loads(read(document))["_meta"][META_HASH]
        return bool(wanted == hashlib.sha256(read(source)).hexdigest())
    except (ValueError, KeyError, TypeError, RecursionError, OSError):
        return False


def keep_version(folder: Path, name: str) -> None:
    """Copy a tool's files to the old versions. The caller must hold the lock.

    Raises:
        OSError: A file cannot be read or written.
    """
    found: dict[str, bytes] = {}
    for suffix in (".py", ".json"):
        try:
            found[suffix] = read(folder / f"{name}{suffix}")
        except OSError as error:  # links, pipes, devices and huge files are not kept
            if error.errno not in {errno.ENOENT, errno.ELOOP, errno.EINVAL, errno.EFBIG}:
                raise
    if not found:
        return
    label = hashlib.sha256(next(iter(found.values()))).hexdigest()[:12]
    kept = made(folder, *VERSIONS, name)
    for suffix, content in found.items():
        written = made(folder, *PENDING) / f"{label}{suffix}"
        _write(written, content)
        written.replace(kept / written.name)
