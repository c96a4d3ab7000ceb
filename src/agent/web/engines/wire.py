"""A small HTTP client for the APIs of search engines: limits, TLS verified, every failure a `WebProblem`."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from agent.version import alita_version
from agent.web.engines.problems import Asked, nonsense_problem, status_problem, transport_problem
from agent.web.fetching.proxies import proxy_problem
from agent.web.protocol import WebProblem

if TYPE_CHECKING:
    import httpx2

_MOST = 8 << 20
"""Bytes of an answer."""
_AGAIN = 0.5
"""Seconds before a broken connection is tried a second time."""
_BROKEN = (500, 502, 504)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")


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
