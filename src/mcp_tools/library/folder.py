"""A library's folder: nothing in it is read, written or removed through a link, and a tool's two files change as one.

Files are opened relative to the descriptor of the folder that holds them, so that no folder on the way can be exchanged
for a link meanwhile. SQLite and the lock open by path: they get paths from `within`.

Both files of a tool are first written whole to `pending/`. Then the source is moved into place, then the JSON file:
that move is the commit. What a killed process left is rolled forward when its source is in place already, and dropped
otherwise. All of it happens under the lock of the library.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from mcp_tools.errors import LibraryError

PRIVATE = ".alita"
"""The folder in a library's folder that holds what is no tool."""
LARGEST = 10_000_000
"""Bytes: far more than any file of a tool has."""
META_HASH = "alita/source-hash"
"""What in the `_meta` of a JSON file says which source it belongs to."""
PENDING = (PRIVATE, "pending")
_VERSIONS = (PRIVATE, "versions")
_LOCK_SECONDS = 30.0
_PLACES = ("lock", "index.sqlite", "calls.sqlite", "pending", "versions")
"""What must be no link before anything is written: half of a registration would be too late to notice."""


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


def _opened(name: str | Path, flags: int, directory: int | None, path: Path) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError as error:
        # A link is ELOOP, or ENOTDIR where a folder is wanted: neither says what is wrong.
        if error.errno in {errno.ELOOP, errno.ENOTDIR} and path.is_symlink():
            raise OSError(errno.ELOOP, f"{path} is a link") from None
        raise


def read(path: Path, directory: int | None = None) -> bytes:
    """The content of a file; of a pipe, a device or a link there is none.

    Args:
        path: The file, of which only the name counts where a directory is given.
        directory: The descriptor of the folder that holds it.

    Raises:
        OSError: It is not there, is no file, or is too large.
    """
    name = path if directory is None else path.name
    with os.fdopen(_opened(name, os.O_RDONLY | os.O_NONBLOCK, directory, path), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise OSError(errno.EFBIG, "it is too large for a tool")
    return content


def _write(name: str, content: bytes, directory: int) -> None:
    _remove(name, directory)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o666, dir_fd=directory), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _remove(name: str, directory: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=directory)


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
            _settle(folder)
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


def write_pair(folder: Path, name: str, source: bytes, document: bytes) -> None:
    """Puts both files of a tool in place. Only under the lock.

    Raises:
        OSError: A file could not be written; the tool is as it was before.
    """
    contents = {f"{name}.py": source, f"{name}.json": document}
    with opened(folder, *PENDING, create=True) as pending, opened(folder) as here:
        try:
            for file, content in contents.items():
                _write(file, content, pending)
            os.fsync(pending)
            for file in contents:
                os.replace(file, file, src_dir_fd=pending, dst_dir_fd=here)
        finally:
            _settle(folder)
        os.fsync(here)


def remove_pair(folder: Path, name: str) -> None:
    """Removes both files of a tool. Until its source is gone, settling puts its JSON file back. Only under the lock.

    Raises:
        OSError: A file cannot be removed.
    """
    source, document = f"{name}.py", f"{name}.json"
    with opened(folder, *PENDING, create=True) as pending, opened(folder) as here:
        with contextlib.suppress(FileNotFoundError):
            os.replace(document, document, src_dir_fd=here, dst_dir_fd=pending)
        _remove(source, here)
        _remove(document, pending)
        os.fsync(here)


def _settle(folder: Path) -> None:
    """Finishes or drops what an interrupted write left."""
    with contextlib.suppress(FileNotFoundError), opened(folder, *PENDING) as pending, opened(folder) as here:
        left = os.listdir(pending)  # noqa: PTH208 - of a descriptor, which pathlib cannot list
        for document in sorted(left):
            source = Path(document).with_suffix(".py").name
            if document.endswith(".json") and source not in left and _belongs(document, pending, source, here):
                os.replace(document, document, src_dir_fd=pending, dst_dir_fd=here)
        for file in left:
            _remove(file, pending)


def _belongs(document: str, pending: int, source: str, here: int) -> bool:
    try:
        wanted = json.loads(read(Path(document), pending))["_meta"][META_HASH]
        return bool(wanted == hashlib.sha256(read(Path(source), here)).hexdigest())
    except (ValueError, KeyError, TypeError, RecursionError, OSError):
        return False


def keep_version(folder: Path, name: str) -> None:
    """Copies the files of a name, as they are, to where old versions are kept. Only under the lock.

    Raises:
        OSError: A file cannot be read, or none can be written.
    """
    found: dict[str, bytes] = {}
    with opened(folder) as here:
        for suffix in (".py", ".json"):
            try:
                found[suffix] = read(folder / f"{name}{suffix}", here)
            except OSError as error:  # a link, a pipe, a device or something huge is no version
                if error.errno not in {errno.ENOENT, errno.ELOOP, errno.EINVAL, errno.EFBIG}:
                    raise
    if not found:
        return
    label = hashlib.sha256(next(iter(found.values()))).hexdigest()[:12]
    with opened(folder, *PENDING, create=True) as pending, opened(folder, *_VERSIONS, name, create=True) as kept:
        for suffix, content in found.items():
            _write(f"{label}{suffix}", content, pending)
            os.replace(f"{label}{suffix}", f"{label}{suffix}", src_dir_fd=pending, dst_dir_fd=kept)
        os.fsync(kept)


def kept_version(folder: Path, name: str, source_hash: str) -> tuple[bytes, bytes] | None:
    """The source and the JSON file of an old version; None unless its source has that very hash."""
    label = source_hash[:12]
    try:
        with opened(folder, *_VERSIONS, name) as kept:
            source, document = read(Path(f"{label}.py"), kept), read(Path(f"{label}.json"), kept)
    except OSError:
        return None
    return (source, document) if hashlib.sha256(source).hexdigest() == source_hash else None
