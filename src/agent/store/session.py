"""One session: a conversation with its name and its place in time."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.conversation import Conversation, Turn
from mcp_tools.text import one_line
from mcp_tools.tool import Json

SCHEMA = 1
TITLE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation with its name and its place in time."""

    id: str
    model: str
    started: float
    """Seconds since 1970."""
    conversation: Conversation = field(default_factory=Conversation)
    revision: int = 0
    """How often it was saved; 0 for one that is not on disk."""
    parent: str | None = None
    """The session that this one branched off, when two processes went on with one."""
    changed: float = 0.0
    """When its file was written last, in seconds since 1970."""

    @property
    def title(self) -> str:
        """Its first question, on one line."""
        return one_line(self.turns[0].question, TITLE_LENGTH) if self.turns else "(empty)"

    @property
    def turns(self) -> list[Turn]:
        """What was asked and answered, oldest first."""
        return self.conversation.turns

    @property
    def summary(self) -> str:
        """What stands for the oldest turns in a prompt."""
        return self.conversation.summary

    def as_json(self) -> dict[str, Json]:
        """The content of its file."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "title": self.title,
            "model": self.model,
            "started": self.started,
            "revision": self.revision,
            "parent": self.parent,
            **self.conversation.as_json(),
        }
