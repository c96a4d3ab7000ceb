"""arXiv's own search: papers by the words of their title, authors and abstract."""

from __future__ import annotations

from typing import Any

from agent.web.engines.query import Query, oldest, parse_query
from agent.web.engines.wire import Asked, Wire, date_of, nonsense_problem, package_problem
from agent.web.page import Result, WebProblem

HOSTED = "https://export.arxiv.org"
_MOST = 100
_MOST_WORDS = 10
_ATOM = "{http://www.w3.org/2005/Atom}"


class Arxiv:
    """Searches arXiv.

    Args:
        url: Base address.
        seconds: What one answer may take.
    """

    name = "arxiv"

    def __init__(self, url: str = HOSTED, *, seconds: float = 30.0) -> None:
        self._wire = Wire(Asked(self.name, url), seconds=seconds)

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[Result]:
        """The papers that have all of the words, the most relevant first; none for a query of another site.

        Raises:
            WebProblem: It could not be asked.
        """
        asked = parse_query(query)
        expression = _expression(asked, freshness)
        if not expression or (asked.site and not asked.site.endswith("arxiv.org")):
            return []
        params: dict[str, str | int] = {
            "search_query": expression,
            "start": 0,
            "max_results": max(1, min(limit, _MOST)),
            "sortBy": "relevance",
            "sortOrder": "descending",
        }
        return self._results(await self._wire.get_bytes("/api/query", params))

    async def aclose(self) -> None:
        """Closes connections."""
        await self._wire.aclose()

    def _results(self, body: bytes) -> list[Result]:
        try:
            from lxml import etree  # type: ignore[import-untyped]  # it has no types
        except ImportError:
            raise package_problem("arxiv") from None
        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        try:
            feed = etree.fromstring(body, parser)
        except (etree.XMLSyntaxError, ValueError) as error:
            raise nonsense_problem(self._wire.asked, str(error)) from None
        if feed.tag != f"{_ATOM}feed":
            raise nonsense_problem(self._wire.asked, f"XML of another kind: {feed.tag}")
        results = [_result(entry) for entry in feed.findall(f"{_ATOM}entry")]
        if results and "/api/errors" in results[0].url:
            said = self._wire.asked.shown(results[0].snippet)
            raise WebProblem("http", f"arXiv does not understand the query: {said}", remedy="Search for fewer words.")
        return results


def _expression(query: Query, freshness: str) -> str:
    """The query in arXiv's syntax; empty where no word is left."""
    words = [f"all:{word}" for word in query.words[:_MOST_WORDS]]
    wanted = " AND ".join([*(f'all:"{phrase}"' for phrase in query.phrases), *words])
    if not wanted:
        return ""
    refused = "".join(f' ANDNOT all:"{one}"' for one in query.without)
    since = oldest(freshness)
    dates = f" AND submittedDate:[{since:%Y%m%d%H%M} TO 300001010000]" if since else ""
    return f"{wanted}{refused}{dates}"


def _result(entry: Any) -> Result:
    url = _text(entry, "id").replace("http://arxiv.org/", "https://arxiv.org/", 1)
    authors = [_text(author, "name") for author in entry.findall(f"{_ATOM}author")]
    named = ", ".join(authors[:5]) + (" and others" if len(authors) > 5 else "")
    snippet = f"{named}: {_text(entry, 'summary')}" if named else _text(entry, "summary")
    return Result(url, _text(entry, "title"), snippet, "arxiv", date_of(_text(entry, "published")))


def _text(element: Any, name: str) -> str:
    return " ".join((element.findtext(f"{_ATOM}{name}") or "").split())
