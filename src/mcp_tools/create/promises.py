"""Promises of a docstring that can be tried without a model: forms and limits of values, and of the result."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from dataclasses import dataclass

from mcp_tools.create.documented_function import DocumentedFunction
from mcp_tools.create.interfaces import TrialCall
from mcp_tools.sandbox.inside.docstring import parse_docstring
from mcp_tools.tool import Json

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_RAISES = re.compile(r"^Raises:\s*$", re.MULTILINE)
_NUMBER = r"(-?(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?)"
_END = r"(?=\s*(?:[,.](?!\d)|[;)]|$|and\b|exclusive))"
"""The end of a limit. A longer one, such as `at most 900 before noon`, holds for some results only."""
_RANGE = re.compile(rf"(?<![\w.-])(?<!\d,){_NUMBER} to {_NUMBER}{_END}")
_LEAST = re.compile(rf"(?<![\w.-])(?<!\d,){_NUMBER} or more{_END}|\bat least {_NUMBER}{_END}")
_EACH = re.compile(r"\b(?:each|every|all)\b(.*)", re.IGNORECASE | re.DOTALL)
"""In the words about a list, limits behind these are of its values."""
_THINGS = r"(?:items?|values?|numbers?|points?|corners?|rows?|texts?|words?|entries|elements|members|pairs|of them)\b"
_LENGTH = re.compile(
    rf"(?<![\w.-])(?<!\d,)(?:{_NUMBER} to {_NUMBER} {_THINGS}|{_NUMBER} or more {_THINGS}|at least {_NUMBER} {_THINGS})"
)
"""In the words about a list, these limit its length."""
_LONGEST = 1_000
"""The longest list that is made to be too long."""
_ABOVE = re.compile(rf"\b(?:above|greater than) {_NUMBER}{_END}")
_MOST = re.compile(rf"\bat most {_NUMBER}{_END}")
_BELOW = re.compile(rf"\b(?:below|less than) {_NUMBER}{_END}")
_FOREIGN_DIGITS = ("²", "٣")
_MOST_NEAR = 12


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A call that is nearly right, and the words that seem to refuse it."""

    call: TrialCall
    quote: str
    by_form: bool
    """True if its text has not the promised form: then a slow version that takes it proves nothing."""


def near_misses(function: DocumentedFunction, arguments: dict[str, Json]) -> list[NearMiss]:
    """Calls near the question's own that the docstring seems to refuse; none if it does not say that it refuses any."""
    if not _RAISES.search(function.docstring):
        return []
    found = []
    for parameter in function.spec.parameters:
        if parameter.name in arguments:
            words, value = parameter.description, arguments[parameter.name]
            quote = f"{parameter.name}: {words:.150}"
            for other, by_form in _near(words, value):
                found.append(NearMiss(TrialCall({**arguments, parameter.name: other}), quote, by_form))
    return found[:_MOST_NEAR]


def _near(words: str, value: Json) -> Iterator[tuple[Json, bool]]:
    if isinstance(value, str):
        yield from ((other, True) for other in _other_forms(words, value) if other != value)
    elif isinstance(value, list) and value:
        yield from ((other, False) for other in _other_lengths(words, value))
        each = _EACH.search(words)
        is_text = isinstance(value[-1], str)
        for other, by_form in _near(words if is_text else each[1] if each else "", value[-1]):
            yield [*value[:-1], other], by_form
    elif isinstance(value, int | float) and not isinstance(value, bool):
        whole = isinstance(value, int)
        for limit in _outside(words):
            yield (int(limit) if whole and limit == int(limit) else limit), False


def _other_forms(words: str, text: str) -> Iterator[str]:
    if "YYYY-MM-DD" in words and (date := _DATE.fullmatch(text)):
        yield "".join(date.groups())
        yield f"{date[1]}-W05-3"
    digit = re.search(r"[0-9]", text)
    if digit and re.search(r"\b0-9\b|\b(?:only|decimal) digits\b", words, re.IGNORECASE):
        yield from (text[: digit.start()] + foreign + text[digit.end() :] for foreign in _FOREIGN_DIGITS)
    letter = re.search(r"[A-Za-z]", text)
    if letter and re.search(r"\bA-Z\b|\ba-z\b", words):
        yield f"{text[: letter.start()]}ß{text[letter.end() :]}"


def _other_lengths(words: str, value: list[Json]) -> Iterator[list[Json]]:
    """Lists that are just too short or too long, if the words limit the length."""
    limits = _LENGTH.search(_EACH.sub("", words))
    if limits is None:
        return
    least, most = int(_first(limits)), _value(limits[2]) if limits[2] else 0
    if 0 < least <= len(value):
        yield value[: least - 1]
    if len(value) <= most < _LONGEST:
        yield (value * (int(most) // len(value) + 2))[: int(most) + 1]


def _outside(words: str) -> Iterator[float]:
    """Numbers just outside the limits that a description gives."""
    if limits := _RANGE.search(words):
        yield from (_value(limits[1]) - 1, _value(limits[2]) + 1)
    elif least := _LEAST.search(words):
        yield _first(least) - 1
    elif above := _ABOVE.search(words):
        yield _first(above)
    if most := _MOST.search(words):
        yield _first(most) + 1


def _first(match: re.Match[str]) -> float:
    return _value(next(group for group in match.groups() if group is not None))


def _value(written: str) -> float:
    return float(re.sub("[,_]", "", written))


def outside_of_returns(function: DocumentedFunction, value: Json) -> str:
    """The words of Returns that a number contradicts; empty for all others."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    words = parse_docstring(function.docstring).returns
    limits = _RANGE.search(words)
    broken = limits is not None and not _value(limits[1]) <= value <= _value(limits[2])
    for form, compare in ((_LEAST, operator.lt), (_ABOVE, operator.le), (_BELOW, operator.ge), (_MOST, operator.gt)):
        match = form.search(words)
        broken = broken or (match is not None and bool(compare(value, _first(match))))
    return f"Returns: {words:.150}" if broken else ""
