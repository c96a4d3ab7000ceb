"""Worked examples of programs over files: the few that are nearest to a question and to what its files hold."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from functools import cache

from agent.models.protocol import Message
from mcp_tools.prompt import load_prompt

SHOWN = 3
"""More of them distract a small model, and take longer to read."""
_LEAST = 0.35
"""The likeness from which on an example helps more than it distracts."""
_DATA = re.compile(r"<data source=\"variables\">\n(.*)\n</data>\n(.*)", re.DOTALL)
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)
_HELD = {
    "table": re.compile(r"^(?!\w*cells|items|lines)\w+: DataFrame", re.MULTILINE),
    "tables": re.compile(r"^(?!\w*cells)\w+: DataFrame.*^(?!\w*cells)\w+: DataFrame", re.MULTILINE | re.DOTALL),
    "cells": re.compile(r"^\w*cells: DataFrame", re.MULTILINE),
    "items": re.compile(r"^items: DataFrame", re.MULTILINE),
    "lines": re.compile(r"^lines: DataFrame", re.MULTILINE),
    "text": re.compile(r"^\w+: str", re.MULTILINE),
    "tree": re.compile(r"^\w+: (?:dict|list of \d+, from JSON)", re.MULTILINE),
    "element": re.compile(r"^\w+: xml", re.MULTILINE),
    "pages": re.compile(r"^\w+: list of \d+ str", re.MULTILINE),
}
"""What variables can be, as it is told."""
_COLUMNS = {
    "moments": re.compile(r"^  '.*': datetime", re.MULTILINE),
    "times": re.compile(r"^  '.*': text, .*'\d{1,2}:\d\d'", re.MULTILINE),
    **{look: re.compile(rf"^  '{look}':", re.MULTILINE) for look in ("fill", "comment", "formula", "merged_columns")},
    "hidden": re.compile(r"^  'hidden", re.MULTILINE),
}
"""What their columns can be."""
_SAME_HELD, _SAME_COLUMN = 0.3, 0.15
"""What these count beside the words of the questions, whose likeness goes from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question about variables, and the program that answers it."""

    held: frozenset[str]
    columns: frozenset[str]
    words: frozenset[str]
    messages: tuple[Message, Message]


def nearest(variables: str, question: str, count: int = SHOWN) -> list[Message]:
    """The messages of the examples that are near enough, the nearest one last: it is read best.

    Likeness is the cosine of the questions' words, rare ones counting more, and what their variables have in common.
    """
    pool = _pool()
    held, columns, words = _found(_HELD, variables), _found(_COLUMNS, variables), _words(question)
    having = Counter(word for example in pool for word in example.words)
    weights = {word: math.log(1 + len(pool) / max(having[word], 1)) for word in words | having.keys()}

    def length(some: Set[str]) -> float:
        return math.sqrt(sum(weights[word] ** 2 for word in some)) or 1.0

    def likeness(example: Example) -> float:
        asked = length(words & example.words) ** 2 / (length(words) * length(example.words))
        of_kind = len(held & example.held) / max(len(held | example.held), 1)
        of_columns = len(columns & example.columns) - len(example.columns - columns)
        return asked + _SAME_HELD * of_kind + _SAME_COLUMN * of_columns

    near = sorted((likeness(example), place) for place, example in enumerate(pool))[-count:]
    return [message for close, place in near if close >= _LEAST for message in pool[place].messages]


@cache
def _pool() -> tuple[Example, ...]:
    turns = load_prompt("agent.small", "file_examples").render()
    return tuple(_example(asked, answered) for asked, answered in zip(turns[::2], turns[1::2], strict=True))


def _example(asked: Message, answered: Message) -> Example:
    told = _DATA.fullmatch(asked["content"])
    assert told, "every example shows its variables first"
    return Example(_found(_HELD, told[1]), _found(_COLUMNS, told[1]), _words(told[2]), (asked, answered))


def _found(signs: dict[str, re.Pattern[str]], variables: str) -> frozenset[str]:
    return frozenset(name for name, sign in signs.items() if sign.search(variables))


def _words(question: str) -> frozenset[str]:
    """The words of a question, without the endings of plurals: what is asked counts, and less what it is about."""
    return frozenset(re.sub(r"(?<=\w\w\w)(?:es|s)$", "", word.casefold()) for word in _WORD.findall(question))
