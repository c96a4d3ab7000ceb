"""A library's folder: nothing in it is read, written or removed through a link, and a tool's two files change as one.

Both files of a tool are first written whole to `pending/`. Then the source is moved into place, then the JSON file:
that move is the commit. An unfinished write of a killed process is completed if its source is in place, and dropped
otherwise. Everything happens under the library's lock.
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
"""The folder in a library's folder that holds what is no tool."""
LARGEST = 10_000_000
"""Bytes: far more than any file of a tool has."""
META_HASH = "alita/source-hash"
"""Key in the `_meta` of a JSON file with the hash of its source."""
PENDING = (PRIVATE, "pending")
VERSIONS = (PRIVATE, "versions")
LOCK_SECONDS = 30.0
_OWNER = "folder"
_LONGEST_PATH = 4096
_MOST_PLACES = 10_000
_UNUSED = 30 * 86400.0
"""Seconds: the folder may be on a disk that is not connected today."""
_PLACES = ("lock", "pending", "versions")
"""Places that must be no links; checked before anything is written."""


def require_own_place(folder: Path) -> None:
    """A library's folder may be a link to a sibling or descendant folder, and to no other place.

    Raises:
        LibraryError: It is a link that leads out of its parent folder.
    """
    if folder.is_symlink() and not folder.resolve().is_relative_to(folder.parent.resolve()):
        raise LibraryError(
            f"the tool library {folder} is a link to {folder.resolve()}, outside the folder that holds it",
            remedy=f"remove the link, or name the place itself: --tools-dir {folder.resolve()}",
        )


def derived_folder(folder: Path, data: Path) -> Path:
    """The folder in the user's data for what is derived from a library: a database in the library may be anybody's."""
    return place_of(folder, data / "libraries")


def place_of(folder: Path, places: Path) -> Path:
    """Return the path of the folder in `places` that belongs to another folder."""
    return places / hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:24]


def note_owner(place: Path, folder: Path) -> None:
    """Makes the place of a folder, and writes down to which folder it belongs, so that it can be removed later."""
    with contextlib.suppress(OSError):
        private_folder(place)
        if not (place / _OWNER).exists():
            write_whole(place / _OWNER, os.fsencode(folder.resolve()))


def sweep_places(places: Path) -> None:
    """Remove places without their folder, if nothing in them has changed for 30 days."""
    with contextlib.suppress(OSError):
        for place in itertools.islice(places.iterdir(), _MOST_PLACES):
            with contextlib.suppress(OSError, ValueError):
                owner = Path(os.fsdecode(read_small(place / _OWNER, _LONGEST_PATH, follow=False)))
                newest = max(path.lstat().st_mtime for path in (place, *place.iterdir()))
                if owner.is_absolute() and not owner.exists() and newest < time.time() - _UNUSED:
                    shutil.rmtree(place)


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


def made(folder: Path, *names: str) -> Path:
    """Return a folder in a library's folder, and make it if it is missing.

    Raises:
        OSError: It cannot be made, or a part of the way is a link.
    """
    path = within(folder, *names)
    path.mkdir(parents=True, exist_ok=True)
    return path


def read(path: Path) -> bytes:
    """Return the content of a file; refuse a pipe, a device or a link.

    Raises:
        OSError: It is not there, is no file, or is too large.
    """
    return read_small(path, LARGEST, follow=False)


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
    """Holds the lock of a library's folder; what a killed writer left is settled first.

    Raises:
        LibraryError: Another process holds the lock for too long, or the folder cannot be written.
    """
    from filelock import FileLock

    require_own_place(folder)
    remedy = "make space or make the folder writable, or choose another with --tools-dir"
    with told(folder, f"the tool library {folder}", remedy):
        made(folder, PRIVATE)
        lock, *_ = [within(folder, PRIVATE, name) for name in _PLACES]
        with FileLock(lock, timeout=LOCK_SECONDS):
            _settle(folder)
            yield


@contextlib.contextmanager
def told(locked: Path, what: str, remedy: str) -> Iterator[None]:
    """Turn failures of a lock or of writing into messages for the user."""
    from filelock import Timeout

    try:
        yield
    except Timeout as error:
        raise LibraryError(
            f"another process has held the lock of {locked} for {LOCK_SECONDS:.0f} seconds",
            remedy="end that process, or try again",
        ) from error
    except OSError as error:
        raise LibraryError(f"{what} cannot be written: {error.strerror or error}", remedy=remedy) from error


def write_pair(folder: Path, name: str, source: bytes, document: bytes) -> None:
    """Puts both files of a tool in place. Only under the lock.

    Raises:
        OSError: A file could not be written; the tool is as it was before.
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
    """Removes both files of a tool. Until its source is gone, settling puts its JSON file back. Only under the lock.

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
    pending = within(folder, *PENDING)
    found = sorted(pending.iterdir()) if pending.is_dir() else []
    left = [file for file in found if file.is_symlink() or not file.is_dir()]
    for folder_left in {*found} - {*left}:  # no writer makes one, and it would be in the way of each
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
    """Copy the unchanged files of a name to the folder of old versions. Only under the lock.

    Raises:
        OSError: A file cannot be read, or none can be written.
    """
    found: dict[str, bytes] = {}
    for suffix in (".py", ".json"):
        try:
            found[suffix] = read(folder / f"{name}{suffix}")
        except OSError as error:  # a link, a pipe, a device or something huge is no version
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
