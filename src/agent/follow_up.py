"""Turns a message of a conversation into a question with the earlier turns, or into an answer that is already known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from agent.answer import Answer
from agent.answering.arithmetic import compute
from agent.context import Context
from agent.conversation import Conversation, Transcript
from agent.events import Note
from agent.models.protocol import Role
from agent.store.journal import canonical, digest
from mcp_tools.tool import Json

FindAnswer = Callable[[str, str], Answer | None]
"""Looks up an earlier answer by the question and the digest of the turns before it."""
EarlierTurns = Callable[[], tuple[Conversation, Transcript]]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A message of a conversation, prepared for the graph."""

    question: str
    said: tuple[str, ...]
    """The user's own words: the message, and the questions before it."""
    answer: str | None = None
    """The answer, if it is already known."""
    transcript: Transcript = field(default_factory=Transcript)
    """The earlier turns; empty if the question was restated."""
    after: str = ""
    """Digest of the earlier turns; empty for an independent question."""


async def understand(
    context: Context, message: str, earlier: EarlierTurns | None, known: FindAnswer, *, has_files: bool
) -> FollowUp:
    """Return the question that a message asks after the earlier turns, or its answer if that is known.

    Every step is recorded in the journal.

    Args:
        context: The context of the run.
        message: The user's message.
        earlier: Returns the turns before the message; None if only the journal has them.
        known: Looks up earlier answers.
        has_files: True if files are attached to the message.
    """

    async def take() -> dict[str, Any] | None:
        if earlier is None:
            return None
        conversation, transcript = await asyncio.to_thread(earlier)
        turns = Conversation(conversation.open_turns, conversation.summary).as_json()
        return {**turns, "transcript": transcript.as_json()}

    recorded = await context.calls.call("conversation", {"message": message}, take)
    if recorded is None:
        context.emit(Note("the earlier conversation could not be read; the question is used as written"))
        found = FollowUp(message, (message,))
    else:
        turns = Conversation.from_json(recorded)
        restated = await context.strategy(Role.COORDINATOR).restate(message, turns, context)
        found = FollowUp(restated or message, (message, *(turn.question for turn in turns.turns)))
        if restated is None and "transcript" in recorded:  # journals of earlier versions have no transcript
            transcript = Transcript.from_json(recorded["transcript"])
            found = replace(found, transcript=transcript, after=digest(canonical(transcript.turns)))
    if (exact := None if has_files else compute(found.question)) is not None:
        return replace(found, answer=exact)

    async def look() -> dict[str, Any] | None:
        answer = known(found.question, found.after)
        return answer.as_json() if answer else None

    request: dict[str, Json] = {"question": found.question} | ({"after": found.after} if found.after else {})
    cached = await context.calls.call("answers", request, look)
    if cached is None:
        return found
    answer = Answer.from_json(cached)
    context.emit(
        Note(f"answered from the cache (run {answer.run_id}); to ask again: --no-cache, or /retry in a session")
    )
    return replace(found, answer=answer.text)
