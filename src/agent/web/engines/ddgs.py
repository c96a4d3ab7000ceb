"""Search engines that need no key, through ddgs."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

from agent.web.engines.services import missing_package
from agent.web.page import Reason, Result, Search, WebProblem
from agent.web.response import causes_of

_BACKENDS = ("duckduckgo", "brave", "mojeek", "startpage", "yahoo")
"""In the order in which they are asked. Wikipedia is an engine of its own here."""
_AGELESS = ("mojeek",)
"""They know no ages."""
_AGES = {"day": "d", "week": "w", "month": "m", "year": "y"}
_LONGEST_QUERY = 400
_REMEDY = "Try again later, or set FIRECRAWL_API_KEY or TAVILY_API_KEY."
_SAID = {
    "dns": "cannot be resolved (no DNS or no network)",
    "tls": "has no certificate that is trusted here",
    "timeout": "did not answer in time",
}
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
        problems: dict[str, WebProblem] = {}
        for backend in tuple(self._order):
            if freshness and backend in _AGELESS:
                continue
            try:
                if found := await asyncio.to_thread(self._ask, backend, query[:_LONGEST_QUERY], limit, freshness):
                    return found
            except WebProblem as problem:
                problems[backend] = problem
                if problem.reason == "no_key" or (
                    len(problems) == 2 and all(one.reason in _OFFLINE for one in problems.values())
                ):
                    raise
            self._order = [*(one for one in self._order if one != backend), backend]  # from now on after the others
        if len(problems) == len(_BACKENDS):
            raise next(iter(problems.values()))
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
            from ddgs import DDGS
            from ddgs.exceptions import DDGSException
        except ImportError:
            raise missing_package(self.name) from None
        # An object of its own for each request: its engines keep what they were asked.
        client = DDGS(proxy=self._proxy, timeout=self._seconds, verify=self._verify)
        try:
            found = client.text(
                query,
                region="us-en",
                safesearch="moderate",
                timelimit=_AGES.get(freshness),
                max_results=max(1, limit),
                backend=backend,
            )
        except DDGSException as error:
            if reason := _reason(error):
                raise WebProblem(reason, f"{backend} {_SAID.get(reason, 'is not reached')}", remedy=_REMEDY) from None
            return []
        return [hit for one in found if (hit := _result(one)).url]


def _reason(error: BaseException) -> Reason | None:
    """Why no engine was reached; None where one was, and gave nothing."""
    import primp

    causes = list(causes_of(error))
    said = " ".join(str(one) for one in causes).lower()
    if any(isinstance(one, primp.DNSError | primp.DNSTimeoutError) for one in causes) or "dns error" in said:
        return "dns"
    if "certificate" in said or "tls" in said:
        return "tls"
    if any(isinstance(one, primp.TimeoutError) for one in causes) or "timed out" in said:
        return "timeout"
    return "connection" if any(isinstance(one, primp.PrimpError) for one in causes) else None


def _result(one: dict[str, Any]) -> Result:
    return Result(_target(str(one.get("href", ""))), str(one.get("title", "")), str(one.get("body", "")), "ddgs")


def _target(url: str) -> str:
    """The address behind DuckDuckGo's own, through which clicks go."""
    try:
        parts = urlsplit(f"https:{url}" if url.startswith("//") else url)
        behind = parse_qs(parts.query).get("uddg", [])
    except ValueError:
        return url
    return behind[0] if behind and (parts.hostname or "").endswith("duckduckgo.com") else url
