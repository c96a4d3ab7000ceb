"""A question of the benchmark, and a set of them with its true answers held apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, field


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
