"""A small model's programs: several are written, and the answer that most of them print counts."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.asked import asked_of
from agent.context import Context
from agent.events import ToolCalled
from agent.models.protocol import Message, Role
from agent.programs.scripts import failure_of
from agent.steps import value_text
from mcp_tools.create.answers import answer_key
from mcp_tools.create.literals import as_number
from mcp_tools.create.small.assemble import assemble_program
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.text import one_line

_TOKENS = 300
_END_OF_CODE = "\n```\n"
_ROUNDS = ((0.0, 1), (0.6, 2), (0.6, 3), (0.8, 4))
"""Temperature and number of programs, until two agree and nobody outweighs them. None is mended: shown its failure, a
small model writes it again."""
_LONGEST_ANSWER = 2_000
_EMPTY = re.compile(r"nan|NaN|NaT|None|<NA>|Empty DataFrame\n.*|Series\(\[\], .*|\[\]|\{\}|", re.DOTALL)
"""How Python and pandas print that there is nothing."""
_NUMPY = re.compile(r"\bnp\.\w+\(([^()]*)\)")
_MIDNIGHT = re.compile(r"(\d{4}-\d{2}-\d{2}) 00:00:00")


@dataclass(frozen=True, slots=True)
class Printed:
    """What programs printed."""

    answer: str
    """The one that most of them gave; empty when none did."""
    failure: str = ""
    """What the last one that failed said."""


async def vote(
    messages: list[Message], run: Callable[[str], Awaitable[Outcome]], question: str, context: Context
) -> Printed:
    """Writes and runs programs until two agree.

    Args:
        messages: Ask for one; the last message is the beginning of the reply.
        run: Runs one.
        question: What they answer.
        context: What a run may reach.

    Raises:
        StoppedError: The run was ended, or its budget is spent.
    """
    answers: list[str] = []
    failure = ""
    for round_, (temperature, count) in enumerate(_ROUNDS, 1):
        for source in await _written(context, messages, temperature, count, seed=round_):
            outcome = await run(source)
            printed = in_asked_form(as_answer(outcome.stdout), question) if outcome.ok else ""
            shown = one_line(printed or failure_of(outcome))
            context.emit(ToolCalled("program", {}, bool(printed), shown, outcome.seconds))
            answers += [printed] if printed else []
            failure = failure if printed else failure_of(outcome)
        if _settled(in_asked_kind(answers, question)):
            break
    return Printed(_most_frequent(in_asked_kind(answers, question) or answers), failure)


async def _written(
    context: Context, messages: list[Message], temperature: float, count: int, *, seed: int
) -> list[str]:
    completions = await context.sample(
        Role.WRITER, messages, count, temperature=temperature, seed=seed, max_tokens=_TOKENS, stop=[_END_OF_CODE]
    )
    return [assemble_program(completion.text) for completion in completions]


def as_answer(printed: str) -> str:
    """What a program printed as an answer: no marks of types, no midnight after a date; empty for nothing."""
    text = _MIDNIGHT.sub(r"\1", _NUMPY.sub(r"\1", printed.strip()))
    if _EMPTY.fullmatch(text) or len(text) > _LONGEST_ANSWER:
        return ""
    try:
        return value_text(ast.literal_eval(text))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return text


def in_asked_form(answer: str, question: str) -> str:
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


def in_asked_kind(answers: list[str], question: str) -> list[str]:
    """The answers that can be one: as many values as the form has, for a count numbers, else no tables of parts."""
    asked = asked_of(question)
    if asked.parts > 1:
        return [answer for answer in answers if len(answer.split(",")) == asked.parts]
    if asked.count:
        return [answer for answer in answers if as_number(answer) is not None]
    return [answer for answer in answers if "\n" not in answer] if asked.quantity else answers


def _settled(answers: list[str]) -> bool:
    counts = Counter(map(answer_key, answers)).most_common(2)
    return bool(counts) and counts[0][1] >= 2 and (len(counts) == 1 or counts[0][1] > counts[1][1])


def _most_frequent(answers: list[str]) -> str:
    """The answer that most programs gave, the earliest of equals: the first was written without chance."""
    counts = Counter(map(answer_key, answers))
    return max(answers, key=lambda answer: counts[answer_key(answer)], default="")
