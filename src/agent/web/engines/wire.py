"""A small HTTP client for the APIs of search engines: limits, TLS verified, every failure a `WebProblem`."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent.models.failures import retry_after
from agent.version import alita_version
from agent.web.page import Reason, WebProblem
from agent.web.proxy import proxy_problem
from agent.web.response import causes_of
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2

_MOST = 8 << 20
"""Bytes of an answer."""
_AGAIN = 0.5
"""Seconds before a broken connection is tried a second time."""
_BROKEN = (500, 502, 504)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
INSTALL = 'Install it: pip install -c constraints.txt ".[web]"'
_NETWORK = "Check the network; without one, ALITA_WEB_INDEX names pages of one's own to search."
_TLS = "Check the clock and the certificates of this machine; the connection is never made without them."
_STATUSES: dict[int, Reason] = {
    401: "bad_key",
    402: "quota",
    403: "bad_key",
    408: "timeout",
    413: "too_large",
    429: "rate_limit",
    # Two of Tavily's own: the plan's limit, and the limit of what is paid as it is used.
    432: "quota",
    433: "quota",
    504: "timeout",
}


class _Broken(Exception):
    """Worth a second try."""


class Wire:
    """Asks one API.

    Args:
        asked: Who is asked, with its base address and key.
        headers: Sent with each request.
        seconds: What one answer may take.
    """

    def __init__(self, asked: Asked, *, headers: Mapping[str, str] | None = None, seconds: float = 20.0) -> None:
        self.asked = asked
        self._headers = {"User-Agent": f"alita/{alita_version()}", **(headers or {})}
        self._seconds = seconds
        self._client: httpx2.AsyncClient | None = None

    async def get_json(self, path: str, params: Mapping[str, str | int]) -> dict[str, Any]:
        """The JSON object at a path.

        Raises:
            WebProblem: It could not be had.
        """
        return self._object(await self._ask("GET", path, params=dict(params)))

    async def post_json(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that answers a posted one.

        Raises:
            WebProblem: It could not be had.
        """
        return self._object(await self._ask("POST", path, json=dict(body)))

    async def get_bytes(self, path: str, params: Mapping[str, str | int]) -> bytes:
        """What is at a path.

        Raises:
            WebProblem: It could not be had.
        """
        return await self._ask("GET", path, params=dict(params))

    async def aclose(self) -> None:
        """Closes connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _ask(self, method: str, path: str, **given: Any) -> bytes:
        """Asks, and once more where the connection broke or the server fell over."""
        with suppress(_Broken):
            return await self._once(method, path, last=False, **given)
        await asyncio.sleep(_AGAIN)
        return await self._once(method, path, last=True, **given)

    async def _once(self, method: str, path: str, *, last: bool, **given: Any) -> bytes:
        import httpx2

        url = self.asked.url.rstrip("/") + path
        try:
            async with asyncio.timeout(self._seconds), self._opened().stream(method, url, **given) as response:
                body = await self._body(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, TimeoutError, OSError) as error:
            problem = transport_problem(self.asked, error)
            if problem.reason == "connection" and not last:
                raise _Broken from None
            raise problem from None
        if response.status_code in _BROKEN and not last:
            raise _Broken
        if response.status_code >= 300:
            raise status_problem(self.asked, response.status_code, _said(body), response.headers)
        return body

    async def _body(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _MOST:
                raise WebProblem(
                    "too_large",
                    f"{self.asked.host} answers with more than {_MOST >> 20} MiB",
                    remedy="Ask for less, or name other engines with ALITA_ENGINES.",
                )
        return bytes(body)

    def _opened(self) -> httpx2.AsyncClient:
        import httpx2

        if self._client is None:
            try:
                self._client = httpx2.AsyncClient(headers=self._headers, timeout=self._seconds)
            except (ImportError, ValueError):  # of a proxy that the environment names
                raise proxy_problem() from None
        return self._client

    def _object(self, body: bytes) -> dict[str, Any]:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            raise nonsense_problem(self.asked, body[:200].decode(errors="replace")) from None
        if not isinstance(found, dict):
            raise nonsense_problem(self.asked, f"{type(found).__name__} instead of an object")
        return found


def _said(body: bytes) -> str:
    """What the body of an error says, whatever its shape."""
    text = body[:4096].decode(errors="replace")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "" if text.lstrip().startswith("<") else text
    while isinstance(found, dict):
        found = next((found[name] for name in ("error", "detail", "message", "info") if found.get(name)), "")
    return found if isinstance(found, str) else json.dumps(found)


def text_of(found: Mapping[str, Any], name: str) -> str:
    """A text of an answer; empty where there is none."""
    value = found.get(name)
    return value if isinstance(value, str) else ""


def date_of(text: str) -> str:
    """The ISO date in a text that begins with one, or is a date of mail; empty else."""
    if _DATE.match(text):
        return text[:10]
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError, OverflowError):
        return ""


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is asked, as far as messages may say it."""

    engine: str
    url: str
    """Base address of its API."""
    key: str = field(default="", repr=False)
    """Never shown."""
    variable: str = ""
    """The environment variable of its key; empty for an engine without one."""

    @property
    def host(self) -> str:
        """Host and port."""
        return urlsplit(self.url).netloc.rpartition("@")[2] or self.url

    def shown(self, text: str) -> str:
        """The text on one line, without the key."""
        return one_line(text.replace(self.key, "[key]") if self.key else text, 200)


def status_problem(asked: Asked, status: int, said: str, headers: Mapping[str, str]) -> WebProblem:
    """What an HTTP status of 400 or more means.

    Args:
        asked: Who answered.
        status: The status.
        said: What the body says about it.
        headers: Names in lower case.
    """
    reason = _STATUSES.get(status, "http")
    if reason == "bad_key" and not asked.key:
        reason = "no_key" if asked.variable else "http"
    what = {
        "bad_key": f"{asked.host} refused the key",
        "no_key": f"{asked.host} wants a key",
        "quota": f"the quota at {asked.host} is used up",
        "rate_limit": f"{asked.host} limits the rate",
        "timeout": f"{asked.host} did not answer in time",
        "too_large": f"{asked.host} finds the request too large",
    }.get(reason, f"{asked.host} failed")
    after = retry_after(headers) if reason == "rate_limit" or status == 503 else None
    wait = f", wait {after:.0f} s" if after else ""
    detail = f": {asked.shown(said)}" if said.strip() else ""
    return WebProblem(reason, f"{what} ({status}{wait}){detail}", remedy=_remedy(asked, reason), retry_after=after)


def transport_problem(asked: Asked, error: BaseException) -> WebProblem:
    """What an exception of httpx or httpx2 means; both have the same names."""
    names = {name.__name__ for one in causes_of(error) for name in type(one).__mro__}
    if any(isinstance(one, ssl.SSLError) for one in causes_of(error)):
        return WebProblem("tls", f"the connection to {asked.host} is not safe: {asked.shown(str(error))}", remedy=_TLS)
    if any(isinstance(one, socket.gaierror) for one in causes_of(error)):
        return WebProblem("dns", f"{asked.host} cannot be resolved (no DNS or no network)", remedy=_NETWORK)
    if "TimeoutException" in names or "TimeoutError" in names:
        return WebProblem("timeout", f"{asked.host} did not answer in time", remedy=_NETWORK)
    said = asked.shown(str(error)) or type(error).__name__
    return WebProblem("connection", f"no connection to {asked.host}: {said}", remedy=_NETWORK)


def nonsense_problem(asked: Asked, what: str) -> WebProblem:
    """An answer that is none of the engine's."""
    remedy = "Its API may have changed, or a proxy answers in its place; name other engines with ALITA_ENGINES."
    return WebProblem("mismatch", f"{asked.host} gave no answer of {asked.engine}: {asked.shown(what)}", remedy=remedy)


def package_problem(engine: str) -> WebProblem:
    """An engine whose package is not there."""
    return WebProblem("no_key", f"the package of {engine} is not installed", remedy=INSTALL)


def _remedy(asked: Asked, reason: Reason) -> str:
    if reason in ("bad_key", "no_key"):
        return f"Set {asked.variable} to a key that {asked.host} accepts."
    if reason == "quota":
        return f"Look at the account at {asked.host}, or name other engines with ALITA_ENGINES."
    return "Ask again later, or name other engines with ALITA_ENGINES."
