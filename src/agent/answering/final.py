"""A result as the answer, in the form that the model gave with its call: `{}`, `{:.2f}`, `{[total]} EUR`."""

from __future__ import annotations

import contextlib
import re
from string import Formatter

from agent.state import Step
from agent.steps import value_text
from mcp_tools.tool import Json

_FIELD = re.compile(r"0?(?:\[[^\[\]{}]+\])*")
_SPEC = re.compile(r"[-+ ]?#?0?\d{0,2}[,_]?(?:\.\d{1,2})?[bcdeEfFgGosxX%]?")
_EXACT = 1e9
"""Below, a float has six decimals and more."""


def problem_of(form: str) -> str:
    """Why a form says no answer; empty where it does."""
    try:
        parts = [part[1:] for part in Formatter().parse(form) if part[1] is not None]
    except ValueError as error:
        return f"final_answer {form[:80]!r}: {error}."
    if not parts:
        return f"final_answer is the answer with {{}} for the result, not {form[:80]!r}."
    for field, spec, conversion in parts:
        if not _FIELD.fullmatch(field or "") or not _SPEC.fullmatch(spec or "") or conversion:
            return f"final_answer {form[:80]!r}: between braces stand keys and a format, as in {{[total]:.2f}}."
    return ""


def answer_of(done: Step, question: str) -> str:
    """The answer that a step's result is; empty where it is none.

    Args:
        done: The step; its form has no problem.
        question: Which may ask for decimals, of which a float keeps no zeros.

    Raises:
        ValueError: The result lacks a part that the form names, or cannot be formatted that way.
    """
    form, value = done.get("final", ""), done["value"]
    if not form or not done["ok"] or value is None:
        return ""
    answer = ""
    for literal, field, spec, _ in Formatter().parse(form):
        answer += literal
        if field is not None:
            part = _part(value, field)
            answer += _formatted(part, spec) if spec else _plain(part, question)
    return answer.strip()


def _part(value: Json, field: str) -> Json:
    for key in re.findall(r"\[([^\[\]]+)\]", field):
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (LookupError, TypeError, ValueError):
            raise ValueError(f"the result has no [{key}]") from None
    return value


def _formatted(value: Json, spec: str) -> str:
    """A value with a format; what a program printed is a number, if it can be one."""
    with contextlib.suppress(ValueError):
        value = float(value) if isinstance(value, str) else value
    try:
        return format(value, spec)
    except (TypeError, OverflowError):
        raise ValueError(f"{value_text(value)[:80]!r} has no format {spec!r}") from None


def _plain(value: Json, question: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _EXACT:
        from agent.answering.answer_format import asked_of

        rounding = asked_of(question).rounding
        if rounding is not None and rounding.places and round(value, rounding.places) == value:
            return f"{value:.{rounding.places}f}"
    return value_text(value)
