"""A question of the benchmark, a set of them with the true answers held apart, and an attempt at one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field, fields
from typing import Any, Literal, get_args

from mcp_tools.tool import Json

AttemptStatus = Literal["ok", "error", "timeout", "limit", "missing-file", "interrupted"]
"""`ok`: the run came to its end, with or without an answer. `limit`: a limit ended it, in a best guess if any.
`timeout`: it did not end in time and was killed. `error`: something broke. `missing-file`: it was asked without its
attachment, which was not there. `interrupted`: it was stopped and can go on."""

STATUSES: tuple[AttemptStatus, ...] = get_args(AttemptStatus)
DONE: frozenset[AttemptStatus] = frozenset({"ok", "limit", "timeout"})
"""What counts as a result. A limit that was reached is one: another attempt would be a second chance."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of one attempt, and what it took."""

    task_id: str
    epoch: int = 1
    """From 1: the how manyth attempt at the same question."""
    fingerprint: str = ""
    """Of question set and configuration."""
    status: AttemptStatus = "ok"
    level: int | None = None
    file_type: str = ""
    """The attachment's extension without its dot, in lower case; empty without one."""
    question_sha256: str = ""
    answer: str = ""
    """In its final form: what is scored."""
    raw_answer: str = ""
    """As the agent gave it."""
    correct: bool | None = None
    """None when the question set holds no answer to compare with."""
    score_path: str = ""
    reason: str = ""
    """Why it was scored as it was."""
    started: str = ""
    """UTC, ISO 8601."""
    seconds: float = 0.0
    """Of work: neither queueing nor waiting counts."""
    waited: float = 0.0
    """Seconds that it waited for an endpoint's rate limit."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars; None when a price is unknown."""
    steps: int = 0
    routes: tuple[str, ...] = ()
    """The actions in their order."""
    tools_created: tuple[str, ...] = ()
    tools_reused: tuple[str, ...] = ()
    tools_failed: tuple[str, ...] = ()
    resolution: str = ""
    """correct, format_error, retrieval_failure, reasoning_gap, tool_limit or server_tool_use."""
    error: str = ""
    """What went wrong, as a sentence; never an answer."""
    leaks: tuple[str, ...] = ()
    """Known copies of the dataset that it met, each blocked."""
    set_apart: tuple[str, ...] = ()
    """Actions that were refused, and passages that were not believed, because only foreign text wanted them."""
    run_id: str = ""
    model: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """The question and the epoch: a ledger has one result for each."""
        return self.task_id, self.epoch

    def as_json(self) -> dict[str, Json]:
        """The line of the ledger."""
        return {"kind": "attempt", **asdict(self)}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Attempt:
        """Reads a line that this or another version wrote: what is unknown is left out, what is missing has defaults.

        Raises:
            ValueError: It has no task, or a member is of another type.
        """
        known = {name: _as_typed(name, line[name]) for name in _TYPES if name in line}
        if not known.get("task_id"):
            raise ValueError("an attempt has a task_id")
        if known.get("status", "ok") not in STATUSES:
            raise ValueError(f"there is no status {str(known['status'])[:40]!r}")
        return cls(**known)


_TYPES: dict[str, str] = {field.name: str(field.type) for field in fields(Attempt)}
_PLAIN: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "AttemptStatus": str,
    "int": int,
    "float": (int, float),
    "int | None": (int, type(None)),
    "bool | None": (bool, type(None)),
    "float | None": (int, float, type(None)),
}


def _as_typed(name: str, value: Any) -> Any:
    """The value as its field wants it.

    Raises:
        ValueError: It is of another type.
    """
    wanted = _TYPES[name]
    if wanted == "tuple[str, ...]":
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return tuple(value)
    elif isinstance(value, _PLAIN[wanted]) and (isinstance(value, bool) is False or wanted == "bool | None"):
        return value
    raise ValueError(f"`{name}` is {wanted}, not {str(value)[:40]!r}")


@dataclass(frozen=True, slots=True)
class Begun:
    """A line of the ledger, of which an attempt follows unless the runner is killed."""

    task_id: str
    epoch: int
    fingerprint: str
    run_id: str

    @property
    def key(self) -> tuple[str, int]:
        """The question and the epoch."""
        return self.task_id, self.epoch

    def as_json(self) -> dict[str, Json]:
        """The line of the ledger."""
        return {"kind": "begun", **asdict(self)}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Begun:
        """Reads a line.

        Raises:
            ValueError: It names no run.
        """
        try:
            return cls(str(line["task_id"]), int(line["epoch"]), str(line["fingerprint"]), str(line["run_id"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"a run that was begun has a question, an epoch and an id: {error}") from None


def interrupted(begun: Iterable[Begun], fingerprint: str) -> dict[tuple[str, int], Attempt]:
    """What a kill left of a configuration, by question and epoch, as attempts that were interrupted."""
    return {
        one.key: Attempt(one.task_id, one.epoch, fingerprint, status="interrupted", run_id=one.run_id)
        for one in begun
        if one.fingerprint == fingerprint
    }


@dataclass(frozen=True, slots=True)
class Task:
    """What the agent may see of a question: its text and its file. The true answer has no place here."""

    task_id: str
    question: str
    level: int | None = None
    """1 is the easiest; None when the question file does not tell."""
    file_name: str = ""
    """Name of the attached file; empty when there is none."""


class Truths(Mapping[str, str]):
    """True answers by task id. They reach no text by accident: neither `repr` nor `str` shows one."""

    __slots__ = ("_answers",)

    def __init__(self, answers: Mapping[str, str]) -> None:
        self._answers = dict(answers)

    def __getitem__(self, task_id: str) -> str:
        return self._answers[task_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)

    def __repr__(self) -> str:
        return f"<{len(self)} true answers>"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set of questions."""

    tasks: tuple[Task, ...]
    truths: Mapping[str, str] = field(repr=False)
    """True answers by task id, for the scorer alone. A task without one cannot be scored."""
    origin: str
    """Where the questions come from, for people: a path, or the hub's repository with split and revision."""
    fingerprint: str
    """SHA-256 over the tasks in their order."""
    problems: tuple[str, ...] = ()
    """What was wrong with the question file, each with its line and what was done about it."""


def dataset_of(tasks: Iterable[Task], truths: Mapping[str, str], origin: str, problems: Iterable[str] = ()) -> Dataset:
    """A dataset with its fingerprint."""
    kept = tuple(tasks)
    return Dataset(kept, Truths(truths), origin, fingerprint_of(kept), tuple(problems))


def fingerprint_of(tasks: Iterable[Task]) -> str:
    """SHA-256 over ids, questions, levels and file names, in their order."""
    digest = hashlib.sha256()
    for task in tasks:
        digest.update(json.dumps(astuple(task)).encode() + b"\n")
    return digest.hexdigest()
