"""What is written in each round: which prompt, how freely, and with which idioms.

A strong model writes one function a round. A weak one writes functions and whole programs, from prompts that are as
different as can be: what one misleads it to, the others do not, and wrong answers that differ are outvoted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mcp_tools.create.idioms import Idiom, nearest

Idioms = Literal["none", "shown", "begun"]
"""Nothing, the nearest idioms with the question, or the nearest one as the beginning of the reply."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Texts to be asked for with one prompt."""

    prompt: str
    temperature: float
    idioms: Idioms = "none"
    count: int = 1


STRONG = (
    (Attempt("write", 0.0),),
    (Attempt("plan_and_write", 0.2),),
    (Attempt("write", 0.4),),
)
WEAK = (
    (Attempt("write", 0.6, count=2),),
    (Attempt("write", 0.6, "begun"),),
)
PROGRAMS = (
    (Attempt("program", 0.0, "shown"), Attempt("plain_program", 0.0), Attempt("plain_program", 0.0, "begun")),
    (Attempt("program", 0.7), Attempt("plain_program", 0.7, "begun"), Attempt("plain_program", 0.7)),
)
"""Whole programs that a weak model writes beside the functions."""


def idioms_for(attempt: Attempt, question: str, *, without: str = "") -> list[Idiom]:
    """The idioms that an attempt works with: a reply begins with the nearest one only, since it calls what it sees."""
    if attempt.idioms == "none":
        return []
    return nearest(question, most=1 if attempt.idioms == "begun" else 2, without=without)


def repeats(attempt: Attempt, idioms: list[Idiom]) -> bool:
    """Whether a greedy attempt would be the one without idioms again, for want of a near one."""
    return attempt.idioms == "begun" and not idioms and attempt.temperature == 0
