"""Restates a follow-up as an independent question, because a small model does not see the conversation."""

from __future__ import annotations

from agent.context import Context
from agent.conversation import Conversation
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note, Restated
from agent.models.protocol import Role
from agent.question import LONGEST_QUESTION
from mcp_tools.library.particulars import NUMBER, quoted_in
from mcp_tools.prompt import load_prompt
from mcp_tools.text import printable
from mcp_tools.tool import object_schema

_SCHEMA = object_schema({"question": {"type": "string"}})
_MAX_TOKENS = 250
_LONG_CHARS = 400
"""Minimum characters of a message that is assumed to be independent."""


async def restate(message: str, earlier: Conversation, context: Context) -> str:
    """Return the message as an independent question; unchanged if the model's reply cannot be used."""
    turns = list(earlier.turns)
    if not turns or len(message) > _LONG_CHARS:
        return message
    room = context.strategy(Role.CONVERSATION).limits.history
    while len(turns) > 1 and sum(len(turn.shown) for turn in turns) > room:
        del turns[0]
    shown = earlier.shown(turns)
    messages = load_prompt("agent.small", "restate").render(conversation=shown, question=message)
    try:
        completion = await context.complete(
            Role.CONVERSATION, messages, schema=_SCHEMA, temperature=0, max_tokens=_MAX_TOKENS
        )
    except (ModelError, ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"the question is used as written: {failure.message}"))
        return message
    question = printable(str(completion.parsed["question"])).strip()
    if not question or question.casefold().split() == message.casefold().split():
        return message
    if flaw := _flaw(message, question, shown):
        context.emit(Note(f"the question is used as written, because restating it {flaw}"))
        return message
    context.emit(Restated(question))
    return question


def _flaw(message: str, question: str, shown: str) -> str:
    """Return the flaw of a restated question: too long, a lost number or quotation, an invented number; else empty."""
    if len(question) > LONGEST_QUESTION:
        return "made it too long"
    for given in [*NUMBER.findall(message), *quoted_in(message)]:
        if given not in question:
            return f"lost {given!r}"
    known = set(NUMBER.findall(f"{message} {shown}"))
    invented = [number for number in NUMBER.findall(question) if number not in known]
    return f"brought in {invented[0]}" if invented else ""
