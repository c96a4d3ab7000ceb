"""A follow-up as a question that stands alone, and a long conversation in short: small models see no conversation."""

from __future__ import annotations

from agent.context import Context
from agent.conversation import Conversation, Turn
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note, Restated
from agent.models.protocol import Role
from agent.question import LONGEST_QUESTION
from mcp_tools.particulars import NUMBER, quoted_in
from mcp_tools.prompt import DataText, load_prompt
from mcp_tools.text import printable
from mcp_tools.tool import object_schema

KEPT = 0.5
"""The share of the characters shown that the newest turns may keep."""
MOST_SUMMARISED = 4
"""Times as many characters are read for one summary; what is older than that is left out of it."""
LONGEST_SUMMARY = 2_000
_SUMMARY_TOKENS = 600


async def compact(context: Context, earlier: Conversation, source: Conversation | None = None) -> DataText:
    """The conversation as a prompt shows it. A new summary goes to `source`, from which `earlier` was taken, too."""
    most = context.strategy(Role.CONVERSATION).limits.history
    turns = earlier.open_turns
    if sum(len(turn.shown) for turn in turns) <= most:
        return earlier.shown(turns)
    newest = _newest(turns, int(most * KEPT))
    older = turns[: len(turns) - len(newest)]
    summary = await _summary(context, earlier, older, most * MOST_SUMMARISED)
    if summary:
        earlier.fold(len(older), summary)
        if source is not None:
            source.fold(len(older), summary)
    return earlier.shown(newest)


def _newest(turns: list[Turn], most: int) -> list[Turn]:
    """As many of the newest turns as fit, whole; at least one."""
    kept = 1
    size = len(turns[-1].shown)
    while kept < len(turns) and (size := size + len(turns[-kept - 1].shown)) <= most:
        kept += 1
    return turns[-kept:]


async def _summary(context: Context, earlier: Conversation, older: list[Turn], most: int) -> str:
    """A summary of the old one and of more turns; empty when none could be had."""
    if not older:
        return ""
    shown = earlier.shown(_newest(older, most))
    messages = load_prompt("agent.small", "summarise").render(most=LONGEST_SUMMARY, conversation=shown)
    failed = "the older ones could not be summarised"
    try:
        completion = await context.complete(Role.CONVERSATION, messages, temperature=0, max_tokens=_SUMMARY_TOKENS)
        summary = printable(completion.text).strip()
    except (ModelError, ModelOutputError, StoppedError) as failure:
        summary, failed = "", failure.message
    if len(summary) > LONGEST_SUMMARY:  # whole sentences, or none
        summary = "".join(summary[:LONGEST_SUMMARY].rpartition(".")[:2])
    if not summary:
        context.emit(Note(f"the model sees only the newest turns: {failed}"))
    return summary


_SCHEMA = object_schema({"question": {"type": "string"}})
_TOKENS = 250


def flaw_of(message: str, question: str, shown: str) -> str:
    """Return the flaw of a restated question: too long, a lost number or quotation, an invented number; else empty."""
    if len(question) > LONGEST_QUESTION:
        return "made it too long"
    for given in [*NUMBER.findall(message), *quoted_in(message)]:
        if given not in question:
            return f"lost {given!r}"
    known = set(NUMBER.findall(f"{message} {shown}"))
    invented = [number for number in NUMBER.findall(question) if number not in known and NUMBER.search(message)]
    return f"brought in {invented[0]}" if invented else ""


async def restate(message: str, earlier: Conversation, source: Conversation | None, context: Context) -> str:
    """Return the message as a question that stands alone; unchanged if the model's reply cannot be used."""
    shown = await compact(context, earlier, source)
    messages = load_prompt("agent.small", "restate").render(conversation=shown, question=message)
    try:
        completion = await context.complete(
            Role.CONVERSATION, messages, schema=_SCHEMA, temperature=0, max_tokens=_TOKENS
        )
    except (ModelError, ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"the question is used as written: {failure.message}"))
        return message
    question = printable(str(completion.parsed["question"])).strip()
    if not question or question.casefold().split() == message.casefold().split():
        return message
    if wrong := flaw_of(message, question, shown):
        context.emit(Note(f"the question is used as written: restating it {wrong}"))
        return message
    context.emit(Restated(question))
    return question
