"""Data types of the benchmark: questions, sets of questions with separate reference answers, and attempts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from mcp_tools.text import one_line
from mcp_tools.tool import Json

AttemptStatus = Literal["ok", "error", "timeout", "limit", "missing-file", "interrupted"]
"""`ok`: the run ended, with or without an answer. `limit`: a limit ended it, possibly with a best guess. `timeout`: it
did not stop in time and was killed. `error`: something broke. `missing-file`: the attachment was missing, so the
question was not asked. `interrupted`: it was stopped and can be resumed."""

TAKEN = "submission file"
"""Stored as the model of attempts whose answers were read from a submission file."""
DONE: frozenset[AttemptStatus] = frozenset({"ok", "limit", "timeout"})
"""Statuses that count as a result. Reaching a limit counts, because another attempt would be a second chance."""
MAX_EPOCHS = 1_000
Epoch = Annotated[int, Field(ge=1, le=MAX_EPOCHS)]
_Level = Annotated[int, Field(ge=0, le=999)]
_Count = Annotated[int, Field(ge=0, le=10**12)]
_Amount = Annotated[float, Field(ge=0, le=10**12)]
"""A finite amount. The limit keeps the totals finite, too."""
T = TypeVar("T")
_FORMS: dict[type, Any] = {}


def from_line(kind: type[T], line: Mapping[str, Any]) -> T:
    """Read a line of a ledger of any version. Unknown members are ignored; missing ones get their defaults.

    Raises:
        ValueError: A member is missing, has the wrong type or is out of range.
    """
    form = _FORMS.get(kind) or _FORMS.setdefault(kind, TypeAdapter(kind))
    try:
        read: T = form.validate_python(line)
    except ValidationError as error:
        first = error.errors()[0]
        value = f", not {one_line(repr(first['input']), 40)}" if isinstance(first["input"], int | float) else ""
        raise ValueError(f"`{'.'.join(map(str, first['loc']))}`: {first['msg']}{value}") from None
    return read


class _Line:
    """A ledger line about one question in one epoch."""

    __slots__ = ()
    task_id: str
    epoch: int

    @property
    def key(self) -> tuple[str, int]:
        """The question's id and the epoch, which identify a result."""
        return self.task_id, self.epoch


@dataclass(frozen=True, slots=True)
class Attempt(_Line):
    """The result and the cost of one attempt."""

    task_id: str
    epoch: Epoch = 1
    """Number of this attempt at the question, from 1."""
    fingerprint: str = ""
    status: AttemptStatus = "ok"
    level: _Level | None = None
    file_type: str = ""
    """Lower-case extension of the attachment without its dot; an empty string if there is no attachment."""
    question_sha256: str = ""
    answer: str = ""
    """The answer in the final form, which is scored."""
    raw_answer: str = ""
    correct: bool | None = None
    """True if the answer was right; None if the reference answer is unknown."""
    score_path: str = ""
    reason: str = ""
    started: str = ""
    seconds: _Amount = 0.0
    """Working time in seconds, without queueing and rate-limit waits."""
    waited: _Amount = 0.0
    """Seconds spent waiting for rate limits."""
    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cost: _Amount | None = None
    """Cost in US dollars; None if a price is unknown."""
    steps: _Count = 0
    """Number of steps, counted as for `--max-steps`."""
    actions: _Count | None = None
    """Number of actions performed; None in older ledgers, in which `steps` is the number of actions."""
    routes: tuple[str, ...] = ()
    tools_created: tuple[str, ...] = ()
    tools_reused: tuple[str, ...] = ()
    tools_failed: tuple[str, ...] = ()
    servers_failed: tuple[str, ...] = ()
    confidence: str = ""
    """Confidence in the answer, judged without the reference answer: high, medium or low."""
    resolution: str = ""
    """One of correct, format_error, retrieval_failure, reasoning_gap, tool_limit and server_tool_use."""
    error: str = ""
    """A sentence about the failure; never an answer."""
    leaks: tuple[str, ...] = ()
    """Blocked URLs of known copies of the dataset."""
    set_apart: tuple[str, ...] = ()
    """Actions and passages that were rejected because only external text asked for them."""
    run_id: str = ""
    model: str = ""

    def as_json(self) -> dict[str, Json]:
        """Return the ledger line."""
        return {"kind": "attempt", **asdict(self)}


@dataclass(frozen=True, slots=True)
class Begun(_Line):
    """A ledger line for the start of an attempt. A line with the result follows unless the process is killed."""

    task_id: str
    epoch: Epoch
    fingerprint: str
    run_id: str


@dataclass(frozen=True, slots=True)
class Lesson(_Line):
    """A ledger line with the overseer's lesson from a wrong attempt."""

    task_id: str
    epoch: Epoch
    fingerprint: str
    run_id: str
    truth: str
    diagnosis: str = ""
    record: str = ""
    """Id of the gap record; empty if there is none."""
    problem: str = ""
    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cost: _Amount | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """The part of a question that the agent may see, without the reference answer."""

    task_id: str
    question: str = ""
    level: _Level | None = None
    """Level of difficulty, 1 being the easiest; None if the question file does not state it."""
    file_name: str = ""


class Truths(dict[str, str]):
    """Reference answers by task id. `repr` and `str` hide them, so that they are not logged by accident."""

    def __repr__(self) -> str:
        return f"<{len(self)} true answers>"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A set of questions."""

    tasks: tuple[Task, ...]
    truths: Mapping[str, str] = field(repr=False)
    """Reference answers by task id, for the scorer only. A task without a reference answer cannot be scored."""
    origin: str
    """Human-readable source of the questions: a path, or the hub repository with split and revision."""
    fingerprint: str
    """SHA-256 hash of the ids, questions, levels and file names, in order."""
    problems: tuple[str, ...] = ()
    """Problems in the question file, each with its line and a remedy."""
    source: str = ""
    """Absolute path of the questions, or their name on the hub."""


def dataset_of(tasks: Iterable[Task], truths: Mapping[str, str], origin: str, problems: Iterable[str] = ()) -> Dataset:
    """Return a dataset with its fingerprint."""
    kept = tuple(tasks)
    digest = hashlib.sha256(b"".join(json.dumps(astuple(task)).encode() + b"\n" for task in kept))
    return Dataset(kept, Truths(truths), origin, digest.hexdigest(), tuple(problems))
