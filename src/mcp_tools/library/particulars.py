"""The concrete details of a question: quoted texts, numbers, dates, times and names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from mcp_tools.text import words

QUOTED = re.compile(
    r"`([^`]+)`|\"([^\"]+)\"|[“”„]([^“”„]+)[“”]|«([^«»]+)»"
    r"|(?<!\w)'((?:[^'\n]|(?<=\w)'(?=\w))+)'(?!\w)|‘((?:[^’]|(?<=\w)’(?=\w))+)’"
)
"""A text in quotation marks. One of the groups is the text."""
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DATE_OR_TIME = re.compile(r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?\b|\b\d{1,2}:\d{2}(?::\d{2})?\b")
_NUMERAL = r"(?:\d{1,3}(?:,\d{3})+(?![\d,]\d|\d)|\d+)(?:\.\d+)?|(?<!\d)\.\d+"
_VALUE = re.compile(rf"(?<![\w.])[-−]?(?:{_NUMERAL})")
_WRITTEN_NUMBER = re.compile(rf"[-+−]?(?:{_NUMERAL})(?:e[-+]?\d{{1,4}})?", re.IGNORECASE)
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b)", re.IGNORECASE)
_NAME = re.compile(r"\b[^\W\d_a-z][\w’'-]{2,}")
_ILLUSTRATION = re.compile(
    r"\b(?:such as|for example|for instance|e\.g\.),? \S+|\bso that \S+ (?:becomes|turns into|is written) \S+",
    re.IGNORECASE,
)
FUNCTION_WORDS = words(
    """
    a about above after again all also am an and any are as at be because been before being below between both but
    by can could did do does doing down during each every exactly few for from further give given gives had has have
    having he her here hers him his how i if in into is it its itself just let many me more most much must my no nor
    not now of off on once one only or other our out over own please s same shall she should so some such t than
    that the their them then there these they this those through to too under until up us use used using value very
    was we were what when where which while who whom whose why will with would you your
    """
)
"""Common words that say nothing about a question's topic."""


def quoted_in(text: str) -> list[str]:
    """Return the quoted texts in a text, without duplicates. Lines and code spans are searched separately too."""
    parts = [text, *text.replace("`", " ").splitlines()]
    return list(dict.fromkeys(next(filter(None, found)).strip() for part in parts for found in QUOTED.findall(part)))


def without_quotes(text: str) -> str:
    """Return the text with quoted parts removed."""
    return QUOTED.sub(" ", text)


def capitalised_in(text: str) -> list[str]:
    """Return the words that begin with a capital letter, in order, without a possessive s."""
    return [re.sub(r"['’-]+s?$", "", name) for name in _NAME.findall(text)]


def numbers_in(text: str) -> frozenset[Decimal]:
    """Return the unsigned numbers in a text. A percentage also counts as the rate, 1 + rate and 1 - rate."""
    found: set[Decimal] = set()
    for match in _VALUE.finditer(text):
        written = match[0].lstrip("-−")
        for part in (written.replace(",", ""), *written.split(",")):  # `1,234` may also be a list of two numbers
            rate = (number := Decimal(part)) / 100
            found |= {number, rate, 1 + rate, 1 - rate} if _PERCENT.match(text, match.end()) else {number}
    return frozenset(found)


def as_number(text: str) -> Decimal | None:
    """Return a text as a number, or None if it is not one. Thousands separators are allowed."""
    if not _WRITTEN_NUMBER.fullmatch(text):
        return None
    return Decimal(text.replace(",", "").replace("−", "-"))


@dataclass(frozen=True, slots=True)
class Located:
    """A value and its position in a text."""

    start: int
    end: int
    """Index of the first character after the value and its quotes."""
    kind: str
    """`text`, `time` (which includes dates) or `number`."""
    text: str


def located_values(question: str) -> list[Located]:
    """Return the quoted texts, dates, times and numbers of a question, in order.

    Values that only illustrate the form of the answer ("such as 5/36") are left out.
    """
    found: list[Located] = []
    rest = _ILLUSTRATION.sub(lambda match: " " * len(match[0]), question)
    for kind, pattern in (("text", QUOTED), ("time", _DATE_OR_TIME), ("number", _VALUE)):
        for match in pattern.finditer(rest):
            text = next((group for group in match.groups() if group), match[0]).strip()
            if text:
                found.append(Located(match.start(), match.end(), kind, text))
        rest = pattern.sub(lambda match: " " * len(match[0]), rest)
    return sorted(found, key=lambda value: value.start)
