"""Question templates: the text of a question with placeholders for its values.

A tool keeps the template of its question and the position of each argument. If the same question comes with other
values, the tool is called with those values, without asking a model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import Formatter

from mcp_tools.library.particulars import Located, as_number, located_values
from mcp_tools.tool import Json

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_SPELLED = {word: number for number, word in enumerate(_UNITS.split())}
_SPELLED |= {word: 20 + 10 * index for index, word in enumerate(_TENS.split())}
_SPELLED |= {f"{word}th": number for word, number in list(_SPELLED.items())}
_SPELLED |= {"first": 1, "second": 2, "third": 3, "fifth": 5, "eighth": 8, "ninth": 9, "twelfth": 12, "dozen": 12}
_SPELLED |= {"twentieth": 20, "thirtieth": 30, "hundred": 100, "thousand": 1000, "million": 10**6}


def spelled_numbers(text: str) -> set[int]:
    """Return the numbers that a text spells as one word, such as "twelve"."""
    return {_SPELLED[word] for word in re.findall("[a-z]+", text.lower()) if word in _SPELLED}


_BETWEEN = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")
_MIN_LIST_LENGTH = 3
"""Minimum count of consecutive numbers that form one list, which may be longer or shorter in another question."""
_ORDINAL = re.compile(r"(⟨number⟩)(?:st|nd|rd|th)\b")


@dataclass(frozen=True, slots=True)
class QuestionTemplate:
    """A question split into its template and its values."""

    text: str
    """The question in lower case, with `⟨number⟩`, `⟨numbers⟩`, `⟨text⟩` or `⟨time⟩` for each value."""
    values: tuple[str, ...]
    """The values in order. A list of numbers is one value."""


def template_of(question: str) -> QuestionTemplate:
    """Replace the values in a question with placeholders.

    Example:
        >>> template_of("How many days are between 2024-01-01 and 2024-03-05?")
        QuestionTemplate(text='how many days are between ⟨time⟩ and ⟨time⟩', values=('2024-01-01', '2024-03-05'))
    """
    pieces: list[str] = []
    values: list[str] = []
    end = 0
    for value in _located(question):
        pieces += [question[end : value.start], f"⟨{value.kind}⟩"]
        values.append(value.text)
        end = value.end
    text = " ".join("".join([*pieces, question[end:]]).casefold().split()).rstrip(" .?!")
    return QuestionTemplate(_ORDINAL.sub(r"\1th", text), tuple(values))


def question_record(question: str, arguments: dict[str, Json], final: str = "{}") -> dict[str, Json] | None:
    """Return what a tool stores about its question.

    Args:
        question: The question.
        arguments: The arguments that answered it.
        final: The answer with a format field for the result, such as `{[total]:.2f} km`; empty if a model wrote it.

    Returns:
        None if an argument does not come from the question. Otherwise a dictionary: `form`, the template's text;
        `arguments`, the position of each argument's value; `fixed`, the values that are not arguments, by position,
        because the code may contain them; `final`, the answer's format, empty if it may not fit other values.
    """
    template = template_of(question)
    patterns = {name: _pattern(value, template) for name, value in arguments.items()}
    if any(pattern is None for pattern in patterns.values()):
        return None
    used = {pattern["place"] for pattern in patterns.values() if "place" in pattern}
    fixed = {str(place): value for place, value in enumerate(template.values) if place not in used}
    return {
        "form": template.text,
        "arguments": patterns,
        "fixed": fixed,
        "final": final if _is_general(final, template) else "",
    }


def _is_general(final: str, template: QuestionTemplate) -> bool:
    """Return True if an answer's format fits other values: it has no value of the question and no list index."""
    parts = list(Formatter().parse(final))
    literals = "".join(literal for literal, *_ in parts)
    has_index = any(re.match(r"0?\[\d", field or "") for _, field, *_ in parts)
    return not has_index and not any(value in literals for value in template.values)


def arguments_for(question: str, kept: Json) -> dict[str, Json] | None:
    """Return the arguments that answer a question with a stored template; None if the question does not match it.

    Args:
        question: The question.
        kept: The dictionary from `question_record`.
    """
    try:
        template = template_of(question)
        if template.text != kept["form"] or any(
            template.values[int(place)] != value for place, value in kept["fixed"].items()
        ):
            return None
        return {name: _filled(pattern, template) for name, pattern in kept["arguments"].items()}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None


def _located(question: str) -> list[Located]:
    """Return the values of a question with their positions; a list of numbers is one value."""
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
    if len(run) < _MIN_LIST_LENGTH:
        return run
    return [Located(run[0].start, run[-1].end, "numbers", question[run[0].start : run[-1].end])]


def _pattern(value: Json, template: QuestionTemplate) -> Json:
    """Return the position of an argument's value in the question, or the value as a constant; None if it is unclear."""
    fits = [place for place, text in enumerate(template.values) if _reading(value, text) is not None]
    if len(fits) == 1:
        return {"place": fits[0], "as": _reading(value, template.values[fits[0]])}
    return {"constant": value} if not fits and _is_in_text(value, template) else None


def _reading(value: Json, text: str) -> str | None:
    """Return the type of an argument's value if a text in the question states this value; else None."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return "str" if value == text else None
    if isinstance(value, list):
        return "numbers" if len(value) >= _MIN_LIST_LENGTH and value == _numbers(text) else None
    number = as_number(text)
    if isinstance(value, int | float) and number is not None and number == as_number(repr(value)):
        return "int" if isinstance(value, int) else "float"
    return None


def _numbers(text: str) -> list[int | float]:
    numbers = [as_number(part) for part in _BETWEEN.split(text)]
    if any(number is None for number in numbers):
        return []
    return [int(n) if n == n.to_integral_value() else float(n) for n in numbers if n is not None]


def _is_in_text(value: Json, template: QuestionTemplate) -> bool:
    """Return True if a value is part of the template's text, and so the same in every matching question."""
    if isinstance(value, str):
        pattern = rf"(?<!\w){re.escape(value.casefold())}(?!\w)"
        return bool(value.strip()) and re.search(pattern, template.text) is not None
    return type(value) is int and value in spelled_numbers(template.text)


def _filled(pattern: Json, template: QuestionTemplate) -> Json:
    if "constant" in pattern:
        return pattern["constant"]
    text = template.values[pattern["place"]]
    if pattern["as"] == "str":
        return text
    if pattern["as"] == "numbers":
        return _numbers(text)
    number = as_number(text)
    if number is None:
        raise ValueError(text)
    return int(number) if pattern["as"] == "int" and number == number.to_integral_value() else float(number)
