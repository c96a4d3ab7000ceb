"""What the search specialist is asked, and what it brings back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from agent.consent.provenance import Origins
from agent.state import CitedSource
from mcp_tools.prompt import NO_DATA, DataText
from mcp_tools.text import one_line, printable

Level: TypeAlias = Literal["high", "medium", "low"]
Strategy: TypeAlias = Literal["targeted", "broader", "verification"]
"""One thing is looked for; an overview is wanted; or it is to be found out whether something is so."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be found out."""

    question: str
    query: str = ""
    """What the coordinator wants to know; empty where it is the question."""
    so_far: DataText = NO_DATA
    """What earlier steps found, as prompts show it."""
    known: Sequence[CitedSource] = ()
    """The sources that the run has already, whose numbers stay."""
    origins: Origins = field(default_factory=lambda: Origins(""))
    """What the run knows, by where it comes from: no query carries away what is the user's."""

    @property
    def aim(self) -> str:
        """What to look for."""
        return self.query or self.question


@dataclass(frozen=True, slots=True)
class Grade:
    """A judgement with its reason."""

    level: Level
    why: str


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of a page, as they stand there."""

    text: str
    place: str
    """`under "History", paragraph 3`, `table "Results", row 12`."""


@dataclass(frozen=True, slots=True)
class Source:
    """A page that was read, and what it says."""

    number: int
    url: str
    title: str
    relevance: Grade
    credibility: Grade
    quotes: tuple[Quote, ...]
    published: str = ""
    via: str = "plain"


@dataclass(slots=True)
class Evidence:
    """What was found; filled while the search goes on, so that one that is ended early is worth something too."""

    strategy: Strategy = "targeted"
    queries: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    hits: int = 0
    """Different pages that the engines named."""
    read: int = 0
    """Pages of them that were read."""
    differ: str = ""
    """Where sources contradict each other, in a sentence."""
    answer: str = ""
    """What the quotations state as the answer, copied from them; empty where they do not."""
    checked: str = ""
    """Whether a second, independent source says the same, in a sentence."""
    missing: list[str] = field(default_factory=list)
    """What was named in the question and found nowhere."""
    failed: list[str] = field(default_factory=list)
    """Pages and searches that gave nothing, each with its reason."""

    @property
    def ok(self) -> bool:
        """Whether anything can be quoted."""
        return any(source.quotes for source in self.sources)

    def text(self, size: int) -> str:
        """All of it for later steps, cited as [1], [2]; the last quotations are left out where it gets too long."""
        if not self.ok:
            return self._nothing()
        read = f"{self.read} of {self.hits} page{'' if self.hits == 1 else 's'} read."
        head = f"search {'; '.join(self.queries)} ({self.strategy}): {read}"
        tail = self._tail()
        room = size - len(head) - sum(len(line) + 1 for line in tail)
        blocks: list[str] = []
        for block in self._blocks():
            if len(block) + 1 > room and blocks:
                tail.insert(0, "Further quotations are left out: read the page itself.")
                break
            blocks.append(block)
            room -= len(block) + 1
        return "\n".join([head, *blocks, *tail])

    def _nothing(self) -> str:
        """That nothing was found, and why."""
        reasons = "; ".join(dict.fromkeys(one.partition(": ")[2] or one for one in self.failed))
        if not self.hits:
            why = "" if reasons else " No engine knows a page with these words: use others."
        elif not self.read:
            why = f" None of the pages that the engines named ({self.hits}) could be read."
        else:
            why = f" No page that was read ({self.read} of {self.hits}) has a passage that fits: use other words."
        head = f"The search failed: nothing was found for {one_line('; '.join(self.queries), 200)!r}.{why}"
        return "\n".join(filter(None, [head, f"Why: {one_line(reasons, 400)}" if reasons else ""]))

    def _blocks(self) -> list[str]:
        """Each source with its quotations, by rounds: the first quotation of each comes before the second of any."""
        first = [_with_head(source) for source in self.sources]
        more = [f"[{source.number}] also: {_quoted(quote)}" for source in self.sources for quote in source.quotes[2:]]
        return first + more

    def _tail(self) -> list[str]:
        lines = [line for line in (self.checked, self.differ) if line]
        lines += [f"Not found: {', '.join(self.missing)}."] if self.missing else []
        lines += [f"Failed: {'; '.join(self.failed[:6])}."] if self.failed else []
        return lines

    def cited(self) -> list[CitedSource]:
        """The sources that were quoted, as the state keeps them."""
        return [
            {
                "number": source.number,
                "url": source.url,
                "title": one_line(source.title, 200),
                "quotes": [quote.text for quote in source.quotes],
            }
            for source in self.sources
            if source.quotes
        ]


def _with_head(source: Source) -> str:
    when = f", {source.published}" if source.published else ""
    via = {
        "archive": ", an archived copy",
        "transcript": ", a transcript",
        "summary": ", as the engine sums it up",
    }.get(source.via, "")
    head = f"[{source.number}] {one_line(source.title or source.url, 120)} — {source.url}{when}{via}"
    graded = (
        f"  credibility {source.credibility.level}: {source.credibility.why}; "
        f"relevance {source.relevance.level}: {source.relevance.why}"
    )
    quotes = [f"  {_quoted(quote)}" for quote in source.quotes[:2]]
    return "\n".join([head, graded, *quotes])


def _quoted(quote: Quote) -> str:
    return f'"{printable(quote.text).strip()}" ({quote.place})'
