"""The request of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.consent.origins import Origins
from agent.state import CitedSource


@dataclass(frozen=True, slots=True)
class ResearchRequest:
    """The question of a search, and what the run knows already."""

    question: str
    query: str = ""  # what the coordinator wants to know; empty where it is the question
    source: str = ""  # the engine to ask; empty for all
    known: Sequence[CitedSource] = ()  # the sources that the run has already, whose numbers stay
    origins: Origins = field(default_factory=lambda: Origins(""))
    """What the run knows, by where it comes from: no query carries away what is the user's."""

    @property
    def aim(self) -> str:
        """What to look for."""
        return self.query or self.question
