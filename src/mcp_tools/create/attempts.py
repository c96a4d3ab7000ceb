"""What is written in each round: which prompt, how freely, and whether idioms are shown.

A strong model writes one function a round. A weak one writes functions and whole programs, each its likeliest first:
that one is right most often, and attempts from other prompts err in other ways. Samples and idioms follow where the
first round does not agree.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attempt:
    """Texts to be asked for with one prompt."""

    prompt: str
    temperature: float
    idioms: bool = False
    count: int = 1


STRONG = (
    (Attempt("write", 0.0),),
    (Attempt("plan_and_write", 0.2),),
    (Attempt("write", 0.4),),
)
WEAK = (
    (Attempt("write", 0.0), Attempt("write", 0.6)),
    (Attempt("write", 0.6, idioms=True, count=2),),
    (Attempt("write", 0.8, count=2),),
)
PROGRAMS = (
    (Attempt("plain_program", 0.0), Attempt("program", 0.0)),
    (Attempt("program", 0.0, idioms=True), Attempt("plain_program", 0.7)),
    (Attempt("program", 0.7, idioms=True, count=2),),
)
"""Whole programs that a weak model writes beside the functions."""
ROUNDS = len(STRONG)
