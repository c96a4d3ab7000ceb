"""Results of research: quotations with graded sources."""

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
    """A level, with the reason for it."""

    level: Level
    why: str

    @property
    def rank(self) -> int:
        """A number that is higher for better levels."""
        return LEVELS.index(self.level)


class Quote(NamedTuple):
    """A passage of a page, word for word."""

    text: str
    place: str  # `under "History", paragraph 3`, `table "Results", row 12`
    heading: str = ""  # the heading above it; empty if there is none

    def __str__(self) -> str:
        return f'"{printable(self.text).strip()}" ({self.place})'


@dataclass(frozen=True, slots=True)
class QuotedPage:
    """A page that was read, with its quotations."""

    number: int
    url: str
    title: str
    relevance: Level
    credibility: Grade
    quotes: tuple[Quote, ...]
    published: str = ""
    via: str = "plain"

    def __str__(self) -> str:
        """The source with its first quotations, for prompts."""
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
    """The results so far. Research adds to them as it goes, so that it can be stopped early."""

    queries: list[str] = field(default_factory=list)
    sources: list[QuotedPage] = field(default_factory=list)
    hits: int = 0  # number of different pages found
    read: int = 0  # number of pages read
    answer: str = ""  # the answer copied from the quotations; empty if they do not state it
    missing: list[str] = field(default_factory=list)  # names in the question that were not found
    failed: list[str] = field(default_factory=list)  # failed pages and searches, each with the reason

    @property
    def ok(self) -> bool:
        """True if there is at least one quotation."""
        return any(source.quotes for source in self.sources)

    def text(self, size: int) -> str:
        """Return the quotations for later steps, cited as [1], [2]. At most `size` characters.

        The first quotations of every source come before further ones.
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
        """Return the quoted sources in the form that the state stores."""
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
    """Read the kinds of sources from `credibility.json`. The first kind that matches a page applies.

    Entries of `hosts` include subdomains; one without a dot is a top-level domain. `labels` are second-level domains
    of countries, such as `ac` in `ox.ac.uk`.
    """
    kinds: list[dict[str, Any]] = json.loads(files("agent.web").joinpath("credibility.json").read_text("utf-8"))
    return kinds


def credibility_of(url: str) -> Grade:
    """Return the credibility of a source, by its domain."""
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
    """Return the relevance of a page, by how many of the question's words it contains.

    Args:
        stems: Stems of the page's text; see `queries.stems_of`.
        terms: The terms of the question.
        title: Stems of the page's title.
    """
    there = set(stems)
    share = terms.share(there)
    is_high = share >= _HIGH and not terms.lacking(there.union(title))
    return "high" if is_high else "medium" if share >= _MEDIUM else "low"
