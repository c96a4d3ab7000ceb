"""Atomic file writes: readers see either the old content or the new content, never a mix.

All code that replaces a file uses this module. The content goes to a draft in the same folder, which is then renamed
over the file. Drafts have fixed names, so a draft left behind by a killed process is reused and drafts do not pile up.
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
    """Write a file atomically; see `whole_file`.

    Example:
        >>> write_whole(Path("settings.json"), b"{}")

    Raises:
        OSError: The file cannot be written. The old content is still there.
    """
    with whole_file(path, keep_mode=keep_mode, draft_in=draft_in) as file:
        file.write(content)


@contextmanager
def whole_file(
    path: Path, *, keep_mode: bool = False, mode: int = 0o600, draft_in: Path | None = None
) -> Iterator[BinaryIO]:
    """Yield a file to write to. It replaces `path` if the block succeeds; if the block raises, `path` is unchanged.

    Args:
        path: The file. A symbolic link is itself replaced; resolve it first to change its target instead.
        mode: Permissions of a new file.
        keep_mode: True to keep the permissions of an existing file.
        draft_in: Folder of the draft, on the same disk. Defaults to the file's folder. Use another folder if the
            file's folder is written to only once, because a leftover draft would never be reused there.

    Raises:
        OSError: The file cannot be written. The old content is still there.
    """
    if path.exists() and not (path.is_file() or path.is_symlink()):  # never replace a device or a pipe
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
            draft.unlink(missing_ok=True)  # while we hold the lock; later the draft may belong to another writer
            raise


def _locked_draft(folder: Path) -> tuple[Path, int]:
    """Lock and empty the first draft that no other process holds. Return its path and the locked descriptor."""
    for number in itertools.count(1):
        draft = folder / f"{_DRAFT}-{number}"
        while (descriptor := _open_draft(draft)) is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                break
            if os.fstat(descriptor).st_uid != os.geteuid():  # another user owns the draft and could read it
                os.close(descriptor)
                break
            if _is_still_draft(draft, descriptor):
                os.ftruncate(descriptor, 0)
                return draft, descriptor
            os.close(descriptor)  # another writer has renamed the draft in the meantime
    raise AssertionError("numbers do not end")


def _open_draft(draft: Path) -> int | None:
    """Return the descriptor of a draft; None if another user owns it."""
    try:
        return os.open(draft, _FLAGS, 0o600)
    except PermissionError:
        if draft.is_file() and draft.stat().st_uid != os.geteuid():
            return None
        raise


def _is_still_draft(draft: Path, descriptor: int) -> bool:
    ours = os.fstat(descriptor)
    if ours.st_nlink > 1:  # a hard link to another file, which must not be emptied
        draft.unlink(missing_ok=True)
        return False
    try:
        return os.path.samestat(ours, draft.lstat())
    except FileNotFoundError:
        return False


def backup_of(path: Path) -> Path:
    """Copy a file to `NAME.backup-TIME` in the same folder, and return the copy's path.

    Raises:
        OSError: The copy cannot be written.
    """
    copy = path.with_name(f"{path.name}.backup-{datetime.now(UTC):%Y%m%dT%H%M%S-%f}")
    copy.touch(mode=0o600)  # private from the start, because the file may contain API keys
    return Path(shutil.copy2(path, copy))


def private(path: str, flags: int) -> int:
    """Opener for `open(…, opener=private)` that gives only this user access and never blocks on a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)


def private_folder(path: Path) -> None:
    """Create a folder, with any missing parents, that only this user can enter.

    Raises:
        OSError: The folder cannot be created.
    """
    for folder in reversed([each for each in (path, *path.parents) if not each.exists()]):
        folder.mkdir(mode=0o700, exist_ok=True)
