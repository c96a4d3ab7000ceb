"""Search hits, pages as read, and the problems of both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from agent.configuration.engines import ENGINES
from agent.errors import ModelFixableError

Reason: TypeAlias = Literal[
    "no_key",
    "bad_key",
    "quota",
    "rate_limit",
    "refused_address",
    "private_address",
    "robots",
    "leak",
    "dns",
    "tls",
    "connection",
    "timeout",
    "redirects",
    "http",
    "too_large",
    "mismatch",
    "captcha",
    "paywall",
    "browser",
    "no_result",
]


LEAK_REMEDY = "It holds a benchmark's answers: find the facts elsewhere."
SOURCES = {"web": "", **{engine.name: engine.name for engine in ENGINES if engine.is_source}}
"""Sources that a model may choose, with their engine; empty for all engines in order."""


class WebProblem(ModelFixableError):
    """A page or search that failed.

    Args:
        reason: The kind of problem.
        message: The event, with the address or the query.
        remedy: Advice.
        retry_after: Seconds to wait, where the other side named them.
        path: A file that was fetched but cannot be read as a page; programs may open it.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        remedy: str = "Use another source.",
        retry_after: float | None = None,
        path: Path | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.reason = reason
        self.retry_after = retry_after
        self.path = path


@dataclass(frozen=True, slots=True)
class Result:
    """One hit of a search."""

    url: str
    title: str
    snippet: str
    source: str  # the engine that gave it: `firecrawl`, `ddgs`, `wikipedia`
    published: str = ""  # ISO date, where the engine gives it


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was read."""

    url: str  # after redirects
    title: str
    markdown: str  # its content, whole; each link is `[text](link n)`
    links: tuple[str, ...] = ()  # absolute addresses; link n is at n - 1
    kind: str = "html"  # by its content: `html`, `pdf`, `csv`
    via: str = "plain"  # how it came: `plain`, `rendered`, `firecrawl`, `archive`, `transcript`
    fetched: str = ""  # ISO time, UTC
    published: str = ""  # ISO date, where the page has it
    path: Path | None = None  # the downloaded file, if it is one
    notes: tuple[str, ...] = ()  # what was lost, or fell back, one sentence each; it may quote the page
    remarks: tuple[str, ...] = ()  # the same in alita's own words, without any of the page's
    forms: tuple[str, ...] = ()  # each on a line: `GET https://a.example/search: q (text)`
    around: str = ""  # menus, head and foot, in the same form

    @property
    def whole(self) -> str:
        """All that can be read on it."""
        return "\n\n".join(filter(None, (self.markdown, self.around)))


class Search(Protocol):
    """A search engine."""

    name: str
    """Its name in settings and events."""

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[Result]:
        """The best hits, best first; none is an empty list.

        Args:
            query: In the engine's own words: operators such as quotes and `site:` are allowed.
            limit: Maximum number of hits.
            freshness: `day`, `week`, `month` or `year`: nothing older; empty for any age.

        Raises:
            WebProblem: The engine could not be asked.
        """
        ...

    async def aclose(self) -> None:
        """Close connections; most engines have none."""
        return


class PageReader(Protocol):
    """Reads pages."""

    name: str
    """Its name in events."""

    async def read(self, url: str) -> Page:
        """The page at an address.

        Raises:
            WebProblem: It could not be fetched.
        """
        ...

    async def aclose(self) -> None:
        """Closes connections."""
        ...
