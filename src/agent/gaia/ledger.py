"""The ledger of a benchmark: an append-only file of JSON lines, from which all results are derived.

It has these kinds of lines:

    {"kind": "header", "ledger": 1, "alita": "…", "created": "…", "fingerprint": "…", "dataset": "…", …}
    {"kind": "selection", "epochs": 1, "fingerprint": "…", "tasks": [{"task_id": "…", "level": 1, …}, …]}
    {"kind": "begun", "task_id": "…", "epoch": 1, "fingerprint": "…", "run_id": "…"}
    {"kind": "attempt", "task_id": "…", "epoch": 1, "fingerprint": "…", "status": "ok", …}
    {"kind": "lesson", "task_id": "…", "epoch": 1, "fingerprint": "…", "diagnosis": "…", "record": "…", …}
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from agent import alita_version
from agent.errors import RunError, StorageError
from agent.gaia.attempt import Attempt, Begun, Epoch, Lesson, Task, from_line
from agent.store.jsonl_log import AppendedLines
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.tool import Json

VERSION = 1
"""Version of the ledger's format. Within a version, members are only added."""
_BEGINNING = b'{"kind":'


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Identifies a question set and the configuration of a benchmark."""

    dataset: str
    configuration: dict[str, Json] = field(default_factory=dict)
    """Everything that answers depend on: models, roles, limits, library, excluded actions."""

    @property
    def digest(self) -> str:
        """A hash of 16 hexadecimal digits over the questions and the configuration."""
        text = json.dumps([self.dataset, self.configuration], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: the configuration of all attempts in the ledger."""

    fingerprint: str = ""
    dataset: str = ""
    configuration: dict[str, Any] = field(default_factory=dict)
    created: str = ""
    alita: str = ""


@dataclass(frozen=True, slots=True)
class CountedTasks:
    """A line that lists the questions that count from now on."""

    tasks: tuple[Task, ...]
    epochs: Epoch = 1
    fingerprint: str = ""
    source: str = ""
    """Question file or folder, or its name on the hub."""

    def as_json(self) -> dict[str, Json]:
        """Return the ledger line."""
        tasks = [{"task_id": task.task_id, "level": task.level, "file_name": task.file_name} for task in self.tasks]
        line: dict[str, Json] = {"kind": "selection", "epochs": self.epochs, "fingerprint": self.fingerprint}
        return line | {"source": self.source, "tasks": tasks}


@dataclass(frozen=True, slots=True)
class Records:
    """Contents of a ledger."""

    header: Header | None = None
    """None if the file is empty."""
    chosen: CountedTasks | None = None
    """All questions that were ever selected, in the order of the newest selection; None if there are none."""
    attempts: tuple[Attempt, ...] = ()
    """Attempts in the order in which they were written. The last attempt at a question and epoch counts."""
    begun: tuple[Begun, ...] = ()
    """Runs without a result, which are in progress or whose process was killed."""
    lessons: tuple[Lesson, ...] = ()
    problems: tuple[str, ...] = ()
    """A sentence for each unreadable line. These lines are kept."""


def read_ledger(path: Path) -> Records:
    """Read a ledger, even while it is being written. An incomplete last line is ignored.

    Raises:
        RunError: The file does not exist, is not a ledger, or was written by a later version.
    """
    with os_errors_as(RunError, f"The ledger {path} cannot be read"):
        raw = read_small(path, JOURNAL)
    header: Header | None = None
    choices: list[CountedTasks] = []
    made: list[Attempt | Begun] = []
    lessons: list[Lesson] = []
    problems: list[str] = []
    for number, text in enumerate(raw[: raw.rfind(b"\n") + 1].split(b"\n"), start=1):
        if not text.strip():
            continue
        line = object_in(text)
        if line is None and header:
            problems.append(f"line {number} of {path.name} is not a valid JSON object; its attempt will be repeated")
            continue
        kind = line.get("kind") if line else None
        if line is None or (not header and kind != "header"):
            remedy = "Give the ledger of a benchmark, RESULTS.ledger.jsonl, or the results file next to it."
            raise RunError(f"{path} is not a ledger: it has no header.", remedy=remedy)
        try:
            match kind:
                case "header":
                    _require_known(line, path)
                    header = from_line(Header, line)
                case "selection":
                    choices.append(from_line(CountedTasks, line))
                case "attempt":
                    made.append(from_line(Attempt, line))
                case "lesson":
                    lessons.append(from_line(Lesson, line))
                case "begun":
                    made.append(from_line(Begun, line))
        except ValueError as error:
            problems.append(f"line {number} of {path.name} cannot be used: {error}")
    newest = {one.key: one for one in made}
    attempts = tuple(one for one in made if isinstance(one, Attempt))
    begun = tuple(one for one in newest.values() if isinstance(one, Begun))
    tasks = {task.task_id: task for choice in reversed(choices) for task in choice.tasks}
    epochs = max((choice.epochs for choice in choices), default=1)
    chosen = (
        CountedTasks(tuple(tasks.values()), epochs, choices[-1].fingerprint, choices[-1].source) if choices else None
    )
    return Records(header, chosen, attempts, begun, tuple(lessons), tuple(problems))


def _require_known(header: dict[str, Any], path: Path) -> None:
    written = header.get("ledger")
    if not isinstance(written, int) or written > VERSION:
        raise RunError(
            f"The ledger {path} has version {written}; this alita ({alita_version()}) reads versions up to {VERSION}.",
            remedy="Use the alita version that wrote it, or choose another --output.",
        )


def object_in(text: bytes) -> dict[str, Any] | None:
    """Parse a line as a JSON object, with lone surrogates replaced. Return None if it is invalid."""
    try:
        whole = text.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        value = json.loads(whole)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_ledger(path: Path) -> bool:
    """Return True if a file is empty or starts like a ledger."""
    if path.exists() and not path.is_file():
        return False
    with os_errors_as(StorageError, f"{path} cannot be read"), path.open("rb") as file:
        return _BEGINNING.startswith(file.read(len(_BEGINNING)))


class Ledger:
    """A ledger locked by this process for writing. Close it, or use it in a `with` statement.

    A failed write raises a `StorageError` and leaves the ledger unchanged.
    """

    def __init__(self, file: AppendedLines, records: Records, fingerprint: str) -> None:
        self.header = records.header
        self.chosen = records.chosen
        self.begun = records.begun
        self.lessons = records.lessons
        self.problems = records.problems
        self.attempts = list(records.attempts)
        self._fingerprint = fingerprint
        self._file = file

    @classmethod
    def open(cls, path: Path, *, fingerprint: Fingerprint) -> Self:
        """Open or create a ledger and lock it. An incomplete last line, left by a crash, is removed.

        Raises:
            RunError: Another process holds the lock; the file is not a ledger, or was written by a later version; or
                its attempts belong to other questions or another configuration.
            StorageError: The ledger cannot be written.
        """
        if path.is_file() and not is_ledger(path):
            # do not repair another program's file
            raise RunError(f"{path} is not a ledger: it has no header.", remedy="Choose another --output.")
        try:
            lines = AppendedLines.open(path)
        except RunError:
            raise RunError(
                f"Another benchmark is writing the ledger {path}.",
                remedy="Wait until that benchmark finishes, or stop it. For a second benchmark, choose another "
                "--output.",
            ) from None
        try:
            ledger = cls(lines, read_ledger(path), fingerprint.digest)
            ledger._begin(path, fingerprint)
        except BaseException:
            lines.close()
            raise
        return ledger

    def append(self, *attempts: Attempt) -> None:
        """Add a line for each attempt, and sync them to disk."""
        self._write(*(attempt.as_json() for attempt in attempts))
        self.attempts += attempts

    async def record(self, attempt: Attempt) -> None:
        """Add an attempt's line, and return once it is on disk. Other tasks can run in the meantime."""
        with _telling():
            self._file.append([attempt.as_json()])
            await self._file.synced()
        self.attempts += (attempt,)

    def select(self, tasks: Sequence[Task], epochs: int, source: str = "") -> None:
        """Record which questions count, so that no question can silently drop out of the denominator."""
        kept = tuple(Task(task.task_id, "", task.level, task.file_name) for task in tasks)
        chosen = CountedTasks(kept, epochs, self._fingerprint, source)
        if self.chosen != chosen:
            self._write(chosen.as_json())
            self.chosen = chosen

    def learn(self, lesson: Lesson) -> None:
        """Add a line with the lesson from an attempt."""
        self._write({"kind": "lesson", **asdict(lesson)})

    def begin(self, begun: Begun) -> None:
        """Add a line for the start of a run. The line is not synced to disk, and is skipped if the disk is full."""
        with contextlib.suppress(StorageError):  # the error will be reported when the attempt is written
            self._file.append([{"kind": "begun", **asdict(begun)}])

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, path: Path, fingerprint: Fingerprint) -> None:
        if (before := self.header) and before.fingerprint == fingerprint.digest:
            return
        now = datetime.now(UTC).isoformat(timespec="seconds")
        header = Header(fingerprint.digest, fingerprint.dataset, fingerprint.configuration, now, alita_version())
        if before:
            what = ["different questions"] if before.dataset != header.dataset else []
            what += _differences(before.configuration, header.configuration)
            raise RunError(
                f"The ledger {path} contains attempts with another configuration "
                f"({'; '.join(what) or 'another version'}).",
                remedy="Continue with the original options, or choose another --output.",
            )
        self._write({"kind": "header", "ledger": VERSION, **asdict(header)})
        self.header = header

    def _write(self, *lines: dict[str, Json]) -> None:
        with _telling():
            self._file.append(lines, synced=True)


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    """Add a remedy to storage errors raised in the `with` block."""
    try:
        yield
    except StorageError as error:
        raise StorageError(
            f"The ledger could not be saved: {error.message}",
            remedy="Free some space or fix the permissions, then continue with --resume.",
        ) from error


def _differences(one: dict[str, Json], other: dict[str, Json]) -> list[str]:
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    values = {name: [json.dumps(each.get(name), ensure_ascii=False) for each in (one, other)] for name in names}
    return [f"{name} was {before}, and is now {after}" for name, (before, after) in values.items()]
