"""What a question is, and the list that the modules enter theirs into."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class Draw:
    """Drawn values, the same on every machine and Python: all of them come from `Random.random`."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311 - made-up data, not a secret

    def number(self, low: int, high: int) -> int:
        """A whole number, both ends included."""
        return low + int(self._random.random() * (high - low + 1))

    def one(self, of: Sequence[T]) -> T:
        """One of them."""
        return of[self.number(0, len(of) - 1)]

    def shuffled(self, of: Sequence[T]) -> list[T]:
        """All of them in another order."""
        rest = list(of)
        return [rest.pop(self.number(0, len(rest) - 1)) for _ in of]

    def some(self, of: Sequence[T], count: int) -> list[T]:
        """That many different ones."""
        return self.shuffled(of)[:count]


@dataclass(frozen=True, slots=True)
class Made:
    """What the function of a question gives."""

    text: str
    """The question as it is asked, with the form of the answer."""
    answer: str | int | float
    content: bytes | Callable[[], bytes | None] | None = None
    """The attachment; a function for pictures and sounds, which gives None where their program is missing."""
    recipe: str = ""
    """What is drawn or spoken: such a file is made anew only when this changes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A question of the set, before it is made."""

    task_id: str
    level: int
    extension: str
    """Of the attachment, with the dot; empty without one."""
    tools: tuple[str, ...]
    web: bool
    steps: tuple[str, ...]
    make: Callable[[Draw], Made]

    @property
    def file_name(self) -> str:
        """Of the attachment; empty without one."""
        return self.task_id + self.extension if self.extension else ""

    def made(self) -> Made:
        """The question with its answer and attachment."""
        return self.make(Draw(self.task_id))


ENTRIES: list[Entry] = []


def question(level: int, extension: str = "", *, tools: str, web: bool = False) -> Callable[..., Any]:
    """Enters a function: its name is the id of the question, the sentences of its docstring are the steps."""

    def enter(make: Callable[[Draw], Made]) -> Callable[[Draw], Made]:
        steps = tuple(step.strip() for step in " ".join((make.__doc__ or "").split()).rstrip(".").split(". "))
        task_id = make.__name__.replace("_", "-")
        ENTRIES.append(Entry(task_id, level, extension, tuple(tools.split(", ")), web, steps, make))
        return make

    return enter


def only_best(scores: dict[str, Any]) -> str:
    """The name with the highest value.

    Raises:
        ValueError: Two share it, and the question would have two answers.
    """
    best = max(scores.values())
    names = [name for name, value in scores.items() if value == best]
    if len(names) > 1:
        raise ValueError(f"{names} share {best}: change the question")
    return names[0]
