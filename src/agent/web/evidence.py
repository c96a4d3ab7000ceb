"""Results of a search: graded quotations with their sources."""

from __future__ import annotations

import functools
import ipaddress
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal, NamedTuple, TypeAlias

from agent.state import CitedSource
from agent.web.address import host_of, is_local
from agent.web.queries import Terms
from mcp_tools.text import one_line, printable

Level: TypeAlias = Literal["low", "medium", "high"]
LEVELS: tuple[Level, ...] = ("low", "medium", "high")
_VIA = {"archive": ", an archived copy", "transcript": ", a transcript", "summary": ", as the engine sums it up"}


class Grade(NamedTuple):
    """A judgement with its reason."""

    level: Level
    why: str

    @property
    def rank(self) -> int:
        """Levels in order: a better one is higher."""
        return LEVELS.index(self.level)


class Quote(NamedTuple):
    """Words of a page, unchanged."""

    text: str
    place: str  # `under "History", paragraph 3`, `table "Results", row 12`
    heading: str = ""  # the one above it; empty at the beginning

    def __str__(self) -> str:
        return f'"{printable(self.text).strip()}" ({self.place})'


@dataclass(frozen=True, slots=True)
class Source:
    """A page that was read, and what it says."""

    number: int
    url: str
    title: str
    relevance: Level
    credibility: Grade
    quotes: tuple[Quote, ...]
    published: str = ""
    via: str = "plain"

    def __str__(self) -> str:
        """The source with its first quotations, as prompts show it."""
        when = f", {self.published}" if self.published else ""
        return "\n".join(
            [
                f"[{self.number}] {one_line(self.title or self.url, 120)} — {self.url}{when}{_VIA.get(self.via, '')}",
                f"  credibility {self.credibility.level}: {self.credibility.why}; relevance {self.relevance}",
                *(f"  {quote}" for quote in self.quotes[:2]),
            ]
        )


@dataclass(slots=True)
class Evidence:
    """The results so far; filled during the search, so that a search that ends early still gives something."""

    queries: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    hits: int = 0  # different pages that the engines named
    read: int = 0  # pages that were read
    answer: str = ""  # what the quotations state as the answer, copied from them; empty where they do not
    missing: list[str] = field(default_factory=list)  # what was named in the question and found nowhere
    failed: list[str] = field(default_factory=list)  # pages and searches that gave nothing, each with its reason

    @property
    def ok(self) -> bool:
        """True if anything can be quoted."""
        return any(source.quotes for source in self.sources)

    def text(self, size: int) -> str:
        """Return all quotations for later steps, cited as [1], [2]; a text that is too long loses its last ones.

        The first quotations of each source come before further ones of any.
        """
        if not self.ok:
            return self._nothing()
        read = f"{self.read} of {self.hits} page{'' if self.hits == 1 else 's'} read."
        head = f"search {'; '.join(self.queries)}: {read}"
        tail = [f"Not found: {', '.join(self.missing)}."] if self.missing else []
        tail += [f"Failed: {'; '.join(self.failed[:6])}."] if self.failed else []
        room = size - len(head) - sum(len(line) + 1 for line in tail)
        more = [f"[{source.number}] also: {quote}" for source in self.sources for quote in source.quotes[2:]]
        blocks: list[str] = []
        for block in [*map(str, self.sources), *more]:
            if len(block) + 1 > room and blocks:
                tail.insert(0, "Further quotations are left out: read the page itself.")
                break
            blocks.append(block)
            room -= len(block) + 1
        return "\n".join([head, *blocks, *tail])

    def _nothing(self) -> str:
        reasons = "; ".join(dict.fromkeys(one.partition(": ")[2] or one for one in self.failed))
        if not self.hits:
            why = "" if reasons else " No engine knows a page with these words: use others."
        elif not self.read:
            why = f" None of the pages that the engines named ({self.hits}) could be read."
        else:
            why = f" No page that was read ({self.read} of {self.hits}) has a passage that fits: use other words."
        head = f"The search failed: nothing was found for {one_line('; '.join(self.queries), 200)!r}.{why}"
        return f"{head}\nWhy: {one_line(reasons, 400)}" if reasons else head

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


_HIGH, _MEDIUM = 0.75, 0.4


@functools.cache
def _kinds() -> list[dict[str, Any]]:
    """The kinds of sources in `credibility.json`, the first that fits counts: each with its level, why, and `hosts`.

    A host stands for its subdomains too, one without a point is a top level. `labels` are second levels of countries:
    `ac` in `ox.ac.uk`.
    """
    kinds: list[dict[str, Any]] = json.loads(files("agent.web").joinpath("credibility.json").read_text("utf-8"))
    return kinds


def credibility_of(url: str) -> Grade:
    """The grade of a source by its address."""
    host = host_of(url)
    with suppress(ValueError):
        if is_local(host) or ipaddress.ip_address(host).is_private:
            return Grade("medium", "a page of this machine or its network, which nobody else can check")
    labels = host.split(".")
    endings = {".".join(labels[i:]) for i in range(len(labels))}
    of_country = labels[-2] if len(labels) > 2 and len(labels[-1]) == 2 else ""
    for kind in _kinds():
        if not endings.isdisjoint(kind["hosts"]) or of_country in kind.get("labels", ()):
            return Grade(kind["level"], kind["why"])
    return Grade("medium", "nothing is known of who is behind it")


def relevance_of(stems: Iterable[str], terms: Terms, title: Iterable[str] = ()) -> Level:
    """Return the relevance of a page, by the words of the question that it has.

    Args:
        stems: The words of its text, as `queries.stems_of` gives them.
        terms: The words of the question.
        title: The words of its title: they may name what the text is about, and are no text.
    """
    there = set(stems)
    share = terms.share(there)
    is_high = share >= _HIGH and not terms.lacking(there.union(title))
    return "high" if is_high else "medium" if share >= _MEDIUM else "low"
