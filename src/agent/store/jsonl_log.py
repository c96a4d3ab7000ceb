"""Append-only JSON Lines files with one writer at a time. A line that was cut off by a crash is removed."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from agent.errors import RunError, StorageError
from agent.user_files import writing
from mcp_tools.atomic import private_folder
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.tool import Json

SYNC_AFTER_SECONDS = 0.05
_PLAIN = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Flags for opening files that others may have created: do not follow links or block on pipes."""


class AppendedLines:
    """A JSON Lines file, opened for appending.

    When `append` returns, the operating system has the lines, so nothing is lost if the process is killed. To survive
    power failures, a thread syncs the lines written in the last 50 ms together; `aclose` waits for the last sync.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._end = os.fstat(descriptor).st_size
        self._syncing: asyncio.Future[None] | None = None
        self._due: asyncio.TimerHandle | None = None
        self._broken: StorageError | None = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open or create the file, and lock it for this process.

        Raises:
            RunError: Another process is writing to the file.
            StorageError: The file cannot be written.
        """
        with writing(path):
            private_folder(path.parent)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _PLAIN, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise StorageError(f"{path} is not a regular file.", remedy="Remove it.")
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _drop_torn_line(descriptor)
        except BlockingIOError:
            os.close(descriptor)
            raise RunError(
                f"The run {path.parent.name} is in use by another process.",
                remedy="Wait until that process finishes, or stop it.",
            ) from None
        except BaseException:
            os.close(descriptor)
            raise
        return cls(path, descriptor)

    def append(self, lines: Iterable[Json], *, synced: bool = False) -> None:
        """Write all lines or none. If `synced` is true, also sync the file to disk.

        Raises:
            StorageError: The disk is full or the file cannot be written. All later calls raise this error too, because
                later lines refer to earlier ones.
        """
        if self._broken is not None:
            raise self._broken
        data = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
        raw = data.encode("utf-8", "surrogatepass")
        try:
            with writing(self.path):
                rest = memoryview(raw)
                while rest:  # a signal or a full disk can cut a write short; on a full disk, the next write raises
                    rest = rest[os.write(self._descriptor, rest) :]
                if synced:
                    os.fdatasync(self._descriptor)
        except StorageError as error:
            os.ftruncate(self._descriptor, self._end)
            self._broken = error
            raise
        self._end += len(raw)
        if self._due is None and not synced:
            self._sync_soon()

    def _sync_soon(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._due = loop.call_later(SYNC_AFTER_SECONDS, self._sync, loop)

    def _sync(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due = None
        if self._syncing is not None:
            self._sync_soon()
            return
        self._syncing = loop.run_in_executor(None, os.fdatasync, self._descriptor)
        self._syncing.add_done_callback(self._synced)

    async def synced(self) -> None:
        """Wait until all lines written so far are on disk. Concurrent callers share a sync.

        Raises:
            StorageError: The disk is full or faulty.
        """
        if self._syncing is not None:  # this sync may have started before the newest line
            await asyncio.wait([self._syncing])
        if self._syncing is None:
            if self._due is not None:
                self._due.cancel()
            self._sync(asyncio.get_running_loop())
        syncing = self._syncing
        assert syncing is not None
        try:
            with writing(self.path):
                await asyncio.shield(syncing)
        except StorageError as error:
            self._broken = error
            raise

    def _synced(self, future: asyncio.Future[None]) -> None:
        self._syncing = None
        if not future.cancelled():
            future.exception()  # the last sync reports this error

    async def aclose(self) -> None:
        """Wait until everything is on disk, then close the file."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        while self._syncing is not None:
            await asyncio.wait([self._syncing])
            await asyncio.sleep(0)
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Sync and close the file without an event loop."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            with writing(self.path):
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


def read_lines(path: Path) -> list[dict[str, Json]]:
    """Return the lines of a file without an incomplete last line.

    Raises:
        RunError: The file is missing, or a line other than the last is damaged.
    """
    with os_errors_as(RunError, f"{path} cannot be read"):
        raw = read_small(path, JOURNAL)
    lines, damaged = whole_lines(raw)
    if damaged and damaged < raw.count(b"\n"):
        raise RunError(f"{path} is corrupt at line {damaged}.", remedy="Ask the question again.")
    return lines


def whole_lines(raw: bytes) -> tuple[list[dict[str, Json]], int]:
    """Return the lines before the first damaged line, and the number of the damaged line, or 0 if there is none."""
    lines: list[dict[str, Json]] = []
    for number, line in enumerate(raw.split(b"\n")[:-1], start=1):
        try:
            value = json.loads(line.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            return lines, number
        lines.append(value)
    return lines, 0


@contextmanager
def locked_against_writers(path: Path, lock: int = fcntl.LOCK_EX) -> Iterator[bool]:
    """Lock a file against writers. Yields False if another process is writing to it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _PLAIN)
    except OSError:
        yield True  # the file does not exist
        return
    try:
        fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Return True if a process is writing to this file."""
    with locked_against_writers(path, fcntl.LOCK_SH) as is_free:
        return not is_free


def _drop_torn_line(descriptor: int) -> None:
    """Remove a partial or invalid last line that was left by a crash."""
    size = os.fstat(descriptor).st_size
    if size > JOURNAL:
        return  # unreadable, so it is left unchanged
    raw = os.pread(descriptor, size, 0)
    end = raw.rfind(b"\n") + 1
    start = raw.rfind(b"\n", 0, max(end - 1, 0)) + 1
    if end:
        try:
            json.loads(raw[start:end].decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            end = start
    if end != size:
        os.ftruncate(descriptor, end)
