"""What a measured question is: a template, four sets of values, and the function that knows the answer."""

from __future__ import annotations

import json
import math
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

Json = Any
Values = dict[str, Json]
Difficulty = Literal["easy", "medium", "hard"]
Split = Literal["dev", "test"]

HELD_BACK = 3
QUESTIONS: list[Question] = []
"""Every question, in the order of the modules that define them."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its reference answer, for the asked values and for the held-back ones."""

    id: str
    kind: str
    difficulty: Difficulty
    split: Split
    template: str
    """Text with `{name}` for each value; see `Wording` for how lists are shown."""
    solve: Callable[..., Json]
    """Takes the values by name."""
    values: Values
    held_back: tuple[Values, ...]

    def text(self, values: Values) -> str:
        """Words the question with these values."""
        return Wording().vformat(self.template, (), values)

    def answer(self, values: Values) -> Json:
        """Computes the answer for these values."""
        return self.solve(**values)

    def row(self) -> dict[str, Json]:
        """The line of `questions.jsonl`."""
        return {
            "id": self.id,
            "kind": self.kind,
            "difficulty": self.difficulty,
            "split": self.split,
            "question": self.text(self.values),
            "answer": self.answer(self.values),
            "values": self.values,
            "held_back": [{"question": self.text(v), "values": v, "answer": self.answer(v)} for v in self.held_back],
        }


class Wording(string.Formatter):
    """Formats lists and dicts as a person writes them; numbers and strings keep Python's format specs."""

    def format_field(self, value: Json, format_spec: str) -> str:
        """Shows one value; `_SHOWN` has the specs of lists and dicts."""
        if not isinstance(value, list | dict):
            return format(value, format_spec)
        shown = _SHOWN[format_spec or type(value).__name__]
        return shown(value)


def _listed(values: list[Json]) -> str:
    return ", ".join(str(v) for v in values)


def _joined(values: list[Json]) -> str:
    return " and ".join(str(v) for v in values)


def _point(values: list[Json]) -> str:
    return f"({_listed(values)})"


_SHOWN: dict[str, Callable[[Any], str]] = {
    "list": _listed,
    "dict": lambda d: "; ".join(f"{k}: {_listed(v) if isinstance(v, list) else v}" for k, v in d.items()),
    "and": _joined,
    "pairs": lambda pairs: ", ".join(_joined(p) for p in pairs),
    "point": _point,
    "points": lambda points: ", ".join(_point(p) for p in points),
    "json": json.dumps,
    "lines": lambda lines: "\n".join(lines),
    "after": lambda needs: "; ".join(f"{k} after {_joined(v)}" for k, v in needs.items()),
}


def of_kind(kind: str) -> Callable[..., Callable[[Callable[..., Json]], Callable[..., Json]]]:
    """Returns a decorator that registers reference functions as questions of this kind."""

    def question(
        difficulty: Difficulty, split: Split, template: str, *values: Values
    ) -> Callable[[Callable[..., Json]], Callable[..., Json]]:
        def register(solve: Callable[..., Json]) -> Callable[..., Json]:
            asked, *held_back = values
            if len(held_back) != HELD_BACK:
                raise ValueError(f"{solve.__name__} has {len(held_back)} held-back sets, not {HELD_BACK}")
            name = solve.__name__.replace("_", "-")
            QUESTIONS.append(Question(name, kind, difficulty, split, template, solve, asked, tuple(held_back)))
            return solve

        return register

    return question


def rounded(value: float | Fraction, places: int) -> float:
    """Rounds, and refuses a value so near to a tie that honest programs would disagree."""
    scaled = abs(float(value)) * 10**places
    if abs(scaled - math.floor(scaled) - 0.5) < 1e-4:
        raise ValueError(f"{value} is a tie at {places} decimals: choose other values")
    return round(float(value), places)


def sole_best(scores: Mapping[str, float | Fraction]) -> str:
    """The name with the highest score; refuses a tie, which would leave the answer open."""
    best, *others = sorted(scores, key=lambda name: scores[name], reverse=True)
    if others and scores[others[0]] == scores[best]:
        raise ValueError(f"{best} and {others[0]} are tied: choose other values")
    return best
