"""The ledger of a benchmark: append-only JSON lines, one for each attempt, the only truth about what was done.

    {"kind": "header", "ledger": 1, "alita": "…", "created": "…", "fingerprint": "…", "dataset": "…", …}
    {"kind": "selection", "epochs": 1, "fingerprint": "…", "tasks": [{"task_id": "…", "level": 1, …}, …]}
    {"kind": "begun", "task_id": "…", "epoch": 1, "fingerprint": "…", "run_id": "…"}
    {"kind": "attempt", "task_id": "…", "epoch": 1, "fingerprint": "…", "status": "ok", …}

A further header follows where another configuration was mixed in. Submission, results and report are derived.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from agent.errors import RunError, StorageError
from agent.gaia.attempt import Attempt, Begun
from agent.gaia.questions.task import Task
from agent.gaia.records import Choice, Fingerprint, Header, Records, differences, no_ledger, object_in, records_in
from mcp_tools.tool import Json

_BEGINNING = b'{"kind":"header"'


class Ledger:
    """A ledger that this process alone writes. Close it, or use it in a `with`."""

    def __init__(self, path: Path, descriptor: int, records: Records, fingerprint: str) -> None:
        self.path = path
        self.headers = list(records.headers)
        self.choices = list(records.choices)
        self.begun = records.begun
        self.problems = records.problems
        self._fingerprint = fingerprint
        self._attempts = list(records.attempts)
        self._descriptor = descriptor
        self._end = os.fstat(descriptor).st_size
        self._broken: StorageError | None = None
        self._round: asyncio.Future[None] | None = None
        self._rounds: asyncio.Task[None] | None = None

    @classmethod
    def open(cls, path: Path, *, fingerprint: Fingerprint, mixed: bool = False) -> Self:
        """Opens or creates a ledger, takes it for this process, and repairs what a crash left behind.

        Args:
            path: The file.
            fingerprint: Of the questions and the configuration whose attempts will be added.
            mixed: Whether it may hold attempts of others.

        Raises:
            RunError: Another runner has it, it is no ledger, a later version wrote it, or it holds attempts of other
                questions or another configuration.
            StorageError: It cannot be written.
        """
        descriptor = _opened(path)
        try:
            _lock(descriptor, path)
            ledger = cls(path, descriptor, _repaired(descriptor, path), fingerprint.digest)
            ledger._begin(fingerprint, mixed=mixed)
        except BaseException:
            os.close(descriptor)
            raise
        return ledger

    @property
    def attempts(self) -> list[Attempt]:
        """Every attempt, in the order of writing."""
        return list(self._attempts)

    def append(self, attempt: Attempt) -> None:
        """Adds a line; it is on the disk when this returns.

        Raises:
            StorageError: It cannot be written; the ledger is as it was before.
        """
        self._write(attempt.as_json())
        self._sync()
        self._attempts.append(attempt)

    def select(self, tasks: Sequence[Task], epochs: int) -> None:
        """Writes down which questions count under this fingerprint, so that none leaves the denominator unseen.

        Raises:
            StorageError: It cannot be written.
        """
        selection = Choice(tuple(replace(task, question="") for task in tasks), epochs, self._fingerprint)
        before = [choice for choice in self.choices if choice.fingerprint == self._fingerprint]
        if before[-1:] != [selection]:
            self._write(selection.as_json())
            self._sync()
            self.choices.append(selection)

    def begin(self, begun: Begun) -> None:
        """Adds the line of a run that begins. It is not synced, and left out where there is no space for it."""
        with contextlib.suppress(StorageError):  # the line of the attempt will tell
            self._write(begun.as_json())

    async def record(self, attempt: Attempt) -> None:
        """Adds a line; it is on the disk when this returns. Lines that arrive during a sync share the next one.

        Raises:
            StorageError: It cannot be written.
        """
        self._write(attempt.as_json())
        self._attempts.append(attempt)
        if self._round is None:
            self._round = asyncio.get_running_loop().create_future()
        mine = self._round
        if self._rounds is None:
            self._rounds = asyncio.create_task(self._sync_rounds())
        await asyncio.shield(mine)

    def close(self) -> None:
        """Gives the file back."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, fingerprint: Fingerprint, *, mixed: bool) -> None:
        if any(header.fingerprint == fingerprint.digest for header in self.headers):
            return
        header = Header.of(fingerprint)
        if self.headers and not mixed:
            raise _other(self.path, self.headers[-1], header)
        self._write(header.as_json())
        self._sync()
        self.headers.append(header)

    async def _sync_rounds(self) -> None:
        while self._round is not None:
            done, self._round = self._round, None
            try:
                await asyncio.to_thread(self._sync)
            except StorageError as error:
                done.set_exception(error)
            else:
                done.set_result(None)
        self._rounds = None

    def _write(self, line: dict[str, Json]) -> None:
        if self._broken is not None:
            raise self._broken
        raw = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"
        try:
            written = os.write(self._descriptor, raw)
            if written != len(raw):
                os.write(self._descriptor, raw[written:])  # a full disk writes a part, then says why
        except OSError as error:
            os.ftruncate(self._descriptor, self._end)
            raise _unwritable(self.path, error) from error
        self._end += len(raw)

    def _sync(self) -> None:
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            self._broken = _unwritable(self.path, error)
            raise self._broken from error


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unwritable(path, error) from error


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunError(
            f"Another runner is writing the ledger {path}.",
            remedy="Wait for it to end or stop it; for a second benchmark name another --output.",
        ) from None


def _repaired(descriptor: int, path: Path) -> Records:
    """What the file holds, after its last line was ended, or cut where it is torn."""
    raw = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    whole = raw.rfind(b"\n") + 1
    records = records_in(raw, path) if _is_object(raw[whole:]) else records_in(raw[:whole], path)
    if raw and not records.headers and not raw.startswith(_BEGINNING[: len(raw)]):
        raise no_ledger(path)  # only a header that was torn while it was written may be cut
    try:
        if _is_object(raw[whole:]):
            os.write(descriptor, b"\n")
        elif whole != len(raw):
            os.ftruncate(descriptor, whole)
    except OSError as error:
        raise _unwritable(path, error) from error
    return records


def _is_object(text: bytes) -> bool:
    return object_in(text) is not None


def _other(path: Path, before: Header, now: Header) -> RunError:
    what = differences(before.configuration, now.configuration)
    if before.dataset != now.dataset:
        what.insert(0, "other questions")
    return RunError(
        f"The ledger {path} holds attempts of another configuration ({'; '.join(what) or 'another version'}).",
        remedy="Go on as it was begun, name another --output, or add --mix to hold both in one ledger.",
    )


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"The ledger {path} cannot be written: {error.strerror}.",
        remedy="Free some space or correct the permissions, then go on with --resume.",
    )
