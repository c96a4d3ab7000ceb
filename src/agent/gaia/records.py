"""What a ledger holds, line by line, how it is read, and what makes two of its attempts comparable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agent.errors import RunError
from agent.gaia.attempt import Attempt, Begun
from agent.gaia.questions.task import Task
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
