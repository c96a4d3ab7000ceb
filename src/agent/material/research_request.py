"""A request for web research."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.consent.text_origins import Origins
from agent.state import CitedSource


@dataclass(frozen=True, slots=True)
class ResearchRequest:
    """The question of a search, and what the run already knows."""

    question: str
    query: str = ""  # the coordinator's query; empty to use the question
    source: str = ""  # the only engine to ask; empty for the web
    known: Sequence[CitedSource] = ()  # the run's sources so far, which keep their numbers
    origins: Origins = field(default_factory=lambda: Origins(""))
    """The texts that the run knows, by origin. Queries must not contain private ones."""

    @property
    def aim(self) -> str:
        """The text to search for."""
        return self.query or self.question
