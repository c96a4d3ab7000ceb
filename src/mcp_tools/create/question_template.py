"""The form of a question: its text without its values.

A tool keeps the form of the question that it was made for, and the position of each argument. The same question with
other values is then answered by the same call with other arguments, and no model has to be asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter

from mcp_tools.particulars import Located, as_number, located_values
from mcp_tools.tool import Json

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPOKEN = {word: number for number, word in enumerate(_UNITS.split())}
_SPOKEN |= {word: 20 + 10 * index for index, word in enumerate(_TENS.split())}
_SPOKEN |= {f"{word}th": number for word, number in list(_SPOKEN.items())}
_SPOKEN |= {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12, "dozen": 12}
_SPOKEN |= {"twentieth": 20, "thirtieth": 30, "hundred": 100, "thousand": 1000, "million": 10**6}


def spoken_numbers(text: str) -> set[int]:
    """The numbers written as one word in a text."""
    return {_SPOKEN[word] for word in re.findall("[a-z]+", text.lower()) if word in _SPOKEN}


_BETWEEN = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")
_FEWEST = 3
"""Numbers in a row that are a list, of which another question may have more or fewer."""
_ORDINAL = re.compile(r"(⟨number⟩)(?:st|nd|rd|th)\b")


@dataclass(frozen=True, slots=True)
class Form:
    """A question without its values."""

    text: str
    """The question in small letters, with `⟨number⟩`, `⟨numbers⟩`, `⟨text⟩` or `⟨time⟩` for each value."""
    values: tuple[str, ...]
    """The values at these positions, in order; numbers in a row are one value."""


def form_of(question: str) -> Form:
    """Takes the values out of a question."""
    pieces: list[str] = []
    values: list[str] = []
    end = 0
    for value in _located(question):
        pieces += [question[end : value.start], f"⟨{value.kind}⟩"]
        values.append(value.text)
        end = value.end
    text = " ".join("".join([*pieces, question[end:]]).casefold().split()).rstrip(" .?!")
    return Form(_ORDINAL.sub(r"\1th", text), tuple(values))


def remembered(question: str, arguments: dict[str, Json], final: str = "{}") -> dict[str, Json] | None:
    """Return the record of a tool's question.

    Args:
        question: The question.
        arguments: Arguments of the call that answered it.
        final: The answer with a format field for the result, such as `{[total]:.2f} km`; empty where a model wrote it.

    Returns:
        `form`: the form's text. `arguments`: each argument with places instead of values. `fixed`: by their place, the
        values that stand in no argument; the code may contain them. `final`: the answer's form, empty where it may not
        fit other values. None when an argument is no value of the question.
    """
    form = form_of(question)
    patterns = {name: _pattern(value, form) for name, value in arguments.items()}
    if any(pattern is None for pattern in patterns.values()):
        return None
    used = {pattern["place"] for pattern in patterns.values() if "place" in pattern}
    fixed = {str(place): value for place, value in enumerate(form.values) if place not in used}
    return {
        "form": form.text,
        "arguments": patterns,
        "fixed": fixed,
        "final": final if _is_general(final, form) else "",
    }


def _is_general(final: str, form: Form) -> bool:
    """Return True if the answer's form names no value of the question, and no element of a list that may be longer."""
    parts = list(Formatter().parse(final))
    said = "".join(literal for literal, *_ in parts)
    counted = any(re.match(r"0?\[\d", field or "") for _, field, *_ in parts)
    return not counted and not any(value in said for value in form.values)


def arguments_for(question: str, kept: Json) -> dict[str, Json] | None:
    """The arguments of a call that answers a question of the kept form; None for any other question."""
    try:
        form = form_of(question)
        if form.text != kept["form"] or any(form.values[int(place)] != value for place, value in kept["fixed"].items()):
            return None
        return {name: _filled(pattern, form) for name, pattern in kept["arguments"].items()}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None


def _located(question: str) -> list[Located]:
    """Yield the positions of a question's values, numbers in a row together."""
    found: list[Located] = []
    run: list[Located] = []
    for value in located_values(question):
        if run and not (value.kind == "number" and _BETWEEN.fullmatch(question, run[-1].end, value.start)):
            found += _joined(run, question)
            run = []
        if value.kind == "number":
            run.append(value)
        else:
            found.append(value)
    return sorted(found + _joined(run, question), key=lambda value: value.start)


def _joined(run: list[Located], question: str) -> list[Located]:
    if len(run) < _FEWEST:
        return run
    return [Located(run[0].start, run[-1].end, "numbers", question[run[0].start : run[-1].end])]


def _pattern(value: Json, form: Form) -> Json:
    """The value with places instead of what the question says; None if the positions are ambiguous."""
    fits = [place for place, text in enumerate(form.values) if _reading(value, text) is not None]
    if len(fits) == 1:
        return {"place": fits[0], "as": _reading(value, form.values[fits[0]])}
    return {"constant": value} if not fits and _is_said(value, form) else None


def _reading(value: Json, text: str) -> str | None:
    """As what a value of the question is the given argument; None when it is another one."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return "str" if value == text else None
    if isinstance(value, list):
        return "numbers" if len(value) >= _FEWEST and value == _numbers(text) else None
    number = as_number(text)
    if isinstance(value, int | float) and number is not None and number == as_number(repr(value)):
        return "int" if isinstance(value, int) else "float"
    return None


def _numbers(text: str) -> list[int | float]:
    numbers = [as_number(part) for part in _BETWEEN.split(text)]
    if any(number is None for number in numbers):
        return []
    return [int(n) if n == n.to_integral_value() else float(n) for n in numbers if n is not None]


def _is_said(value: Json, form: Form) -> bool:
    """Return True if a value stands in the form itself, so that it is the same in every question of this form."""
    if isinstance(value, str):
        return bool(value.strip()) and re.search(rf"(?<!\w){re.escape(value.casefold())}(?!\w)", form.text) is not None
    return type(value) is int and value in spoken_numbers(form.text)


def _filled(pattern: Json, form: Form) -> Json:
    if "constant" in pattern:
        return pattern["constant"]
    text = form.values[pattern["place"]]
    if pattern["as"] == "str":
        return text
    if pattern["as"] == "numbers":
        return _numbers(text)
    number = as_number(text)
    if number is None:
        raise ValueError(text)
    return int(number) if pattern["as"] == "int" and number == number.to_integral_value() else float(number)
