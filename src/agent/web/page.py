"""Search hits, pages, their problems, and the protocols of search engines and page readers."""

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


LEAK_REMEDY = "It contains a benchmark's answers: find the facts elsewhere."
SOURCES = {"web": "", **{engine.name: engine.name for engine in ENGINES if engine.is_source}}
"""Sources that a model may choose, each with its engine; empty for all engines."""


class WebProblem(ModelFixableError):
    """A page or search that failed.

    Args:
        reason: The kind of problem.
        message: What happened, with the address or query.
        remedy: What to do about it.
        retry_after: Seconds to wait, if the server named them.
        path: A downloaded file that cannot be read as a page but can be opened by programs.
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
class SearchHit:
    """One search hit."""

    url: str
    title: str
    snippet: str
    source: str  # name of the engine, such as `wikipedia`
    published: str = ""  # ISO date; empty if unknown


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was read."""

    url: str  # after redirects
    title: str
    markdown: str  # the whole content; links are written `[text](link n)`
    links: tuple[str, ...] = ()  # absolute addresses; link n has index n - 1
    kind: str = "html"  # `html`, `pdf`, `csv` …, by content
    via: str = "plain"  # `plain`, `rendered`, `firecrawl`, `archive` or `transcript`
    fetched: str = ""  # ISO time, UTC
    published: str = ""  # ISO date; empty if the page does not say
    path: Path | None = None  # the downloaded file, if it is one
    notes: tuple[str, ...] = ()  # losses and fallbacks, one sentence each; may quote the page
    remarks: tuple[str, ...] = ()  # the same without text of the page
    forms: tuple[str, ...] = ()  # such as `GET https://a.example/search: q (text)`
    around: str = ""  # menus, header and footer, as Markdown

    @property
    def whole(self) -> str:
        """Content, menus, header and footer."""
        return "\n\n".join(filter(None, (self.markdown, self.around)))


class SearchEngine(Protocol):
    """A search engine."""

    name: str
    """Name in settings and events."""

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[SearchHit]:
        """Return the best hits, best first; empty if there are none.

        Args:
            query: The query; it may use operators such as quotes and `site:`.
            limit: Maximum number of hits.
            freshness: Maximum age: `day`, `week`, `month` or `year`; empty for any.

        Raises:
            WebProblem: The engine could not be asked.
        """
        ...

    async def aclose(self) -> None:
        """Close connections. Most engines keep none open."""
        return


class PageReader(Protocol):
    """Reads pages."""

    name: str
    """Name in events."""

    async def read(self, url: str) -> Page:
        """Read the page at an address.

        Raises:
            WebProblem: The page could not be fetched or read.
        """
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...
