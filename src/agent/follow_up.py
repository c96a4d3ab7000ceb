"""A follow-up: restated as a question that stands alone, so that nothing behind it needs the conversation."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent.answer import Answer
from agent.arithmetic import compute
from agent.compacting import compact
from agent.context import Context
from agent.conversation import Conversation
from agent.errors import ModelOutputError, StoppedError
from agent.events import Note, Restated
from agent.models.protocol import Role
from agent.question import LONGEST_QUESTION
from agent.references import refers_back
from mcp_tools.prompt import DataText, load_prompt
from mcp_tools.text import printable
from mcp_tools.tool import Json

FOLLOWS = "follows"
"""In a run's configuration: the run of the turn before it. Such a run has the conversation in its journal."""

_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"question": {"type": "string"}},
    "required": ["question"],
    "additionalProperties": False,
}
_TOKENS = 250
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|(?<!\w)'([^']+)'(?!\w)")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

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
    question = await _standing_alone(context, message, earlier, conversation) if earlier else message
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


async def _standing_alone(
    context: Context, message: str, earlier: Conversation, conversation: Conversation | None
) -> str:
    if context.is_weak(Role.PLANNER) and not refers_back(message):
        return message
    shown = await compact(context, earlier, conversation)
    return await _restated(context, message, shown)


async def _restated(context: Context, message: str, shown: DataText) -> str:
    """The message as a question that stands alone; as it is, where the model's reply is of no use."""
    messages = load_prompt("agent", "restate").render(conversation=shown, question=message)
    try:
        completion = await context.complete(Role.PLANNER, messages, schema=_SCHEMA, temperature=0, max_tokens=_TOKENS)
    except (ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"the question is taken as it is: {failure.message}"))
        return message
    question = printable(str(completion.parsed["question"])).strip()
    if not question or _plain(question) == _plain(message):
        return message
    if flaw := _flaw(message, question, shown, weak=context.is_weak(Role.PLANNER)):
        context.emit(Note(f"the question is taken as it is: restating it {flaw}"))
        return message
    context.emit(Restated(question))
    return question


def _plain(text: str) -> str:
    """What two ways of writing one message have in common."""
    return " ".join(text.casefold().split()).rstrip(".?! ")


def _flaw(message: str, question: str, shown: str, *, weak: bool) -> str:
    """What is wrong with a restated question; empty when it says what was asked."""
    if len(question) > LONGEST_QUESTION:
        return "made it too long"
    for given in [*_NUMBER.findall(message), *(next(filter(None, found)) for found in _QUOTED.findall(message))]:
        if given not in question:
            return f"lost {given!r}"
    if weak and _NUMBER.search(message):
        told = set(_NUMBER.findall(f"{message} {shown}"))
        if invented := [number for number in _NUMBER.findall(question) if number not in told]:
            return f"brought in {invented[0]}"
    return ""
