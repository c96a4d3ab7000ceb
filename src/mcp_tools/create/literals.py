"""The values that stand in a question: what a general tool must take as parameters."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from mcp_tools.checks.number_words import spoken_numbers
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
_ASKED_FOR = re.compile(r"\b(?:from|to|for|by|of|at|in|with|does|did|must|should|can|will)\s([A-Z]\w*)\b(?!-\w)")
_LETTERS = re.compile(r"[^\W\d_]+")
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


def names_asked_for(question: str, rest: str) -> list[str]:
    """Names that the prose `rest` asks about and that stand elsewhere in the question too, where they are data.

    "How many towns can be reached from A?" after a list of roads asks about A.
    """
    times = Counter(re.findall(r"\w+", question))
    return [name for name in dict.fromkeys(_ASKED_FOR.findall(rest)) if times[name] > 1]


def in_context(value: str, question: str) -> str:
    """A value with the words around it, `5 ("the last 5 numbers")`; alone where there are none."""
    near = re.search(rf"(?:[^\W\d_]+ ){{1,3}}{re.escape(value)}(?!\w|[.,]\d)(?:\s?%| [^\W\d_]+)?", question)
    return f'{value} ("{near[0]}")' if near else value


def as_number(text: str) -> Decimal | None:
    """The number that a text writes, thousands separators allowed; None when it is none."""
    if not _WRITTEN_NUMBER.fullmatch(text):
        return None
    return Decimal(text.replace(",", "").replace("−", "-"))


def numbers_of(question: str) -> set[Decimal]:
    """Every number of the question, in digits and in words, also those inside dates and quoted text."""
    digits = {as_number(text) for pattern in (_DIGITS, r"\d+") for text in re.findall(pattern, question)}
    return {number for number in digits if number is not None} | {Decimal(n) for n in spoken_numbers(question)}


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


def stands_in(value: Json, question: str) -> bool:
    """Whether anything of the value comes from the question; what the model invented is no parameter."""
    numbers = numbers_of(question)
    words = set(re.findall(r"\w+", question.casefold()))

    def known(leaf: Json) -> bool:
        if isinstance(leaf, bool) or leaf is None:
            return False
        if isinstance(leaf, int | float):
            return _exact(leaf).copy_abs() in numbers
        parts = re.findall(r"\w+", str(leaf).casefold())
        if not parts:
            return str(leaf) in question
        return any(part in words or as_number(part) in numbers for part in parts)

    return any(known(leaf) for leaf in leaves(value))


def invented(value: Json, question: str) -> int:
    """How many numbers of the value do not stand in the question."""
    numbers = numbers_of(question)
    return sum(type(leaf) in (int, float) and _exact(leaf).copy_abs() not in numbers for leaf in leaves(value))


def uncovered(question: str, arguments: dict[str, Json]) -> list[str]:
    """The values of the question that stand in no argument: they would have to be written into the code.

    A number inside a list or a text covers itself only: "the last 5 of [4, 5, 6]" needs a parameter for its first 5.
    """
    alone = [argument for argument in arguments.values() if not isinstance(argument, list | dict)]
    scalars = list(leaves(arguments))
    texts = " ".join(scalar for scalar in scalars if isinstance(scalar, str)).casefold()
    words = set(_LETTERS.findall(texts))
    numbers = {_exact(scalar).copy_abs() for scalar in scalars if type(scalar) in (int, float)} | numbers_of(texts)
    by_itself = {_exact(value).copy_abs() for value in alone if type(value) in (int, float)}
    by_itself |= {
        number.copy_abs() for text in alone if isinstance(text, str) and (number := as_number(text)) is not None
    }
    inside_others = Counter(_exact(scalar).copy_abs() for scalar in scalars if type(scalar) in (int, float))
    inside_others.update(_written_in(texts))
    written = Counter(_written_in(_ILLUSTRATION.sub(" ", question)))

    def is_covered(value: str) -> bool:
        number = as_number(value)
        if number is None and value.casefold() in texts:
            return True
        if number is not None and number.copy_abs() in by_itself | {0, 1}:
            return True
        if number is not None and number.copy_abs() in numbers:
            return written[number.copy_abs()] <= inside_others[number.copy_abs()]
        # a list without blanks looks like thousands, and a time may be given as hours and minutes
        inside, parts = _LETTERS.findall(value.casefold()), re.findall(r"\d+(?:\.\d+)?", value)
        is_several = number is None or len(parts) > 1
        return (
            is_several and bool(inside + parts) and words.issuperset(inside) and numbers.issuperset(map(Decimal, parts))
        )

    return [value for value in question_values(question) if not is_covered(value)]


def _written_in(text: str) -> list[Decimal]:
    """The numbers written with digits, each as often as it stands there."""
    return [Decimal(digits.replace(",", "")) for digits in re.findall(_DIGITS, text)]


def _exact(number: float) -> Decimal:
    """The number as it is written; an integer of any size, and zero for what is not finite."""
    if isinstance(number, int):
        return Decimal(number)
    return Decimal(repr(number)) if math.isfinite(number) else Decimal(0)
