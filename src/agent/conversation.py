"""The turns of a conversation, and its transcript: the messages as a capable model saw them."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Self

from agent.answer import Answer
from agent.models.protocol import Message, Usage
from agent.records import as_plain, from_plain
from agent.state import AttachedFile, CitedSource
from agent.steps import preview
from mcp_tools.prompt import DataText, data_block, data_blocks
from mcp_tools.tool import Json

QUESTION_SHOWN = 500
ANSWER_SHOWN = 800
"""Maximum characters of a turn in a prompt. Longer turns are cut in the middle."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a conversation, with its result."""

    question: str
    answer: str
    """The answer; empty if there was none."""
    run_id: str
    """Id of the turn's run; empty if none was needed, as for plain arithmetic."""
    status: str
    """Status of the answer; `interrupted` for a turn that was stopped."""
    tools_created: tuple[str, ...] = ()
    tools_used: tuple[str, ...] = ()
    restated: str | None = None
    """The restated question, if the message depends on earlier turns."""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    error: str | None = None
    asked: float = 0.0

    @classmethod
    def of(cls, question: str, answer: Answer) -> Self:
        """Return the turn for a question that was just answered or stopped."""
        own = {"question": question, "answer": answer.text, "asked": time.time() - answer.seconds}
        return from_plain(cls, as_plain(answer) | own)

    @property
    def shown(self) -> str:
        """The text of the turn in a prompt."""
        question = preview(self.restated or self.question, QUESTION_SHOWN)
        answer = preview(self.answer, ANSWER_SHOWN) or f"(no answer: {self.status.replace('_', ' ')})"
        return f"Question: {question}\nAnswer: {answer}"


@dataclass(slots=True)
class Conversation:
    """The turns of a conversation, oldest first, and a summary of the oldest ones.

    Only sessions of earlier versions have a summary.
    """

    turns: list[Turn] = field(default_factory=list)
    summary: str = ""
    summarised: int = 0
    """Number of turns that the summary replaces, from the oldest."""

    def add(self, turn: Turn) -> None:
        """Append a turn."""
        self.turns.append(turn)

    def drop_last(self) -> Turn | None:
        """Remove and return the newest turn; None without a turn. A summary that covers it is removed, too."""
        if not self.turns:
            return None
        turn = self.turns.pop()
        if self.summarised > len(self.turns):
            self.summary, self.summarised = "", 0
        return turn

    @property
    def open_turns(self) -> list[Turn]:
        """The turns that the summary does not cover."""
        return self.turns[self.summarised :]

    def shown(self, turns: list[Turn]) -> DataText:
        """Return the summary and some turns for a prompt, marked as data."""
        blocks = [data_block("summary of earlier turns", self.summary)] if self.summary else []
        return data_blocks([*blocks, *(data_block("earlier turn", turn.shown) for turn in turns)])

    def as_json(self) -> dict[str, Json]:
        """Return the conversation as stored in a session's file."""
        return {"summary": self.summary, "summarised": self.summarised, "turns": list(map(as_plain, self.turns))}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return the conversation that `as_json` wrote.

        Raises:
            KeyError, TypeError, AttributeError, ValueError: The data is not a conversation.
        """
        turns = from_plain(list[Turn], data["turns"])
        if not all(isinstance(text, str) for turn in turns for text in (turn.question, turn.answer, turn.status)):
            raise ValueError("a turn is no text")
        summarised = min(max(int(data.get("summarised", 0)), 0), len(turns))
        return cls(turns, str(data.get("summary", "")), summarised)


@dataclass(frozen=True, slots=True)
class UserFile:
    """A file that the user attached."""

    path: str
    """Path that the user gave."""
    sha256: str
    """Hash of the content; empty if the file could not be read."""
    copy: str
    """Path that programs open; equal to `path` for files of the first turn."""


@dataclass(slots=True)
class Transcript:
    """A conversation as a capable model saw it, with the files, sources and programs of its turns.

    It is stored at the end of a run's journal. The next turn sends its messages again, unchanged.
    """

    turns: list[list[Message]] = field(default_factory=list)
    """Messages of each turn in Chat Completions format: the question, the calls with their results, and the answer."""
    files: list[AttachedFile] = field(default_factory=list)
    given: list[UserFile] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    """Names of the tools that have their own function."""
    sources: list[CitedSource] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    programs: list[str] = field(default_factory=list)
    """Code of all programs so far, including those of summarised turns."""
    remarks: list[str] = field(default_factory=list)
    """Changes since the last turn: missing or changed files, and lost variables."""
    home: str = ""
    """Id of the run with the folder of the conversation's files."""

    def as_json(self) -> dict[str, Json]:
        """Return the transcript as stored in a journal: a flat list of messages that shares storage with requests."""
        names = ("files", "tools", "sources", "links", "programs", "remarks", "home")
        rest = {name: getattr(self, name) for name in names} | {"given": as_plain(tuple(self.given))}
        messages = [message for turn in self.turns for message in turn]
        return {"messages": messages, "sizes": [len(turn) for turn in self.turns], "rest": rest}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Return the transcript that `as_json` wrote.

        Raises:
            KeyError, TypeError, AttributeError, ValueError: The data is not a transcript.
        """
        messages = iter(data["messages"])
        turns = [list(islice(messages, size)) for size in data["sizes"]]
        rest = data["rest"]
        return cls(turns, **{**rest, "given": from_plain(list[UserFile], rest["given"])})

    def add_text(self, question: str, answer: str) -> None:
        """Append a turn that consists of a question and its answer."""
        self.turns.append([{"role": "user", "content": question}, {"role": "assistant", "content": answer}])

    @property
    def results(self) -> list[str]:
        """The results of all calls, as text."""
        return [
            text for turn in self.turns for message in turn if message["role"] == "tool" and (text := text_of(message))
        ]


def programs_in(messages: Iterable[Message]) -> list[str]:
    """Return the code of the programs that a model ran, oldest first."""
    calls = (call["function"] for message in messages for call in message.get("tool_calls", []))
    arguments = (_object(call["arguments"]) for call in calls if call["name"] == "run_python")
    return [code for given in arguments if isinstance(code := given.get("code"), str)]


def variables_of(programs: Sequence[str]) -> list[str]:
    """Return the names that programs define at top level, in order, without imported modules."""
    names: dict[str, None] = {}
    for program in programs:
        try:
            body = ast.parse(program).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for statement in body:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                names[statement.name] = None
            elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                found = (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
                names |= dict.fromkeys(found)
    return list(names)


def text_of(message: Message) -> str:
    """Return the text of a message, without its pictures."""
    content = message["content"] or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


CONVERSATION = 240_000
_LEAST = 4_000
SHORT = 400
"""Characters of a preview of a result."""


@dataclass
class Room:
    """Limits of the conversation with a model, and the parts that were shortened to fit."""

    characters: int = CONVERSATION
    """Maximum characters of all results of this run. Above it, the oldest results are cut to previews that name their
    files."""
    one: int = 16_000
    """Maximum characters of one result. Readings have their own limit."""
    folded: int = 0
    """Number of this run's replies, with their results, that a summary replaces."""
    summary: str = ""
    earlier: list[list[Message]] = field(default_factory=list)
    """Messages of each earlier turn, oldest turn first."""
    _is_short: bool = False
    """True if the results in `earlier` are cut to previews."""
    _has_summary: bool = False
    """True if the first turn in `earlier` is a summary of older turns."""

    def shrink(self) -> bool:
        """Halve both limits. Return False if too little space would be left."""
        if self.characters // 2 < _LEAST:
            return False
        self.characters //= 2
        self.one = min(self.one, self.characters // 2)
        return True

    @property
    def earlier_size(self) -> int:
        """Total characters of the earlier turns."""
        return sum(len(str(message.get("content") or "")) for turn in self.earlier for message in turn)

    def shorten_earlier(self) -> bool:
        """Cut the results of earlier turns to previews that name their files. Return False if they are already cut."""
        if self._is_short or not self.earlier:
            return False
        self._is_short = True
        self.earlier = [[_shortened(message) for message in turn] for turn in self.earlier]
        return True

    @property
    def foldable(self) -> int:
        """Number of oldest turns that a summary may replace; 0 if there are too few turns."""
        half = len(self.earlier) // 2
        if half != 1 or not self._has_summary:
            return half
        return 2 if len(self.earlier) > 2 else 0

    def fold_earlier(self, count: int, summary: DataText) -> None:
        """Replace the oldest turns by a summary."""
        message = {"role": "user", "content": f"The conversation before this, in short:\n{summary}"}
        self.earlier[:count] = [[message, {"role": "assistant", "content": "Understood."}]]
        self._has_summary = True


def _shortened(message: Message) -> Message:
    return {**message, "content": preview(text_of(message), SHORT)} if message["role"] == "tool" else message
