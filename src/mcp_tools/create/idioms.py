"""Idioms: short pieces of working code that a writer sees when a question is near to them.

They stand in `idioms.md`. A strong model does not need them; a small one, which knows the words of an algorithm
but not always its steps, follows what it sees.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources

_SECTION = re.compile(
    r"^## (?P<title>[^\n]+)\n(?P<words>[^\n]+)\n```python\n(?P<code>.*?)\n```$", re.MULTILINE | re.DOTALL
)
_STEM = 5
_NEAR_ENOUGH = 0.6
"""Of the nearest idiom's score, what another one must reach to be shown beside it."""
_LEAST_SHARED = 2
"""Words that question and idiom must have in common; one is chance."""
_STOP_WORDS = frozenset(
    [
        *("and", "are", "both", "can", "does", "for", "from", "has", "have", "how", "into", "its", "many", "much"),
        *("not", "that", "the", "them", "then", "there", "these", "they", "this", "was", "what", "when", "where"),
        *("which", "who", "will", "with", "you", "your"),
    ]
)


@dataclass(frozen=True, slots=True)
class Idiom:
    """One way of computing."""

    title: str
    stems: frozenset[str]
    """Of its title and of the words that questions use for it."""
    code: str


@cache
def all_idioms() -> tuple[Idiom, ...]:
    """The idioms, in the order of their file."""
    text = (resources.files("mcp_tools.create") / "idioms.md").read_text(encoding="utf-8")
    return tuple(
        Idiom(found["title"], frozenset(_stems(f"{found['title']} {found['words']}")), found["code"])
        for found in _SECTION.finditer(text)
    )


def nearest(question: str, *, most: int = 2, without: str = "") -> list[Idiom]:
    """The idioms that share the rarest words with a question, the nearest first; none when nothing is near.

    Args:
        question: What is asked.
        most: How many at the most.
        without: The name of the wanted function: an idiom that defines it would call itself.
    """
    asked = set(_stems(question))
    weights = _weights()
    scores = {
        idiom: sum(weights[stem] for stem in idiom.stems & asked)
        for idiom in all_idioms()
        if len(idiom.stems & asked) >= _LEAST_SHARED
    }
    near = [idiom for idiom, score in scores.items() if score >= max(scores.values()) * _NEAR_ENOUGH]
    shown = sorted(near, key=lambda idiom: -scores[idiom])[:most]
    return [idiom for idiom in shown if f"def {without}(" not in idiom.code]


def as_prompt(idioms: list[Idiom]) -> str:
    """The idioms as a writer reads them; empty when there are none."""
    if not idioms:
        return ""
    shown = "\n\n".join(f"# {idiom.title}\n{idiom.code}" for idiom in idioms)
    return (
        "These functions are there already. Call them where they fit, else write your own after their pattern:\n"
        f"```python\n{shown}\n```\n"
    )


@cache
def _weights() -> dict[str, float]:
    """Of each stem, how rare it is among the idioms."""
    idioms = all_idioms()
    counts = Counter(stem for idiom in idioms for stem in idiom.stems)
    return {stem: math.log(len(idioms) / count) for stem, count in counts.items()}


def _stems(text: str) -> list[str]:
    return [word[:_STEM] for word in re.findall(r"[a-z]{3,}", text.lower()) if word not in _STOP_WORDS]
