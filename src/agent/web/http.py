"""HTTP client with the address guard, size and time limits, retries and robots.txt."""

from __future__ import annotations

import asyncio
import fnmatch
import json
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote, unquote, urljoin

from agent import alita_version
from agent.web.guard import AddressGuard, Resolver, read_address
from agent.web.page import WebProblem
from agent.web.response import Response, StatusProblem, foreign_errors, response_of
from mcp_tools.network import NetworkError, network_client
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
Rules: TypeAlias = Sequence[tuple[str, bool]]  # path patterns of a robots.txt; True if it allows

TOKEN = "alita"  # noqa: S105  # our name in robots.txt
MAX_PAGE_BYTES = 32 * 2**20  # uncompressed
REDIRECTS = 10
MAX_RETRY_AFTER_SECONDS = 15.0  # for longer waits, the request fails
AT_ONCE = 10
_BURST, _PER_SECOND = 16, 4.0
"""Number of requests to a host without a pause, and the number per second after that."""
_ATTEMPTS = 3
_FIRST_WAIT = 0.5  # seconds before the second attempt, doubled before the third
_SECONDS = 60.0
_MAX_ROBOTS_BYTES, _MAX_RULES = 512 * 2**10, 5000
_MAX_FAILURE_BYTES = 256 * 2**10
_ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class Http:
    """HTTP client of a run, for pages and for the APIs of engines.

    Args:
        allow_private: True if addresses of this machine and its network may be opened.
        allow_addresses: Private addresses that may be opened anyway, as in the setting of the same name.
        robots: True to obey robots.txt.
        resolve: Looks up host names; by default, the system does.
        tls: Certificates to trust; by default, those of the system.
        seconds: Time limit of one request, including redirects and body.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        allow_addresses: Sequence[str] = (),
        robots: bool = True,
        resolve: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
        seconds: float = _SECONDS,
    ) -> None:
        self.guard = AddressGuard(allow_private=allow_private, allow_addresses=allow_addresses, resolve=resolve)
        self._obeys_robots = robots
        self._tls = tls
        self._seconds = seconds
        self._opened: httpx2.AsyncClient | None = None
        self._paces: dict[str, _Pace] = {}
        self._robots: dict[str, asyncio.Task[Rules]] = {}

    async def ask_json(
        self,
        url: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        seconds: float | None = None,
        patience: float = MAX_RETRY_AFTER_SECONDS,
    ) -> Any:
        """Send a request to an API and return the JSON of its response; see `ask`. With a body, the method is POST.

        Raises:
            WebProblem: There was no response, or it is not JSON. A status of 300 or more is a `StatusProblem`.
        """
        head, content = dict(headers or {}), None
        if body is not None:
            head, content = {"Content-Type": "application/json", **head}, json.dumps(body).encode()
        method = "GET" if content is None else "POST"
        response = await self.ask(method, url, head, content, seconds=seconds, patience=patience)
        try:
            return json.loads(response.body)
        except (ValueError, RecursionError):
            beginning = replace(response, body=response.body[:1000]).text
            raise WebProblem(
                "mismatch",
                f"{one_line(response.url, 200)} returned a response that is not JSON: {one_line(beginning, 100)}",
                remedy="Check the address of this service, or use another one.",
            ) from None

    async def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | None = None,
        *,
        seconds: float | None = None,
        patience: float = MAX_RETRY_AFTER_SECONDS,
    ) -> Response:
        """Send a request to an API. It ignores robots.txt, and follows no redirects, since headers contain keys.

        Args:
            method: `GET` or `POST`.
            url: The address.
            headers: Headers, including the key.
            content: The body.
            seconds: Time limit; by default, that of the client.
            patience: Longest Retry-After, in seconds, after which the request is repeated.

        Raises:
            WebProblem: There was no response. A status of 300 or more is a `StatusProblem`.
        """

        async def call() -> Response:
            request = self._client().build_request(method, read_address(url), content=content, headers=dict(headers))
            if seconds is not None:
                request.extensions["timeout"] |= {"read": seconds}
            async with self._sent(request) as opened:
                if opened.status_code >= 300:
                    raise StatusProblem(await response_of(opened, _MAX_FAILURE_BYTES, cut=True))
                return await response_of(opened, MAX_PAGE_BYTES)

        return await self._repeated(url, call, seconds or self._seconds, patience)

    async def fetch(self, url: str, take: Callable[[httpx2.Response], Awaitable[T]], *, robots: bool = True) -> T:
        """Open an address and let `take` read the response. Both are repeated if the connection breaks.

        Args:
            url: An http or https address.
            take: Reads the body of the open response.
            robots: True to check robots.txt.

        Raises:
            WebProblem: The address could not be fetched. A status of 400 or more is a `StatusProblem`.
        """

        async def call() -> T:
            async with self._followed(url, robots=robots and self._obeys_robots) as opened:
                if opened.status_code >= 400:
                    raise StatusProblem(await response_of(opened, _MAX_FAILURE_BYTES, cut=True))
                return await take(opened)

        return await self._repeated(url, call, self._seconds, MAX_RETRY_AFTER_SECONDS)

    async def aclose(self) -> None:
        """Close connections."""
        for task in self._robots.values():
            task.cancel()
        await asyncio.gather(*self._robots.values(), return_exceptions=True)
        if self._opened is not None:
            await self._opened.aclose()
            self._opened = None

    async def _repeated(self, url: str, call: Callable[[], Awaitable[T]], limit: float, patience: float) -> T:
        """Repeat the call until it succeeds or another attempt would be useless."""
        for attempt in range(_ATTEMPTS):
            try:
                with foreign_errors(url, limit):
                    async with asyncio.timeout(limit):
                        return await call()
            except WebProblem as problem:
                is_busy = isinstance(problem, StatusProblem) and problem.is_passing
                wait = _FIRST_WAIT * 2**attempt if problem.retry_after is None else problem.retry_after
                if not (is_busy or problem.reason == "connection") or wait > patience or attempt == _ATTEMPTS - 1:
                    raise
                if problem.retry_after is not None and isinstance(problem, StatusProblem):
                    self._pace(problem.host).silence(wait)
                await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    @asynccontextmanager
    async def _followed(self, url: str, *, robots: bool) -> AsyncIterator[httpx2.Response]:
        """Follow redirects and yield the last response."""
        address = read_address(url)
        for _ in range(REDIRECTS + 1):
            if robots:
                await self._ask_robots(address)
            request = self._client().build_request("GET", address, headers={"Accept": _ACCEPT})
            async with self._sent(request) as opened:
                target = opened.headers.get("location", "")
                if not (opened.has_redirect_location and target):
                    yield opened
                    return
            with suppress(ValueError):
                target = urljoin(str(address), target.strip())
            address = read_address(target)
        raise WebProblem(
            "redirects",
            f"{one_line(url, 200)} redirects too many times: after {REDIRECTS} redirects it was "
            f"at {one_line(str(address), 200)}.",
        )

    @asynccontextmanager
    async def _sent(self, request: httpx2.Request) -> AsyncIterator[httpx2.Response]:
        async with self._pace(request.url.host).turn():
            opened = await self._client().send(request, stream=True)
            try:
                yield opened
            finally:
                await opened.aclose()

    def _pace(self, host: str) -> _Pace:
        return self._paces.setdefault(host, _Pace())

    async def _ask_robots(self, address: httpx2.URL) -> None:
        site = str(address.copy_with(raw_path=b"/robots.txt", fragment=None))
        if site not in self._robots:
            self._robots[site] = asyncio.create_task(self._read_robots(site))
        rules = await asyncio.shield(self._robots[site])
        if not allows(rules, address.raw_path.decode("ascii", "replace")):
            raise WebProblem(
                "robots",
                f"{address.host} does not allow programs to read {one_line(str(address), 200)} (robots.txt).",
                remedy="Use another source; the user may set robots = false.",
            )

    async def _read_robots(self, site: str) -> Rules:
        """Return a site's rules; empty if they cannot be fetched. Fetching the page then reports the problem."""
        with suppress(WebProblem), foreign_errors(site, self._seconds):
            async with asyncio.timeout(self._seconds / 4), self._followed(site, robots=False) as opened:
                if opened.status_code == 200:
                    return robots_rules((await response_of(opened, _MAX_ROBOTS_BYTES, cut=True)).text)
        return ()

    def _client(self) -> httpx2.AsyncClient:
        if self._opened is None:
            import httpx2

            from agent.web.transport import Routed

            try:
                tls = self._tls or network_client(httpx2.create_ssl_context)
            except NetworkError as error:
                raise WebProblem("connection", error.message, remedy=error.remedy) from None
            self._opened = httpx2.AsyncClient(
                transport=Routed(self.guard, tls),
                headers={
                    "User-Agent": f"Mozilla/5.0 (compatible; {TOKEN}/{alita_version()})",
                    "Accept-Language": "en,*;q=0.5",
                },
                timeout=httpx2.Timeout(20.0, connect=10.0, pool=None),
                follow_redirects=False,
                trust_env=False,
            )
        return self._opened


class _Pace:
    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tokens = float(_BURST)
        self._filled = time.monotonic()
        self._silent_until = 0.0

    def silence(self, seconds: float) -> None:
        """Send no request to the host for this long."""
        self._silent_until = max(self._silent_until, time.monotonic() + seconds)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of one request."""
        async with self._slots:
            now = time.monotonic()
            self._tokens = min(_BURST, self._tokens + (now - self._filled) * _PER_SECOND)
            self._filled = now
            self._tokens -= 1  # before the wait, so that later requests queue behind
            await asyncio.sleep(max(-self._tokens / _PER_SECOND, self._silent_until - now, 0))
            yield


def robots_rules(text: str) -> Rules:
    """Return the rules of a robots.txt for alita: those of its own group, else the general ones (RFC 9309)."""
    groups: dict[str, list[tuple[str, bool]]] = {}
    agents: set[str] = set()
    in_rules = False
    for line in text.removeprefix("\ufeff").splitlines():
        key, _, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "user-agent":
            agents = set() if in_rules else agents  # a new group begins
            in_rules = False
            agents.add(value.lower().partition("/")[0].strip())
        elif key in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for agent in agents:
                rules = groups.setdefault(agent, [])
                if value and key != "crawl-delay":
                    rules.append((_normalised_path(value), key == "allow"))
    return groups.get(TOKEN, groups.get("*", []))[:_MAX_RULES]


def allows(rules: Rules, path: str) -> bool:
    """Return True if a path with its query may be read. The longest pattern decides; among equals, one that allows."""
    plain = _normalised_path(path)
    return max(((len(pattern), allowed) for pattern, allowed in rules if _fits(pattern, plain)), default=(0, True))[1]


def _normalised_path(path: str) -> str:
    """Return a path with uniform percent-encoding."""
    return quote(unquote(path), safe="/?&=*$%:@!'();,+~[]")


def _fits(pattern: str, path: str) -> bool:
    """Return True if a pattern matches the start of a path. `*` matches any text, a final `$` the end."""
    if "*" not in pattern and not pattern.endswith("$"):
        return path.startswith(pattern)
    literal = re.sub(r"([?[])", r"[\1]", pattern)  # escape other wildcards of fnmatch, which does not backtrack
    return fnmatch.fnmatchcase(path, literal.removesuffix("$") if literal.endswith("$") else f"{literal}*")
