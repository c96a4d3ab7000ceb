"""The values that stand in a question: what a general tool must take as parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from mcp_tools.tool import Json

_QUOTED = re.compile(
    r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)|‘((?:[^’]|(?<=\w)’(?=\w))+)’"
)
_DATE_OR_TIME = re.compile(r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?\b|\b\d{1,2}:\d{2}(?::\d{2})?\b")
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?![\d,]\d|\d)|\d+)(?:\.\d+)?|(?<!\d)\.\d+"
_NUMBER = re.compile(rf"(?<![\w.])[-−]?(?:{_DIGITS})")
_ILLUSTRATION = re.compile(
    r"\b(?:such as|for example|for instance|e\.g\.),? \S+|\bso that \S+ (?:becomes|turns into|is written) \S+",
    re.IGNORECASE,
)
_WRITTEN_NUMBER = re.compile(rf"[-+−]?(?:{_DIGITS})(?:e[-+]?\d{{1,4}})?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Located:
    """A value where it stands."""

    start: int
    end: int
    """Quotes included."""
    kind: str
    """`text`, `time`, which dates are too, or `number`."""
    text: str


def question_values(question: str) -> list[str]:
    """The quoted texts, dates, times and numbers of a question, in order, each once.

    What only shows the form of an answer, "such as 5/36", is none of them.
    """
    return list(dict.fromkeys(value.text for value in located_values(question)))


def located_values(question: str) -> list[Located]:
    """The same with their places, and as often as they stand there."""
    found: list[Located] = []
    rest = _ILLUSTRATION.sub(lambda match: " " * len(match[0]), question)
    for kind, pattern in (("text", _QUOTED), ("time", _DATE_OR_TIME), ("number", _NUMBER)):
        for match in pattern.finditer(rest):
            text = next((group for group in match.groups() if group), match[0]).strip()
            if text:
                found.append(Located(match.start(), match.end(), kind, text))
        rest = pattern.sub(lambda match: " " * len(match[0]), rest)
    return sorted(found, key=lambda value: value.start)


def as_number(text: str) -> Decimal | None:
    """The number that a text writes, thousands separators allowed; None when it is none."""
    if not _WRITTEN_NUMBER.fullmatch(text):
        return None
    return Decimal(text.replace(",", "").replace("−", "-"))


def leaves(value: Json) -> Iterator[Json]:
    """The scalars inside a JSON value, dictionary keys included."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield value
