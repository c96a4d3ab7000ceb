"""The values that stand in a question: what a general tool must take as parameters."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from mcp_tools.tool import Json

_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^'\n]+)'(?!\w)|‘([^’]+)’")
_DATE_OR_TIME = re.compile(r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?\b|\b\d{1,2}:\d{2}(?::\d{2})?\b")
_NUMBER = re.compile(
    r"(?<![\w.])[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?!\w)|(?<![\w.])[-−]?\d+(?=(?:st|nd|rd|th)\b|[a-zA-Z%°])"
)
_WORDS = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
]
NUMBER_WORDS = {word: Decimal(value) for value, word in enumerate(_WORDS)}


def question_values(question: str) -> list[str]:
    """The quoted texts, dates, times and numbers of a question, in order, each once."""
    found: dict[str, int] = {}
    rest = question
    for pattern in (_QUOTED, _DATE_OR_TIME, _NUMBER):
        for match in pattern.finditer(rest):
            value = next((group for group in match.groups() if group), match[0])
            found.setdefault(value.strip(), match.start())
        rest = pattern.sub(lambda match: " " * len(match[0]), rest)
    return sorted((value for value in found if value), key=lambda value: found[value])


def as_number(text: str) -> Decimal | None:
    """The number that a text writes, thousands separators allowed; None when it is none."""
    try:
        return Decimal(text.replace(",", "").replace("−", "-"))
    except InvalidOperation:
        return None


def numbers_of(question: str) -> set[Decimal]:
    """Every number of the question, digits and small number words, also those inside dates and quoted text."""
    digits = {as_number(text) for text in re.findall(r"\d[\d,]*(?:\.\d+)?", question)}
    parts = {as_number(text) for text in re.findall(r"\d+", question)}
    words = {NUMBER_WORDS[word] for word in re.findall(r"[a-z]+", question.lower()) if word in NUMBER_WORDS}
    return {number for number in digits | parts if number is not None} | words


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


def grounded(value: Json, question: str) -> Json:
    """The value as the question writes it.

    A small model that copies turns 6.5 % into 0.065 and loses letters of long texts: a fraction whose hundredfold
    stands in the question becomes that, a text that nearly equals a quoted one becomes the quoted one.
    """
    numbers = numbers_of(question)
    quoted = [next(group for group in match.groups() if group) for match in _QUOTED.finditer(question)]

    def mend(leaf: Json) -> Json:
        if isinstance(leaf, float) and Decimal(str(leaf)) not in numbers:
            hundredfold = (Decimal(str(leaf)) * 100).normalize()
            return float(hundredfold) if hundredfold in numbers else leaf
        if isinstance(leaf, str) and len(leaf) >= 8 and leaf not in question:
            close = difflib.get_close_matches(leaf, quoted, n=1, cutoff=0.85)
            return close[0] if close else leaf
        return leaf

    return _mapped(value, mend)


def _mapped(value: Json, change: object) -> Json:
    if isinstance(value, dict):
        return {key: _mapped(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mapped(inner, change) for inner in value]
    assert callable(change)
    return change(value)


def stands_in(value: Json, question: str) -> bool:
    """Whether anything of the value comes from the question; what the model invented is no parameter."""
    numbers = numbers_of(question)
    words = set(re.findall(r"\w+", question.casefold()))

    def known(leaf: Json) -> bool:
        if isinstance(leaf, bool) or leaf is None:
            return False
        if isinstance(leaf, int | float):
            return abs(Decimal(str(leaf))) in numbers
        parts = re.findall(r"\w+", str(leaf).casefold())
        if not parts:
            return str(leaf) in question
        return any(part in words or as_number(part) in numbers for part in parts)

    return any(known(leaf) for leaf in leaves(value))


def uncovered(question: str, arguments: dict[str, Json]) -> list[str]:
    """The values of the question that stand in no argument: they would have to be written into the code."""
    scalars = list(leaves(arguments))
    texts = " ".join(str(scalar) for scalar in scalars).casefold()
    numbers = {as_number(part) for part in re.findall(r"\d[\d,]*(?:\.\d+)?|\d+", texts)}
    numbers |= {as_number(str(scalar)) for scalar in scalars if not isinstance(scalar, bool)}
    missing = []
    for value in question_values(question):
        number = as_number(value)
        if number is not None:
            if abs(number) in numbers or number in numbers or number in {0, 1}:
                continue
        elif value.casefold() in texts:
            continue
        missing.append(value)
    return missing
