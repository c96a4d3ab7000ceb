"""What a program printed, as the answer to its question."""

from __future__ import annotations

import ast
import contextlib
import json
import re

from agent.asked import asked_of
from agent.gaia.answers import in_asked_format
from agent.steps import value_text

_LONGEST = 2_000
_EMPTY = re.compile(r"nan|NaN|NaT|None|<NA>|Empty DataFrame\n.*|Series\(\[\], .*|\[\]|\{\}|", re.DOTALL)
"""How Python and pandas print that there is nothing."""
_NUMPY = re.compile(r"\bnp\.\w+\(([^()]*)\)")
_MIDNIGHT = re.compile(r"(\d{4}-\d{2}-\d{2}) 00:00:00")


def answer_in(printed: str, question: str) -> str:
    """The printed answer in the form that the question asks for; empty where there is none."""
    return in_asked_format(_with_commas(as_answer(printed), question), question)


def as_answer(printed: str) -> str:
    """What a program printed as an answer: no marks of types, no midnight after a date; empty for nothing."""
    text = _MIDNIGHT.sub(r"\1", _NUMPY.sub(r"\1", printed.strip()))
    if _EMPTY.fullmatch(text) or len(text) > _LONGEST:
        return ""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return text
    if isinstance(value, tuple):
        return value_text([*value]) if text[0] == "(" else text  # 1,234 has a comma between its thousands
    was_formatted = isinstance(value, int | float) and repr(value) != text  # 95.90 was meant so
    return text if was_formatted else value_text(value)


def _with_commas(answer: str, question: str) -> str:
    """Several values with commas between, where the form that is asked for has so many: `Rose 3` as `Rose, 3`."""
    parts = asked_of(question).parts
    if parts < 2:
        return answer
    with contextlib.suppress(ValueError):
        listed = json.loads(answer)
        if isinstance(listed, list) and len(listed) == parts:
            return ", ".join(map(value_text, listed))
    if len(answer.split(",")) == parts:
        return answer
    pieces = next((found for found in (answer.splitlines(), answer.split()) if len(found) == parts), None)
    return ", ".join(pieces) if pieces else answer
