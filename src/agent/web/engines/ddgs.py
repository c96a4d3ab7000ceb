"""Search engines that need no key, through ddgs, which asks several of them until there are enough hits."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import parse_qs, urlsplit

from agent.web.engines.services import missing_package
from agent.web.page import Reason, Result, Search, WebProblem
from agent.web.response import causes_of

_BACKENDS = ("duckduckgo", "brave", "startpage", "yahoo", "mojeek")  # Wikipedia is an engine of its own here
_AGELESS = ("mojeek",)  # they know no ages
_AGES = {"day": "d", "week": "w", "month": "m", "year": "y"}
_LONGEST_QUERY = 400
_SAID: tuple[tuple[str, Reason, str], ...] = (
    (r"dns ?(timeout)?error", "dns", "they cannot be resolved (no DNS or no network)"),
    (r"certificate|tls", "tls", "they have no certificate that is trusted here"),
    (r"timed out|timeouterror", "timeout", "they did not answer in time"),
    (r"connect", "connection", "they are not reached"),
    (r"", "no_result", "there are none, or they refuse programs"),
)
"""What an error and its causes say, and what that means."""


class Ddgs(Search):
    """Searches without a key.

    Args:
        seconds: What one request may take.
        proxy: Proxy of all requests; DDGS_PROXY unless given.
        certificates: File of the authorities that are trusted instead of the usual ones.
    """

    name = "ddgs"

    def __init__(self, *, seconds: int = 8, proxy: str | None = None, certificates: str = "") -> None:
        self._seconds = seconds
        self._proxy = proxy
        self._verify: bool | str = certificates or True

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[Result]:
        """The best hits, best first.

        Raises:
            WebProblem: No engine could be reached, or none gave anything: they do not say whether there is nothing,
                or whether they refuse programs.
        """
        return await asyncio.to_thread(self._search, query[:_LONGEST_QUERY], max(1, limit), freshness)

    def _search(self, query: str, limit: int, freshness: str) -> list[Result]:
        try:
            from ddgs import DDGS
            from ddgs.exceptions import DDGSException
        except ImportError:
            raise missing_package(self.name) from None
        backends = [one for one in _BACKENDS if not (freshness and one in _AGELESS)]
        # An object of its own for each request: its engines keep what they were asked.
        client = DDGS(proxy=self._proxy, timeout=self._seconds, verify=self._verify)
        age, asked = _AGES.get(freshness), ",".join(backends)
        try:
            found = client.text(query, region="us-en", timelimit=age, max_results=limit, backend=asked)
        except DDGSException as error:
            said = " ".join(f"{type(one).__name__} {one}" for one in causes_of(error)).lower()
            reason, what = next((reason, what) for words, reason, what in _SAID if re.search(words, said))
            message = f"none of {', '.join(backends)} gave hits: {what}"
            remedy = "Try again later, or set FIRECRAWL_API_KEY or TAVILY_API_KEY."
            raise WebProblem(reason, message, remedy=remedy) from None
        hits = (Result(_target(one["href"]), one.get("title", ""), one.get("body", ""), self.name) for one in found)
        return [hit for hit in hits if hit.url]


def _target(url: str) -> str:
    """The address behind DuckDuckGo's own, through which clicks go."""
    try:
        parts = urlsplit(f"https:{url}" if url.startswith("//") else url)
        behind = parse_qs(parts.query).get("uddg", [])
    except ValueError:
        return url
    return behind[0] if behind and (parts.hostname or "").endswith("duckduckgo.com") else url
