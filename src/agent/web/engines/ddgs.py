"""Search engines that need no key, through ddgs."""

from __future__ import annotations

import asyncio
import re
from urllib.parse import parse_qs, urlsplit

from agent.web.engines.services import missing_package
from agent.web.page import Reason, Result, Search, WebProblem
from agent.web.response import causes_of

_BACKENDS = ("duckduckgo", "brave", "mojeek", "startpage", "yahoo")
"""In the order in which they are asked. Wikipedia is an engine of its own here."""
_AGELESS = ("mojeek",)  # they know no ages
_AGES = {"day": "d", "week": "w", "month": "m", "year": "y"}
_LONGEST_QUERY = 400
_REMEDY = "Try again later, or set FIRECRAWL_API_KEY or TAVILY_API_KEY."
_SAID: tuple[tuple[str, Reason, str], ...] = (
    (r"dns ?(timeout)?error", "dns", "cannot be resolved (no DNS or no network)"),
    (r"certificate|tls", "tls", "has no certificate that is trusted here"),
    (r"timed out|timeouterror", "timeout", "did not answer in time"),
)
"""What an error and its causes say, and what that means."""
_OFFLINE: tuple[Reason, ...] = ("dns", "tls", "connection")


class Ddgs(Search):
    """Searches without a key; one engine after the other until one has hits.

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
        self._order = list(_BACKENDS)

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[Result]:
        """The best hits, best first.

        Raises:
            WebProblem: No engine could be reached, or none gave anything: they do not say whether there is nothing,
                or whether they refuse programs.
        """
        problems: list[WebProblem] = []
        for backend in tuple(self._order):
            if freshness and backend in _AGELESS:
                continue
            try:
                if found := await asyncio.to_thread(self._ask, backend, query[:_LONGEST_QUERY], limit, freshness):
                    return found
            except WebProblem as problem:
                problems.append(problem)
                is_offline = len(problems) == 2 and all(one.reason in _OFFLINE for one in problems)
                if problem.reason == "no_key" or is_offline:
                    raise
            self._order = [*(one for one in self._order if one != backend), backend]  # from now on after the others
        if len(problems) == len(_BACKENDS):
            raise problems[0]
        raise WebProblem(
            "no_result",
            f"none of {', '.join(_BACKENDS)} gave hits: there are none, or they refuse programs",
            remedy=_REMEDY,
        )

    def _ask(self, backend: str, query: str, limit: int, freshness: str) -> list[Result]:
        """Asks one engine; in a thread, since ddgs blocks.

        Raises:
            WebProblem: It could not be reached.
        """
        try:
            import primp
            from ddgs import DDGS
            from ddgs.exceptions import DDGSException
        except ImportError:
            raise missing_package(self.name) from None
        # An object of its own for each request: its engines keep what they were asked.
        client = DDGS(proxy=self._proxy, timeout=self._seconds, verify=self._verify)
        age, most = _AGES.get(freshness), max(1, limit)
        try:
            found = client.text(query, region="us-en", timelimit=age, max_results=most, backend=backend)
        except DDGSException as error:
            causes = list(causes_of(error))
            said = " ".join(f"{type(one).__name__} {one}" for one in causes).lower()
            for words, reason, what in _SAID:
                if re.search(words, said):
                    raise WebProblem(reason, f"{backend} {what}", remedy=_REMEDY) from None
            if any(isinstance(one, primp.PrimpError) for one in causes):
                raise WebProblem("connection", f"{backend} is not reached", remedy=_REMEDY) from None
            return []
        hits = (
            Result(_target(one.get("href", "")), one.get("title", ""), one.get("body", ""), self.name) for one in found
        )
        return [hit for hit in hits if hit.url]


def _target(url: str) -> str:
    """The address behind DuckDuckGo's own, through which clicks go."""
    try:
        parts = urlsplit(f"https:{url}" if url.startswith("//") else url)
        behind = parse_qs(parts.query).get("uddg", [])
    except ValueError:
        return url
    return behind[0] if behind and (parts.hostname or "").endswith("duckduckgo.com") else url
