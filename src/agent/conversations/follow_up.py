"""A follow-up: a question that stands alone, or its answer where that is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.answering.answer import Answer
from agent.answering.arithmetic import compute
from agent.context import Context
from agent.conversations.conversation import Conversation
from agent.events import Note
from agent.models.protocol import Role
from mcp_tools.tool import Json

FOLLOWS = "follows"
"""In a run's configuration: the run of the turn before it. Such a run has the conversation in its journal."""

Known = Callable[[str], Answer | None]
"""The answer that was given to a question before."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """What a message of a conversation comes to."""

    question: str
    """It stands alone."""
    said: tuple[str, ...]
    """What the user wrote: the message, and the questions before it."""
    answer: str | None = None
    """Its answer, where it needs no work."""


async def understand(context: Context, message: str, conversation: Conversation | None, known: Known) -> FollowUp:
    """Restates a message of a conversation, and looks whether its answer is known.

    Args:
        context: Of the run; every step goes through its journal.
        message: What was asked.
        conversation: The turns before it; None when only the journal has them.
        known: Looks into the answers given before.
    """
    earlier = await _recorded(context, message, conversation)
    said = (message, *(turn.question for turn in earlier.turns)) if earlier else (message,)
    question = message
    if earlier:
        question = await context.strategy(Role.PLANNER).restate(message, earlier, conversation, context)
    if (exact := None if context.files else compute(question)) is not None:
        return FollowUp(question, said, exact)

    async def look() -> Json:
        found = known(question)
        return found.as_json() if found else None

    found = await context.journal.call("answers", {"question": question}, look)
    if found is None:
        return FollowUp(question, said)
    answer = Answer.from_json(found)
    context.emit(Note(f"answered before, in run {answer.run_id}; --no-cache, or /retry in a session, asks again"))
    return FollowUp(question, said, answer.text)


async def _recorded(context: Context, message: str, conversation: Conversation | None) -> Conversation | None:
    """What the run knows of the conversation; None where that is lost."""

    async def take() -> Json:
        return Conversation.for_a_run(conversation).as_json() if conversation else None

    recorded = await context.journal.call("conversation", {"message": message}, take)
    if recorded is None:
        context.emit(Note("the conversation before this question is lost: it is taken as it is"))
        return None
    return Conversation.from_json(recorded)
