"""The request of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.consent.text_origins import Origins
from agent.state import CitedSource


@dataclass(frozen=True, slots=True)
class ResearchRequest:
    """The question of a search, and what the run knows already."""

    question: str
    query: str = ""  # the coordinator's query; empty if it is the question
    source: str = ""  # the engine to ask; empty for all
    known: Sequence[CitedSource] = ()  # the run's sources so far, which keep their numbers
    origins: Origins = field(default_factory=lambda: Origins(""))
    """The texts that the run knows, by origin: no query may carry away private ones."""

    @property
    def aim(self) -> str:
        """The text to look for."""
        return self.query or self.question
