"""The search engines Tavily, Wikipedia, arXiv and ddgs, and how their failures are reported."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from agent import alita_version
from agent.configuration.engines import ENGINES
from agent.web.http import Http
from agent.web.page import Reason, SearchEngine, SearchHit, WebProblem
from agent.web.queries import oldest, parse_query
from agent.web.response import StatusProblem, causes_of
from mcp_tools.text import one_line

INSTALL = "`alita doctor` shows how to install the extra [web]."
_MAX_RETRY_AFTER = 1.0  # seconds; for longer waits, another engine is asked
_NETWORK = "Check the network."
_ELSEWHERE = "Try again later, or choose other engines with ALITA_ENGINES."
_STATUSES: dict[int, tuple[Reason, str]] = {
    **dict.fromkeys((401, 403), ("bad_key", "rejected the key")),
    **dict.fromkeys((402, 432, 433), ("quota", "has no quota left")),  # the last two are Tavily's own
    **dict.fromkeys((408, 504), ("timeout", "did not answer in time")),
    429: ("rate_limit", "limits the rate"),
}


@dataclass(frozen=True, slots=True)
class Service:
    """The API of an engine. Turns its failures into `WebProblem`s."""

    engine: str
    url: str  # base address
    key: str = field(default="", repr=False)  # never shown
    variable: str = ""  # environment variable of its key; empty if it needs none

    @property
    def host(self) -> str:
        """Host and port of `url`."""
        return urlsplit(self.url).netloc.rpartition("@")[2] or self.url

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every request, with the key."""
        key = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return {"User-Agent": f"alita/{alita_version()}", **key}

    def shown(self, text: str) -> str:
        """Return the text on one line, with the key removed."""
        return one_line(text.replace(self.key, "[key]") if self.key else text, 200)

    async def ask(self, http: Http, path: str, body: Any = None, *, seconds: float) -> dict[str, Any]:
        """Return the JSON object at a path. With a body, send it as a POST request."""
        url = self.url.rstrip("/") + path
        try:
            found = await http.ask_json(url, body, self.headers, seconds=seconds, patience=_MAX_RETRY_AFTER)
        except WebProblem as problem:
            raise self.problem(problem) from None
        if not isinstance(found, dict):
            raise self.nonsense(f"{type(found).__name__} instead of an object")
        return found

    def problem(self, problem: WebProblem) -> WebProblem:
        """Return the problem of a failed request with a remedy for this engine."""
        if isinstance(problem, StatusProblem):
            return self.refused(problem.status, problem.said, problem.retry_after)
        remedy = f"{problem.remedy} {_NETWORK if problem.reason in ('dns', 'connection', 'timeout') else ''}".strip()
        return WebProblem(problem.reason, self.shown(problem.message), remedy=remedy)

    def refused(self, status: int, message: str, retry_after: float | None) -> WebProblem:
        """Return the problem for a status of 300 or more.

        Args:
            status: The HTTP status.
            message: The error message in the response.
            retry_after: Seconds to wait, if the response names them.
        """
        reason, what = _STATUSES.get(status, ("http", "failed"))
        remedy = _ELSEWHERE
        if reason == "bad_key" and not self.key:
            reason, what = ("no_key", "requires a key") if self.variable else ("http", "failed")
        if reason in ("bad_key", "no_key"):
            remedy = f"Set {self.variable} to a key that {self.host} accepts."
        elif reason == "quota":
            remedy = f"Check your account at {self.host}, or choose other engines with ALITA_ENGINES."
        after = retry_after if reason == "rate_limit" or status == 503 else None
        wait = f", retry in {after:.0f} s" if after else ""
        detail = f": {self.shown(message)}" if message.strip() else ""
        return WebProblem(reason, f"{self.host} {what} ({status}{wait}){detail}", remedy=remedy, retry_after=after)

    def nonsense(self, what: str) -> WebProblem:
        """Return the problem for a response in an unexpected form."""
        remedy = "Its API may have changed, or a proxy answered in its place. Choose other engines with ALITA_ENGINES."
        return WebProblem(
            "mismatch", f"{self.host} returned an invalid {self.engine} response: {self.shown(what)}", remedy=remedy
        )


def missing_package(engine: str) -> WebProblem:
    """Return the problem of an engine without its package."""
    return WebProblem("no_key", f"the package of {engine} is not installed", remedy=INSTALL)


class _Api(SearchEngine):
    """Base of the engines with a plain HTTP API."""

    _url: ClassVar[str]
    _variable: ClassVar[str] = ""

    def __init__(self, http: Http, url: str = "", *, key: str = "", seconds: float = 30.0) -> None:
        self._http = http
        self._service = Service(self.name, url or self._url, key, self._variable)
        self._seconds = seconds


class Tavily(_Api):
    """Searches with Tavily."""

    name = "tavily"
    _url = "https://api.tavily.com"
    _variable = "TAVILY_API_KEY"

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[SearchHit]:
        """See `SearchEngine.search`."""
        asked = parse_query(query)
        body: dict[str, Any] = {
            "query": (asked.text or asked.site)[:400],  # characters, by its API
            "max_results": max(1, min(limit, 20)),
            "search_depth": "basic",
            "include_answer": False,
        }
        if freshness:
            body["time_range"] = freshness
        if asked.site:
            body["include_domains"] = [asked.site]
        found = (await self._service.ask(self._http, "/search", body, seconds=self._seconds)).get("results")
        if not isinstance(found, list):
            raise self._service.nonsense("an object without a list of results")
        return [
            SearchHit(
                _text_member(one, "url"),
                _text_member(one, "title"),
                _text_member(one, "content"),
                self.name,
                _published(one),
            )
            for one in found
            if isinstance(one, dict)
        ]


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
_TAG = re.compile(r"<[^>]*>")


class Wikipedia(_Api):
    """Searches Wikipedia in the language of the query, as far as the script reveals it."""

    name = "wikipedia"
    _url = "https://{language}.wikipedia.org"

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[SearchHit]:
        """See `SearchEngine.search`. Freshness means the last edit of an article. Other sites are not searched."""
        asked = parse_query(query)
        if asked.site and not asked.site.endswith("wikipedia.org"):
            return []
        service = replace(self._service, url=self._service.url.replace("{language}", language_of(asked.text)))
        params: dict[str, str | int] = {
            "action": "query",
            "list": "search",
            "srsearch": asked.text[:300],  # characters, by its search
            "srlimit": max(1, min(limit, 50)),
            "srprop": "snippet|timestamp",
            "srinfo": "",
            "format": "json",
            "formatversion": 2,
            "utf8": 1,
        }
        answer = await service.ask(self._http, f"/w/api.php?{urlencode(params)}", seconds=self._seconds)
        if error := answer.get("error"):  # the status is 200 even for errors
            code, info = (
                (_text_member(error, "code"), _text_member(error, "info"))
                if isinstance(error, dict)
                else ("", str(error))
            )
            reason: Reason = "rate_limit" if code in ("maxlag", "ratelimited", "readonly") else "http"
            message = f"{service.host} refused the search: {service.shown(f'{code}: {info}')}"
            raise WebProblem(reason, message, remedy="Use fewer words, or another engine.")
        since = oldest(freshness)
        results = []
        try:
            for one in answer["query"]["search"]:
                title, snippet = _text_member(one, "title"), unescape(_TAG.sub("", _text_member(one, "snippet")))
                url = f"{service.url}/wiki/{quote(title.replace(' ', '_'), safe='_(),:;!*@/')}"
                if since is None or _text_member(one, "timestamp") >= since.isoformat():
                    results.append(SearchHit(url, title, snippet, self.name))
        except (KeyError, TypeError, AttributeError):
            raise service.nonsense("an object without query.search") from None
        return results


def language_of(query: str) -> str:
    """Return the language code for a text's script; `en` for Latin letters."""
    return next((language for language, letters in _SCRIPTS.items() if re.search(f"[{letters}]", query)), "en")


_ATOM = "{http://www.w3.org/2005/Atom}"


class Arxiv(_Api):
    """Searches arXiv papers by words in title, authors and abstract."""

    name = "arxiv"
    _url = "https://export.arxiv.org"

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[SearchHit]:
        """See `SearchEngine.search`. Hits contain all words. A query for another site finds nothing."""
        asked, since = parse_query(query), oldest(freshness)
        wanted = [*(f'"{phrase}"' for phrase in asked.phrases), *asked.words[:10]]
        if not wanted or (asked.site and not asked.site.endswith("arxiv.org")):
            return []
        expression = " AND ".join(f"all:{one}" for one in wanted)
        expression += "".join(f' ANDNOT all:"{one}"' for one in asked.without)
        expression += f" AND submittedDate:[{since:%Y%m%d%H%M} TO 300001010000]" if since else ""
        params = {"search_query": expression, "max_results": max(1, min(limit, 100)), "sortBy": "relevance"}
        url = f"{self._service.url.rstrip('/')}/api/query?{urlencode(params)}"
        try:
            from lxml import etree  # type: ignore[import-untyped]  # it has no types
        except ImportError:
            raise missing_package(self.name) from None
        try:
            answer = await self._http.ask(
                "GET", url, self._service.headers, seconds=self._seconds, patience=_MAX_RETRY_AFTER
            )
            feed = etree.fromstring(answer.body, etree.XMLParser(resolve_entities=False, no_network=True))
        except WebProblem as problem:
            raise self._service.problem(problem) from None
        except (etree.XMLSyntaxError, ValueError) as error:
            raise self._service.nonsense(str(error)) from None
        if feed.tag != f"{_ATOM}feed":
            raise self._service.nonsense(f"XML of another kind: {feed.tag}")
        results = [_paper(entry) for entry in feed.findall(f"{_ATOM}entry")]
        if results and "/api/errors" in results[0].url:
            message = self._service.shown(results[0].snippet)
            raise WebProblem("http", f"arXiv does not understand the query: {message}", remedy="Use fewer words.")
        return results


def _paper(entry: Any) -> SearchHit:
    def text(element: Any, name: str) -> str:
        return " ".join((element.findtext(f"{_ATOM}{name}") or "").split())

    url = text(entry, "id").replace("http://arxiv.org/", "https://arxiv.org/", 1)
    authors = [text(author, "name") for author in entry.findall(f"{_ATOM}author")]
    named = ", ".join(authors[:5]) + (" and others" if len(authors) > 5 else "")
    snippet = f"{named}: {text(entry, 'summary')}" if named else text(entry, "summary")
    return SearchHit(url, text(entry, "title"), snippet, "arxiv", text(entry, "published")[:10])


def _text_member(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def _published(found: Mapping[str, Any]) -> str:
    """Return the ISO date of a hit, which may have it in ISO or mail format; empty if it has none."""
    text = _text_member(found, "published_date")
    if re.match(r"\d{4}-\d\d-\d\d(?!\d)", text):
        return text[:10]
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError, OverflowError):
        return ""


_BACKENDS = ("duckduckgo", "brave", "startpage", "yahoo", "mojeek")  # Wikipedia is a separate engine here
_WITHOUT_FRESHNESS = ("mojeek",)
_AGES = {"day": "d", "week": "w", "month": "m", "year": "y"}
_MAX_DDGS_QUERY_CHARS = 400
_DDGS_ERRORS: tuple[tuple[str, Reason, str], ...] = (
    (r"dns ?(timeout)?error", "dns", "their names cannot be resolved (no DNS or no network)"),
    (r"certificate|tls", "tls", "their certificates are not trusted here"),
    (r"timed out|timeouterror", "timeout", "they did not answer in time"),
    (r"connect", "connection", "they cannot be reached"),
    (r"", "no_result", "there are no results, or the engines block programs"),
)
"""Patterns of error texts, each with its reason and message. The first match counts."""


class Ddgs(SearchEngine):
    """Asks several public search engines through the package `ddgs`, without a key.

    Args:
        http: Unused: the package makes its own requests.
        url: Unused.
        key: Unused.
        seconds: Time limit of one request.
        proxy: Proxy for all requests; by default `DDGS_PROXY`.
        certificates: File of the authorities to trust instead of the usual ones.
    """

    name = "ddgs"

    def __init__(
        self,
        http: Http | None = None,
        url: str = "",
        *,
        key: str = "",
        seconds: int = 8,
        proxy: str | None = None,
        certificates: str = "",
    ) -> None:
        self._seconds = seconds
        self._proxy = proxy
        self._verify: bool | str = certificates or True

    async def search(self, query: str, *, limit: int = 8, freshness: str = "") -> list[SearchHit]:
        """See `SearchEngine.search`.

        Raises:
            WebProblem: No engine answered, or none had hits. An engine that blocks programs looks the same as one that
                found nothing.
        """
        return await asyncio.to_thread(self._search, query[:_MAX_DDGS_QUERY_CHARS], max(1, limit), freshness)

    def _search(self, query: str, limit: int, freshness: str) -> list[SearchHit]:
        try:
            from ddgs import DDGS
            from ddgs.exceptions import DDGSException
        except ImportError:
            raise missing_package(self.name) from None
        backends = [one for one in _BACKENDS if not (freshness and one in _WITHOUT_FRESHNESS)]
        # A new client for each request, since its engines remember their queries.
        client = DDGS(proxy=self._proxy, timeout=self._seconds, verify=self._verify)
        age, asked = _AGES.get(freshness), ",".join(backends)
        try:
            found = client.text(query, region="us-en", timelimit=age, max_results=limit, backend=asked)
        except DDGSException as error:
            texts = " ".join(f"{type(one).__name__} {one}" for one in causes_of(error)).lower()
            reason, what = next((reason, what) for words, reason, what in _DDGS_ERRORS if re.search(words, texts))
            message = f"none of {', '.join(backends)} returned results: {what}"
            keys = " or ".join(engine.key.upper() for engine in ENGINES if engine.key)
            remedy = f"Try again later, or set {keys}."
            raise WebProblem(reason, message, remedy=remedy) from None
        hits = (
            SearchHit(_behind_click(one["href"]), one.get("title", ""), one.get("body", ""), self.name) for one in found
        )
        return [hit for hit in hits if hit.url]


def _behind_click(url: str) -> str:
    """Return the target of a DuckDuckGo redirect link."""
    try:
        parts = urlsplit(f"https:{url}" if url.startswith("//") else url)
        behind = parse_qs(parts.query).get("uddg", [])
    except ValueError:
        return url
    return behind[0] if behind and (parts.hostname or "").endswith("duckduckgo.com") else url
