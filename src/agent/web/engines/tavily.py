"""Tavily, a search engine with a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.web.engines.query import parse_query
from agent.web.engines.wire import Asked, Wire, date_of, nonsense_problem, text_of
from agent.web.page import Result

HOSTED = "https://api.tavily.com"
VARIABLE = "TAVILY_API_KEY"
_LONGEST_QUERY = 400
"""Characters, by its API."""
_MOST = 20
_AGES = ("day", "week", "month", "year")


class Tavily:
    """Searches with Tavily.

    Args:
        key: Its key; without one it says so when it is asked.
        url: Base address.
        seconds: What one answer may take.
    """

    name = "tavily"

    def __init__(self, key: str, url: str = HOSTED, *, seconds: float = 30.0) -> None:
        self._asked = Asked(self.name, url, key, VARIABLE)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._wire = Wire(self._asked, headers=headers, seconds=seconds)

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[Result]:
        """The best hits, best first.

        Raises:
            WebProblem: It could not be asked.
        """
        asked = parse_query(query)
        body: dict[str, Any] = {
            "query": (asked.text or asked.site)[:_LONGEST_QUERY],
            "max_results": max(1, min(limit, _MOST)),
            "search_depth": "basic",
            "include_answer": False,
        }
        if freshness in _AGES:
            body["time_range"] = freshness
        if asked.site:
            body["include_domains"] = [asked.site]
        found = (await self._wire.post_json("/search", body)).get("results")
        if not isinstance(found, list):
            raise nonsense_problem(self._asked, "an object without a list of results")
        return [_result(one) for one in found if isinstance(one, dict)]

    async def aclose(self) -> None:
        """Closes connections."""
        await self._wire.aclose()


def _result(one: Mapping[str, Any]) -> Result:
    published = date_of(text_of(one, "published_date"))
    return Result(text_of(one, "url"), text_of(one, "title"), text_of(one, "content"), "tavily", published)
