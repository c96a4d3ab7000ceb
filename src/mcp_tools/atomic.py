"""Atomic writes: the only way to replace a file, whole or not at all.

The content goes into a draft in the same folder, which then takes the file's name. Drafts have fixed names: one that a
killed process left is used again by the next writer in that folder, so that they never add up.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

_DRAFT = ".alita-draft"
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def write_whole(
    path: Path, content: bytes, *, keep_mode: bool = False, mode: int = 0o600, draft_in: Path | None = None
) -> None:
    """Writes a file; see `whole_file`.

    Raises:
        OSError: It cannot be written; what was there before still is.
    """
    with whole_file(path, keep_mode=keep_mode, draft_in=draft_in) as file:
        file.write(content)


@contextmanager
def whole_file(
    path: Path, *, keep_mode: bool = False, mode: int = 0o600, draft_in: Path | None = None
) -> Iterator[BinaryIO]:
    """A file to be written in pieces: in its place when the block ends well, else nowhere.

    Args:
        path: The file, which only its user may read. A link is replaced, not followed: resolve it where it should stay.
        mode: The permissions of a new file.
        keep_mode: True if others may read it as they could before.
        draft_in: Folder of the draft, on the same disk; by default the file's own. For a folder in which nothing
            may ever be written again, so that a draft would stay.

    Raises:
        OSError: It cannot be written; what was there before still is.
    """
    if path.exists() and not (path.is_file() or path.is_symlink()):  # it would be lost: a device, a pipe
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    draft, descriptor = _locked_draft(draft_in or path.parent)
    with os.fdopen(descriptor, "wb") as file:
        try:
            os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode) if keep_mode and path.exists() else mode)
            yield file
            file.flush()
            os.fsync(descriptor)
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)  # while it is locked: afterwards it may be another's
            raise


def _locked_draft(folder: Path) -> tuple[Path, int]:
    """The first draft that nobody is writing, empty, and its descriptor, which holds its lock."""
    for number in itertools.count(1):
        draft = folder / f"{_DRAFT}-{number}"
        while (descriptor := _opened(draft)) is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                break
            if os.fstat(descriptor).st_uid != os.geteuid():  # it would be another user's, who could read it
                os.close(descriptor)
                break
            if _is_own(draft, descriptor):
                os.ftruncate(descriptor, 0)
                return draft, descriptor
            os.close(descriptor)  # it has become a file meanwhile
    raise AssertionError("numbers do not end")


def _opened(draft: Path) -> int | None:
    """The descriptor of a draft; None for another user's."""
    try:
        return os.open(draft, _FLAGS, 0o600)
    except PermissionError:
        if draft.is_file() and draft.stat().st_uid != os.geteuid():
            return None
        raise


def _is_own(draft: Path, descriptor: int) -> bool:
    """Return True if the descriptor belongs to the draft."""
    ours = os.fstat(descriptor)
    if ours.st_nlink > 1:  # the name of another file, which must not be emptied
        draft.unlink(missing_ok=True)
        return False
    try:
        return os.path.samestat(ours, draft.lstat())
    except FileNotFoundError:
        return False


def backup_of(path: Path) -> Path:
    """Copy a file next to itself, with the time in the copy's name.

    Raises:
        OSError: It cannot be written.
    """
    copy = path.with_name(f"{path.name}.backup-{datetime.now(UTC):%Y%m%dT%H%M%S-%f}")
    copy.touch(mode=0o600)  # before keys are in it: its own mode comes last
    return Path(shutil.copy2(path, copy))


def private(path: str, flags: int) -> int:
    """An opener for `open`: what it makes can be read by its user alone. No pipe is waited for."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)


def private_folder(path: Path) -> None:
    """Makes a folder that its user alone may enter, with what is missing above it.

    Raises:
        OSError: It cannot be made.
    """
    for folder in reversed([each for each in (path, *path.parents) if not each.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
