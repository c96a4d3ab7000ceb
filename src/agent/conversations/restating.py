"""Restating a follow-up as a question that stands alone, so that nothing after it needs the conversation.

A prompt shows the newest turns of a conversation whole, and of the older ones a summary.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agent.context import Context
from agent.conversations.conversation import Conversation, Turn
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note, Restated
from agent.models.protocol import Role
from agent.question import LONGEST_QUESTION
from mcp_tools.prompt import DataText, load_prompt
from mcp_tools.text import printable
from mcp_tools.tool import Json

KEPT = 0.5
"""The share of the characters shown that the newest turns may keep."""
MOST_SUMMARISED = 4
"""Times as many characters are read for one summary; what is older than that is left out of it."""
LONGEST_SUMMARY = 2_000
_SUMMARY_TOKENS = 600


async def compact(context: Context, earlier: Conversation, source: Conversation | None = None) -> DataText:
    """The conversation as a prompt shows it.

    Args:
        context: Whose model writes a summary, when one is needed.
        earlier: What the run knows of the conversation.
        source: The conversation that `earlier` was taken from, if it is at hand: it gets the new summary too.
    """
    most = context.strategy(Role.PLANNER).limits.history
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
    read = _newest(older, most) if older else []
    if not read:
        return ""
    messages = load_prompt("agent", "summarise").render(most=LONGEST_SUMMARY, conversation=earlier.shown(read))
    try:
        completion = await context.complete(Role.PLANNER, messages, temperature=0, max_tokens=_SUMMARY_TOKENS)
    except (ModelError, ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"only the newest turns are seen: {failure.message}"))
        return ""
    summary = _whole_sentences(printable(completion.text).strip())
    if not summary:
        context.emit(Note("only the newest turns are seen: the older ones could not be summarised"))
    return summary


def _whole_sentences(text: str) -> str:
    """As many whole sentences or lines as a summary may hold; nothing where not even the first fits."""
    if len(text) <= LONGEST_SUMMARY:
        return text
    ends = [match.end() for match in re.finditer(r"[.!?](?=\s)|\n", text[: LONGEST_SUMMARY + 1])]
    return text[: ends[-1]].strip() if ends else ""


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
