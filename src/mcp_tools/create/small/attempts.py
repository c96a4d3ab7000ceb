"""What is written in each round: which prompt, how freely, and with which snippets.

A small model writes functions and whole programs, from prompts that are as different as can be: what one misleads it
to, the others do not, and wrong answers that differ are outvoted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mcp_tools.create.small.snippets import Snippet, nearest

Snippets = Literal["none", "shown", "begun"]
"""Nothing, the nearest snippets with the question, or the nearest one as the beginning of the reply."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Texts to be asked for with one prompt."""

    prompt: str
    temperature: float
    snippets: Snippets = "none"
    count: int = 1


FUNCTIONS = (
    (Attempt("write", 0.6, count=2),),
    (Attempt("write", 0.6, "begun"),),
)
PROGRAMS = (
    (Attempt("program", 0.0, "shown"), Attempt("plain_program", 0.0), Attempt("plain_program", 0.0, "begun")),
    (Attempt("program", 0.7), Attempt("plain_program", 0.7, "begun"), Attempt("plain_program", 0.7)),
)
"""Whole programs, in addition to the functions."""


def snippets_for(attempt: Attempt, question: str, *, without: str = "") -> list[Snippet]:
    """The snippets of an attempt: a reply begins with the nearest one only, since it calls what it sees."""
    if attempt.snippets == "none":
        return []
    return nearest(question, most=1 if attempt.snippets == "begun" else 2, without=without)


def repeats(attempt: Attempt, snippets: list[Snippet]) -> bool:
    """Whether a greedy attempt would be the one without snippets again, for want of a near one."""
    return attempt.snippets == "begun" and not snippets and attempt.temperature == 0
