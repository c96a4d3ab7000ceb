"""A follow-up to a small model: only what points back is restated, and no number may come from nowhere."""

from __future__ import annotations

from agent.context import Context
from agent.conversation import Conversation
from agent.references import refers_back
from agent.restating import NUMBER, flaw_of, restate


async def restate_reference(message: str, earlier: Conversation, source: Conversation | None, context: Context) -> str:
    """The message as a question that stands alone; as it is where it does so already."""
    return await restate(message, earlier, source, context, _flaw) if refers_back(message) else message


def _flaw(message: str, question: str, shown: str) -> str:
    if wrong := flaw_of(message, question, shown):
        return wrong
    if NUMBER.search(message):
        known = set(NUMBER.findall(f"{message} {shown}"))
        if invented := [number for number in NUMBER.findall(question) if number not in known]:
            return f"brought in {invented[0]}"
    return ""
