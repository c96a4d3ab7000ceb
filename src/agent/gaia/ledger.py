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
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from agent.errors import RunError, StorageError
from agent.gaia.attempt import Attempt, Begun, Task
from agent.version import alita_version
from mcp_tools.tool import Json

LENGTH = 16
"""Hexadecimal digits that stand for a question set or a configuration."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The question set and the configuration of a benchmark."""

    dataset: str
    """The question set's own fingerprint."""
    configuration: dict[str, Json] = field(default_factory=dict)
    """Models, roles, limits, library, what it goes without: whatever an answer depends on."""

    @property
    def digest(self) -> str:
        """Equal for equal questions and configurations only."""
        text = json.dumps([self.dataset, self.configuration], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def differences(one: dict[str, Json], other: dict[str, Json]) -> list[str]:
    """What differs between two configurations, each as `name: one, now other`."""
    names = sorted(one.keys() | other.keys())
    return [
        f"{name}: {_shown(one, name)}, now {_shown(other, name)}" for name in names if one.get(name) != other.get(name)
    ]


def _shown(configuration: dict[str, Json], name: str) -> str:
    value = configuration.get(name)
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


T = TypeVar("T")

VERSION = 1
"""Of the ledger's form: members are added within it, never changed or removed."""


@dataclass(frozen=True, slots=True)
class Header:
    """What the attempts behind it have in common."""

    fingerprint: str
    dataset: str = ""
    configuration: dict[str, Json] = field(default_factory=dict)
    created: str = ""
    alita: str = ""

    @classmethod
    def of(cls, fingerprint: Fingerprint) -> Header:
        """A header that is written now."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(fingerprint.digest, fingerprint.dataset, fingerprint.configuration, now, alita_version())

    def as_json(self) -> dict[str, Json]:
        """The line of the ledger."""
        return {
            "kind": "header",
            "ledger": VERSION,
            "alita": self.alita,
            "created": self.created,
            "fingerprint": self.fingerprint,
            "dataset": self.dataset,
            "configuration": self.configuration,
        }


@dataclass(frozen=True, slots=True)
class Choice:
    """Which questions count, as the runner was told at a start."""

    tasks: tuple[Task, ...]
    """Without their questions."""
    epochs: int = 1
    """How often each is to be answered."""
    fingerprint: str = ""
    """Of the questions and the configuration that it is for."""

    def as_json(self) -> dict[str, Json]:
        """The line of the ledger."""
        tasks = [{"task_id": task.task_id, "level": task.level, "file_name": task.file_name} for task in self.tasks]
        return {"kind": "selection", "epochs": self.epochs, "fingerprint": self.fingerprint, "tasks": tasks}

    @classmethod
    def from_json(cls, line: dict[str, Any], *, header: str = "") -> Choice:
        """Reads a line.

        Args:
            line: As it stands in the ledger.
            header: The fingerprint of the header before it: what it is for, where an earlier version wrote it.

        Raises:
            ValueError: It is no selection.
        """
        try:
            tasks = [Task(str(t["task_id"]), "", t.get("level"), str(t.get("file_name", ""))) for t in line["tasks"]]
            return cls(tuple(tasks), max(1, int(line.get("epochs", 1))), str(line.get("fingerprint", header)))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"a selection names its tasks: {error}") from None


@dataclass(frozen=True, slots=True)
class Records:
    """What a ledger holds."""

    headers: tuple[Header, ...] = ()
    choices: tuple[Choice, ...] = ()
    """One for each start that changed it; `chosen_of` says what counts."""
    attempts: tuple[Attempt, ...] = ()
    """In the order of writing; where a question and epoch has several, the last one counts."""
    begun: tuple[Begun, ...] = ()
    """Runs of which no attempt follows: the runner was killed, or is at work on them."""
    problems: tuple[str, ...] = ()
    """Lines that cannot be read, each in a sentence; they are left where they are."""


def read_ledger(path: Path) -> Records:
    """What a ledger holds, also while a runner writes it; a torn last line is left out.

    Raises:
        RunError: There is none, it is no ledger, or a later version wrote it.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise RunError(f"The ledger {path} cannot be read: {error.strerror}.") from None
    return records_in(raw[: raw.rfind(b"\n") + 1], path)


def records_in(raw: bytes, path: Path) -> Records:
    """What whole lines hold.

    Raises:
        RunError: They are no ledger, or a later version wrote it.
    """
    headers: list[Header] = []
    choices: list[Choice] = []
    made: list[Attempt | Begun] = []
    problems: list[str] = []
    for number, text in enumerate(raw.split(b"\n"), start=1):
        if not text.strip():
            continue
        line = object_in(text)
        if line is not None and line.get("kind") == "header":
            headers.append(_header(line, path))
        elif not headers:
            raise no_ledger(path)
        elif line is None:
            problems.append(f"line {number} of {path.name} is damaged; its attempt is done again")
        elif line.get("kind") == "selection":
            read = partial(Choice.from_json, header=headers[-1].fingerprint)
            _add(read, line, choices, f"line {number} of {path.name}", problems)
        elif line.get("kind") == "attempt":
            _add(Attempt.from_json, line, made, f"line {number} of {path.name}", problems)
        elif line.get("kind") == "begun":
            _add(Begun.from_json, line, made, f"line {number} of {path.name}", problems)
    attempts = tuple(one for one in made if isinstance(one, Attempt))
    newest = {(one.key, one.fingerprint): one for one in made}
    begun = tuple(one for one in newest.values() if isinstance(one, Begun))
    return Records(tuple(headers), tuple(choices), attempts, begun, tuple(problems))


def chosen_of(choices: Sequence[Choice], fingerprint: str) -> Choice | None:
    """All that was ever chosen under a fingerprint, in the order of the newest choice; None if nothing was."""
    mine = [choice for choice in reversed(choices) if choice.fingerprint == fingerprint]
    if not mine:
        return None
    tasks = {task.task_id: task for choice in mine for task in choice.tasks}
    return Choice(tuple(tasks.values()), max(choice.epochs for choice in mine), fingerprint)


def _add(
    read: Callable[[dict[str, Any]], T], line: dict[str, Any], found: list[T], place: str, problems: list[str]
) -> None:
    try:
        found.append(read(line))
    except ValueError as error:
        problems.append(f"{place} cannot be used: {error}")


def _header(line: dict[str, Any], path: Path) -> Header:
    written = line.get("ledger")
    if not isinstance(written, int) or written > VERSION:
        raise RunError(
            f"The ledger {path} has version {written}, and this alita ({alita_version()}) reads up to {VERSION}.",
            remedy="Use the alita that wrote it, or name another --output.",
        )
    configuration = line.get("configuration")
    told = {name: str(line.get(name, "")) for name in ("fingerprint", "dataset", "created", "alita")}
    return Header(**told, configuration=configuration if isinstance(configuration, dict) else {})


def object_in(text: bytes) -> dict[str, Any] | None:
    """The JSON object that a line is; None where it is none."""
    try:
        value = json.loads(text.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def no_ledger(path: Path) -> RunError:
    """Says that a file is no ledger."""
    return RunError(f"{path} is no ledger: it has no header.", remedy="Name another --output.")


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
