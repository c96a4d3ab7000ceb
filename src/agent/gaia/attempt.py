"""A question of the benchmark, a set of them with the true answers held apart, and an attempt at one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Any, Literal, TypeVar

from mcp_tools.tool import Json

AttemptStatus = Literal["ok", "error", "timeout", "limit", "missing-file", "interrupted"]
"""`ok`: the run came to its end, with or without an answer. `limit`: a limit ended it, in a best guess if any.
`timeout`: it did not end in time and was killed. `error`: something broke. `missing-file`: it was asked without its
attachment, which was not there. `interrupted`: it was stopped and can be resumed."""

TAKEN = "submission file"
"""In the place of an attempt's model: its answer was taken from a submission file."""
DONE: frozenset[AttemptStatus] = frozenset({"ok", "limit", "timeout"})
"""Statuses that count as a result. A limit that was reached is one: another attempt would be a second chance."""
T = TypeVar("T")
_FORMS: dict[type, Any] = {}


def from_line(kind: type[T], line: Mapping[str, Any]) -> T:
    """A line of a ledger, which this or another version wrote: what is unknown is left out, what is missing is usual.

    Raises:
        ValueError: A member is missing, or of another type.
    """
    from pydantic import TypeAdapter, ValidationError

    form = _FORMS.get(kind) or _FORMS.setdefault(kind, TypeAdapter(kind))
    try:
        read: T = form.validate_python(line)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"`{'.'.join(map(str, first['loc']))}`: {first['msg']}") from None
    return read


class _Line:
    """A line of the ledger that concerns one question in one epoch: a ledger has one result for each."""

    __slots__ = ()
    task_id: str
    epoch: int

    @property
    def key(self) -> tuple[str, int]:
        """The question and the epoch."""
        return self.task_id, self.epoch


@dataclass(frozen=True, slots=True)
class Attempt(_Line):
    """The result of one attempt, and what it took."""

    task_id: str
    epoch: int = 1
    """From 1: the how manyth attempt at the same question."""
    fingerprint: str = ""
    status: AttemptStatus = "ok"
    level: int | None = None
    file_type: str = ""
    """The attachment's extension without its dot, in lower case; empty without one."""
    question_sha256: str = ""
    answer: str = ""
    """In its final form: what is scored."""
    raw_answer: str = ""
    correct: bool | None = None
    """None when the question set holds no answer to compare with."""
    score_path: str = ""
    reason: str = ""
    started: str = ""
    seconds: float = 0.0
    """Seconds of work, without queueing and waiting."""
    waited: float = 0.0
    """Seconds that it waited for an endpoint's rate limit."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars; None when a price is unknown."""
    steps: int = 0
    """As `--max-steps` counts them."""
    actions: int | None = None
    """Calls that were carried out; None in older ledgers, in which `steps` count them."""
    routes: tuple[str, ...] = ()
    tools_created: tuple[str, ...] = ()
    tools_reused: tuple[str, ...] = ()
    tools_failed: tuple[str, ...] = ()
    servers_failed: tuple[str, ...] = ()
    confidence: str = ""
    """Certainty of the answer, judged without the true answer: high, medium or low."""
    resolution: str = ""
    """correct, format_error, retrieval_failure, reasoning_gap, tool_limit or server_tool_use."""
    error: str = ""
    """The failure, as a sentence; never an answer."""
    leaks: tuple[str, ...] = ()
    """Known copies of the dataset that it met, each blocked."""
    set_apart: tuple[str, ...] = ()
    """Actions that were refused, and passages that were not believed, because only foreign text wanted them."""
    run_id: str = ""
    model: str = ""

    def as_json(self) -> dict[str, Json]:
        """The line of the ledger."""
        return {"kind": "attempt", **asdict(self)}


@dataclass(frozen=True, slots=True)
class Begun(_Line):
    """A line of the ledger: an attempt has begun. Its result follows, unless the runner is killed."""

    task_id: str
    epoch: int
    fingerprint: str
    run_id: str


@dataclass(frozen=True, slots=True)
class Lesson(_Line):
    """A line of the ledger: what the overseer made of a wrong attempt."""

    task_id: str
    epoch: int
    fingerprint: str
    run_id: str
    truth: str
    diagnosis: str = ""
    record: str = ""
    """The id of the gap record; empty if none was made."""
    problem: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The part of a question that the agent sees: its text and its file. The true answer has no place here."""

    task_id: str
    question: str = ""
    level: int | None = None
    """1 is the easiest; None when the question file does not tell."""
    file_name: str = ""


class Truths(dict[str, str]):
    """True answers by task id. They reach no text by accident: neither `repr` nor `str` shows one."""

    def __repr__(self) -> str:
        return f"<{len(self)} true answers>"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set of questions."""

    tasks: tuple[Task, ...]
    truths: Mapping[str, str] = field(repr=False)
    """True answers by task id, for the scorer alone. A task without one cannot be scored."""
    origin: str
    """Source of the questions, for people: a path, or the hub's repository with split and revision."""
    fingerprint: str
    """SHA-256 over ids, questions, levels and file names, in their order."""
    problems: tuple[str, ...] = ()
    """Problems of the question file, each with its line and the remedy."""
    source: str = ""
    """The absolute path of the questions, or their name on the hub."""


def dataset_of(tasks: Iterable[Task], truths: Mapping[str, str], origin: str, problems: Iterable[str] = ()) -> Dataset:
    """A dataset with its fingerprint."""
    kept = tuple(tasks)
    digest = hashlib.sha256(b"".join(json.dumps(astuple(task)).encode() + b"\n" for task in kept))
    return Dataset(kept, Truths(truths), origin, digest.hexdigest(), tuple(problems))
