"""Wikipedia's own search, in the language that the query is written in as far as its letters tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Any
from urllib.parse import quote

from agent.web.engines.query import oldest, parse_query
from agent.web.engines.wire import Asked, Wire, nonsense_problem, text_of
from agent.web.page import Result, WebProblem

HOSTED = "https://{language}.wikipedia.org"
_LONGEST_QUERY = 300
"""Characters, by its search."""
_MOST = 50
_SCRIPTS = {
    "ja": "\u3040-\u30ff",
    "ko": "\uac00-\ud7af\u1100-\u11ff",
    "zh": "\u4e00-\u9fff",
    "ru": "\u0400-\u04ff",
    "el": "\u0370-\u03ff",
    "he": "\u0590-\u05ff",
    "ar": "\u0600-\u06ff",
    "hi": "\u0900-\u097f",
    "th": "\u0e00-\u0e7f",
}
_BUSY = ("maxlag", "ratelimited", "readonly", "internal_api_error")
_TAG = re.compile(r"<[^>]*>")


class Wikipedia:
    """Searches Wikipedia.

    Args:
        url: Base address; `{language}` stands for the language.
        seconds: What one answer may take.
    """

    name = "wikipedia"

    def __init__(self, url: str = HOSTED, *, seconds: float = 20.0) -> None:
        self._url = url
        self._seconds = seconds
        self._wires: dict[str, Wire] = {}

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[Result]:
        """The articles that fit best, best first; with a freshness, those that were changed since.

        A query for another site has none.

        Raises:
            WebProblem: It could not be asked.
        """
        asked = parse_query(query)
        if asked.site and not asked.site.endswith("wikipedia.org"):
            return []
        wire = self._wire(language_of(asked.text))
        params: dict[str, str | int] = {
            "action": "query",
            "list": "search",
            "srsearch": asked.text[:_LONGEST_QUERY],
            "srlimit": max(1, min(limit, _MOST)),
            "srprop": "snippet|timestamp",
            "srinfo": "",
            "format": "json",
            "formatversion": 2,
            "utf8": 1,
        }
        answer = await wire.get_json("/w/api.php", params)
        if error := answer.get("error"):
            raise _refused(wire.asked, error)
        try:
            found = answer["query"]["search"]
            hits = [(_result(one, wire.asked.url), text_of(one, "timestamp")) for one in found]
        except (KeyError, TypeError, AttributeError):
            raise nonsense_problem(wire.asked, "an object without query.search") from None
        since = oldest(freshness)
        return [hit for hit, changed in hits if since is None or changed >= since.isoformat()]

    async def aclose(self) -> None:
        """Closes connections."""
        for wire in self._wires.values():
            await wire.aclose()

    def _wire(self, language: str) -> Wire:
        url = self._url.replace("{language}", language)
        if url not in self._wires:
            self._wires[url] = Wire(Asked(self.name, url), seconds=self._seconds)
        return self._wires[url]


def language_of(query: str) -> str:
    """The language of a text by its script; English for all that Latin letters write."""
    for language, letters in _SCRIPTS.items():
        if re.search(f"[{letters}]", query):
            return language
    return "en"


def _result(one: Mapping[str, Any], base: str) -> Result:
    title = text_of(one, "title")
    url = f"{base}/wiki/{quote(title.replace(' ', '_'), safe='_(),:;!*@/')}"
    return Result(url, title, unescape(_TAG.sub("", text_of(one, "snippet"))), "wikipedia")


def _refused(asked: Asked, error: Any) -> WebProblem:
    """What an error means that came with the status 200."""
    code = text_of(error, "code") if isinstance(error, dict) else ""
    said = asked.shown(f"{code}: {text_of(error, 'info')}" if isinstance(error, dict) else str(error))
    return WebProblem(
        "rate_limit" if code in _BUSY else "http",
        f"{asked.host} does not search: {said}",
        remedy="Search for fewer words, or with another engine.",
    )
