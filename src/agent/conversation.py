"""The earlier turns of a conversation, as a follow-up question needs them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from agent.answer import Answer
from agent.answering.arithmetic import compute
from agent.context import Context
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note, Restated
from agent.models.protocol import Role, Usage
from agent.question import LONGEST_QUESTION
from agent.records import as_plain, from_plain
from agent.steps import preview
from mcp_tools.prompt import DataText, data_block, data_blocks, load_prompt
from mcp_tools.text import printable
from mcp_tools.tool import Json

QUESTION_SHOWN = 500
ANSWER_SHOWN = 800
"""Characters of one turn that a prompt shows; more is a preview of both ends."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question of a conversation and what came of it."""

    question: str
    answer: str
    """Empty when there is none."""
    run_id: str
    """Empty when no run was needed: plain arithmetic."""
    status: str
    """An answer's status; `interrupted` for a turn that was stopped."""
    tools_created: tuple[str, ...] = ()
    tools_used: tuple[str, ...] = ()
    restated: str | None = None
    """The question that was answered, where it did not stand alone."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    error: str | None = None
    asked: float = 0.0

    @classmethod
    def of(cls, question: str, answer: Answer) -> Self:
        """The turn of a question that was just answered, or stopped."""
        return cls(
            question=question,
            answer=answer.text,
            run_id=answer.run_id,
            status=answer.status,
            tools_created=answer.tools_created,
            tools_used=answer.tools_used,
            restated=answer.restated,
            usage=answer.usage,
            seconds=answer.seconds,
            error=answer.error,
            asked=time.time() - answer.seconds,
        )

    @property
    def shown(self) -> str:
        """The turn in a prompt."""
        question = preview(self.restated or self.question, QUESTION_SHOWN)
        answer = preview(self.answer, ANSWER_SHOWN) or f"(no answer: {self.status.replace('_', ' ')})"
        return f"Question: {question}\nAnswer: {answer}"


@dataclass(slots=True)
class Conversation:
    """Turns, oldest first, and a summary that stands for the oldest of them.

    It is changed in place: by whoever asks, with `add`; by `Alita.ask`, which folds old turns of a long
    conversation into the summary.
    """

    turns: list[Turn] = field(default_factory=list)
    summary: str = ""
    summarised: int = 0
    """How many of the oldest turns the summary stands for."""

    def add(self, turn: Turn) -> None:
        """Appends a turn."""
        self.turns.append(turn)

    def drop_last(self) -> Turn | None:
        """Takes the newest turn away; None when there is none. A summary that stood for it goes too."""
        if not self.turns:
            return None
        turn = self.turns.pop()
        if self.summarised > len(self.turns):
            self.summary, self.summarised = "", 0
        return turn

    @property
    def open_turns(self) -> list[Turn]:
        """The turns that the summary does not stand for."""
        return self.turns[self.summarised :]

    def fold(self, count: int, summary: str) -> None:
        """Lets a new summary stand for the old one and `count` more turns."""
        self.summary, self.summarised = summary, self.summarised + count

    def shown(self, turns: list[Turn]) -> DataText:
        """The summary and some of the turns in a prompt, marked as data."""
        blocks = [data_block("summary of earlier turns", self.summary)] if self.summary else []
        return data_blocks([*blocks, *(data_block("earlier turn", turn.shown) for turn in turns)])

    def as_json(self) -> dict[str, Json]:
        """What a session's file holds of it."""
        return {"summary": self.summary, "summarised": self.summarised, "turns": list(map(as_plain, self.turns))}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The conversation that `as_json` wrote.

        Raises:
            KeyError, TypeError, AttributeError, ValueError: It is none.
        """
        turns = from_plain(list[Turn], data["turns"])
        if not all(isinstance(text, str) for turn in turns for text in (turn.question, turn.answer, turn.status)):
            raise ValueError("a turn is no text")
        summarised = min(max(int(data.get("summarised", 0)), 0), len(turns))
        return cls(turns, str(data.get("summary", "")), summarised)


FOLLOWS = "follows"
"""In a run's configuration: the run of the turn before it. Such a run has the conversation in its journal."""

Known = Callable[[str], Answer | None]
"""The answer that was given to a question before."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A message of a conversation as a standalone question."""

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

    async def take() -> Json:
        return Conversation(conversation.open_turns, conversation.summary).as_json() if conversation else None

    recorded = await context.journal.call("conversation", {"message": message}, take)
    question, said = message, [message]
    if recorded is None:
        context.emit(Note("the conversation before this question is lost: it is taken as it is"))
    else:
        earlier = Conversation.from_json(recorded)
        said += [turn.question for turn in earlier.turns]
        question = await context.strategy(Role.CONVERSATION).restate(message, earlier, conversation, context)
    if (exact := None if context.files else compute(question)) is not None:
        return FollowUp(question, tuple(said), exact)

    async def look() -> Json:
        found = known(question)
        return found.as_json() if found else None

    found = await context.journal.call("answers", {"question": question}, look)
    if found is None:
        return FollowUp(question, tuple(said))
    answer = Answer.from_json(found)
    context.emit(Note(f"answered before, in run {answer.run_id}; --no-cache, or /retry in a session, asks again"))
    return FollowUp(question, tuple(said), answer.text)


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
    messages = load_prompt("agent", "summarise").render(most=LONGEST_SUMMARY, conversation=shown)
    failed = "the older ones could not be summarised"
    try:
        completion = await context.complete(Role.CONVERSATION, messages, temperature=0, max_tokens=_SUMMARY_TOKENS)
        summary = printable(completion.text).strip()
    except (ModelError, ModelOutputError, StoppedError) as failure:
        summary, failed = "", failure.message
    if len(summary) > LONGEST_SUMMARY:  # whole sentences, or none
        summary = "".join(summary[:LONGEST_SUMMARY].rpartition(".")[:2])
    if not summary:
        context.emit(Note(f"only the newest turns are seen: {failed}"))
    return summary


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
    """The message as a question that stands alone; as it is where the model's reply is of no use."""
    shown = await compact(context, earlier, source)
    messages = load_prompt("agent", "restate").render(conversation=shown, question=message)
    try:
        completion = await context.complete(
            Role.CONVERSATION, messages, schema=_SCHEMA, temperature=0, max_tokens=_TOKENS
        )
    except (ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"the question is taken as it is: {failure.message}"))
        return message
    question = printable(str(completion.parsed["question"])).strip()
    if not question or question.casefold().split() == message.casefold().split():
        return message
    if wrong := flaw(message, question, shown):
        context.emit(Note(f"the question is taken as it is: restating it {wrong}"))
        return message
    context.emit(Restated(question))
    return question
