"""What a prompt shows of a conversation: its newest turns whole, and for the older ones a summary."""

from __future__ import annotations

import re

from agent.context import Context
from agent.conversation import Conversation, Turn
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note
from agent.models.protocol import Role
from mcp_tools.prompt import DataText, load_prompt
from mcp_tools.text import printable

KEPT = 0.5
"""The share of the characters shown that the newest turns may keep."""
MOST_SUMMARISED = 4
"""Times as many characters are read for one summary; what is older than that is left out of it."""
LONGEST_SUMMARY = 2_000
_TOKENS = 600


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
        completion = await context.complete(Role.PLANNER, messages, temperature=0, max_tokens=_TOKENS)
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
