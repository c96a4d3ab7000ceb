"""The turns of a conversation."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Self

from agent.answer import Answer
from agent.models.protocol import Usage
from agent.records import as_plain, from_plain
from agent.steps import preview
from mcp_tools.prompt import DataText, data_block, data_blocks
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
        own = {"question": question, "answer": answer.text, "asked": time.time() - answer.seconds}
        return from_plain(cls, as_plain(answer) | own)

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
