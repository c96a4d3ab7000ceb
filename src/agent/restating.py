"""Restating a follow-up as a question that stands alone, so that nothing after it needs the conversation."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent.compacting import compact
from agent.context import Context
from agent.conversation import Conversation
from agent.errors import ModelOutputError, StoppedError
from agent.events import Note, Restated
from agent.models.protocol import Role
from agent.question import LONGEST_QUESTION
from mcp_tools.prompt import load_prompt
from mcp_tools.text import printable
from mcp_tools.tool import Json

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
Flaw = Callable[[str, str, str], str]
"""What is wrong with a restated question, from the message, the question and the turns shown; empty when nothing is."""
_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"question": {"type": "string"}},
    "required": ["question"],
    "additionalProperties": False,
}
_TOKENS = 250
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)")


def flaw_of(message: str, question: str, shown: str) -> str:
    """What is wrong with a restated question: it is too long, or lost a number or a quotation of the message."""
    if len(question) > LONGEST_QUESTION:
        return "made it too long"
    for given in [*NUMBER.findall(message), *(next(filter(None, found)) for found in _QUOTED.findall(message))]:
        if given not in question:
            return f"lost {given!r}"
    return ""


async def restate(
    message: str, earlier: Conversation, source: Conversation | None, context: Context, flaw: Flaw = flaw_of
) -> str:
    """The message as a question that stands alone; as it is where the model's reply is of no use.

    Args:
        message: What the user wrote.
        earlier: The turns before it.
        source: The conversation that `earlier` was taken from, if it is at hand.
        context: Of the run.
        flaw: Judges the question that the model wrote.
    """
    shown = await compact(context, earlier, source)
    messages = load_prompt("agent", "restate").render(conversation=shown, question=message)
    try:
        completion = await context.complete(Role.PLANNER, messages, schema=_SCHEMA, temperature=0, max_tokens=_TOKENS)
    except (ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"the question is taken as it is: {failure.message}"))
        return message
    question = printable(str(completion.parsed["question"])).strip()
    if not question or _plain(question) == _plain(message):
        return message
    if wrong := flaw(message, question, shown):
        context.emit(Note(f"the question is taken as it is: restating it {wrong}"))
        return message
    context.emit(Restated(question))
    return question


def _plain(text: str) -> str:
    """What two ways of writing one message have in common."""
    return " ".join(text.casefold().split()).rstrip(".?! ")
