"""Scratch folders of calls, with quotas while a call runs and removal afterwards."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import stat
from collections.abc import Iterator

QUOTA_BYTES = 128_000_000
"""Size limit of one call's folder, including deleted files that are still open."""
QUOTA_FILES = 20_000
"""Limit on the number of files and folders, each of which uses kernel memory that no other limit covers."""

_MAPPED_FILE_BYTES = 64_000_000
"""Assumed size of a deleted file that is only mapped, because the real size is unavailable."""

_MAX_PATH_CHARS = 900
"""Path length limit. At four bytes per character plus one more name, a path stays below the kernel's 4,096 bytes."""
_DESCRIPTORS = 256
_PIDFD_GETFD = 438
_syscall = ctypes.CDLL(None, use_errno=True).syscall


def is_over_quota(folder: str, pid: int, *, private: bool) -> bool:
    """Return True if a call's scratch folder exceeds the quota.

    With `private`, the folder is a separate file system with a fixed size, so the bytes are already limited.
    """
    if private:
        found = os.statvfs(folder)
        return found.f_files - found.f_ffree > QUOTA_FILES
    size, files = _content(folder)
    return files > QUOTA_FILES or size + _deleted(folder, pid) > QUOTA_BYTES


def is_full(folder: str, most_bytes: int, most_entries: int, held: int = 0) -> bool:
    """Return True if a folder that code writes into exceeds its limits.

    `held` is the size of deleted files that are still open. Sparse files count at their full length, because a copy
    would take up that much space.
    """
    size, entries = _content(folder, most_entries, holes=True)
    return entries > most_entries or size + held > most_bytes


def held_deleted(pid: int, folders: list[str]) -> int:
    """Return the bytes of files that a child has deleted but still holds open. Works without /proc."""
    held: dict[tuple[int, int], int] = {}
    try:
        devices = {os.stat(folder).st_dev for folder in folders}
        child = os.pidfd_open(pid)
    except OSError:
        return 0  # the process has exited
    try:
        for number in range(_DESCRIPTORS):
            descriptor = _syscall(_PIDFD_GETFD, child, number, 0)
            if descriptor < 0:
                continue
            status = os.fstat(descriptor)
            os.close(descriptor)
            if status.st_nlink == 0 and stat.S_ISREG(status.st_mode) and status.st_dev in devices:
                held[status.st_dev, status.st_ino] = status.st_blocks * 512
    finally:
        os.close(child)
    return sum(held.values())


def change_owner(folder: str, user: int) -> None:
    """Make a user the owner of a folder and its content."""
    for _, folders, files, place in os.fwalk(folder):
        os.chown(place, user, user)
        for name in (*folders, *files):
            os.chown(name, user, user, dir_fd=place, follow_symlinks=False)


def bytes_in(folder: str, pid: int) -> int:
    """Return the size of a folder in bytes, including files that a process has deleted but still holds open."""
    return _content(folder)[0] + _deleted(folder, pid)


def _content(folder: str, most: int = QUOTA_FILES, *, holes: bool = False) -> tuple[int, int]:
    """Return the number of bytes and entries in a folder and its subfolders.

    A folder that cannot be listed counts as too full.
    """
    size = files = 0
    # paths are relative to an open folder, because the full path of a deep folder is too long for system calls
    waiting: list[tuple[int | None, str]] = [(None, folder)]
    try:
        while waiting and files <= most:
            base, path = waiting.pop()
            if base is not None and not path:
                os.close(base)  # all its subfolders have been counted
                continue
            with contextlib.suppress(FileNotFoundError):  # the entry was removed in the meantime
                opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=base)
                below = (base, f"{path}/")
                if len(path) > _MAX_PATH_CHARS:
                    below = (opened, "")
                    waiting.append(below)
                try:
                    for name, found in _entries(opened):
                        files += 1
                        size += max(found.st_blocks * 512, found.st_size if holes else 0)
                        if stat.S_ISDIR(found.st_mode):
                            waiting.append((below[0], below[1] + name))
                finally:
                    if below[0] != opened:
                        os.close(opened)
    except OSError:
        return size, most + 1
    finally:
        for base, path in waiting:
            if base is not None and not path:
                os.close(base)
    return size, files


def _entries(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry.name, entry.stat(follow_symlinks=False)


def _deleted(folder: str, pid: int) -> int:
    """Return the size of the folder's files that a process has deleted but still holds open or mapped."""
    held: dict[int, int] = {}
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            status = os.stat(f"/proc/{pid}/fd/{number}")
            if status.st_nlink == 0 and stat.S_ISREG(status.st_mode):
                held[status.st_ino] = status.st_blocks * 512
        with open(f"/proc/{pid}/maps", errors="replace") as maps:
            for line in maps:
                _, _, _, _, inode, *path = line.split(maxsplit=5)
                if path and path[0].startswith(folder) and path[0].endswith("(deleted)\n"):
                    held.setdefault(int(inode), _MAPPED_FILE_BYTES)
    except OSError:
        pass  # the process has exited
    return sum(held.values())


def remove(folder: str) -> None:
    """Remove a folder of any depth, even if its permissions forbid it.

    Subfolders are moved to the top before they are emptied, so that paths stay short and there is no recursion.

    Raises:
        OSError: Something in the folder cannot be removed.
    """
    os.chmod(folder, 0o700)
    waiting, moves, name = [folder], itertools.count(), os.urandom(8).hex()
    while waiting:
        place = waiting.pop()
        with os.scandir(place) as entries:
            found = list(entries)
        for entry in found:
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)  # a folder must be writable to be moved
            moved = os.path.join(folder, f"{name}-{next(moves)}")
            os.rename(entry.path, moved)
            waiting.append(moved)
        if place != folder:
            os.rmdir(place)
    os.rmdir(folder)
