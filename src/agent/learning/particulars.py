"""Whether a gap record tells of one question instead of a class of them: a check that asks no model."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[^\W\d_a-z][\w’'-]{2,}", re.MULTILINE)
_QUOTED = re.compile(r"[\"“‘'`]([^\"”’'`\n]{3,80})[\"”’'`]")
_WORD = re.compile(r"[^\W_]+")
_PHRASE = 5
"""Words that stand in a row in both from which on it is the question's phrase."""
_ALLOWED = frozenset(("python", "wikipedia", "arxiv", "youtube", "excel", "json", "html", "csv", "pdf", "api", "url"))
"""Names of means that every question may use."""


def particulars_in(record: str, question: str, truth: str) -> list[str]:
    """What of a question or its true answer stands in a record: names, numbers, quotations, phrases; each once."""
    return list(dict.fromkeys(_particulars(record, question, truth)))


def _particulars(record: str, question: str, truth: str) -> Iterator[str]:
    said = f" {_plain(record)} "
    for number in _NUMBER.findall(f"{question} {truth}"):
        if len(number) > 1 and re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d])", record):
            yield number
    for name in [*_NAME.findall(question), *_QUOTED.findall(question)]:
        plain = _plain(name)
        if plain and plain not in _ALLOWED and f" {plain} " in said:
            yield name
    answer = _plain(truth)
    if (len(answer) > 2 or answer.isdigit()) and answer not in _ALLOWED and f" {answer} " in said:
        yield truth
    words = _plain(question).split()
    for start in range(len(words) - _PHRASE + 1):
        phrase = " ".join(words[start : start + _PHRASE])
        if f" {phrase} " in said:
            yield phrase


def _plain(text: str) -> str:
    return " ".join(word.casefold() for word in _WORD.findall(text))
