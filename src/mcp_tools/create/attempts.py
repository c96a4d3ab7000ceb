"""What is written in each round: which prompt, how freely, and whether idioms are shown.

A strong model writes one function a round. A weak one writes functions and whole programs, from prompts that are as
different as can be: what one misleads it to, the others do not, and wrong answers that differ are outvoted.
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
    (Attempt("write", 0.6, count=2),),
    (Attempt("write", 0.6, idioms=True),),
    (Attempt("write", 0.8, idioms=True), Attempt("write", 0.0)),
)
PROGRAMS = (
    (Attempt("program", 0.0, idioms=True), Attempt("plain_program", 0.0), Attempt("program", 0.7)),
    (Attempt("program", 0.7, idioms=True), Attempt("plain_program", 0.7)),
    (Attempt("program", 0.8, idioms=True), Attempt("program", 0.8)),
)
"""Whole programs that a weak model writes beside the functions."""
ROUNDS = len(STRONG)
