"""Sends requests of tools and programs to the hosts that they declare, and inserts stored keys."""

from __future__ import annotations

import asyncio
import base64
import functools
import html
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, urljoin

from agent import alita_version
from agent.configuration.settings import require_header_text
from agent.web.guard import AddressGuard, read_address
from agent.web.page import LEAK_REMEDY, WebProblem
from agent.web.proxy import proxy_for
from agent.web.response import charset_of, decoded, foreign_errors
from mcp_tools.hosts import KEY, READING, Host, HostError, HostRequest, read_host, written
from mcp_tools.network import NetworkError, network_client
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    import ssl

    import httpx2

    from agent.web.leak_guard import LeakGuard

MOST_REQUESTS = 50
"""Maximum number of requests in one tool call or one program."""
MOST_BYTES = 10_000_000
"""Size limit of one uncompressed response. All responses of a call together may be five times as large."""
SECONDS = 30.0
"""Time limit of one request, including redirects. All requests of a call together may take four times as long."""
REDIRECTS = 10
SHORTEST_SECRET = 8
"""Minimum length of a key to look for in requests. Shorter ones are placeholders such as `ollama`."""
_PERCENT = re.compile("%[0-9A-F]{2}")
_OF_CONNECTION = frozenset(
    {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
    | {"content-encoding", "content-length"}
)
_UNPACKED = frozenset({"", "identity", "gzip", "deflate"})
_FOR_FIRST_HOST = frozenset({"authorization", "cookie"})


@dataclass(frozen=True, slots=True)
class HostKey:
    """A stored key and the only host that receives it."""

    name: str
    host: Host
    value: str = field(repr=False)


Refusal = Callable[[Host, HostRequest, tuple[str, ...]], Awaitable[str]]
"""Returns why a host may not receive a request with these keys; empty if it may."""
Sends = Callable[[], Awaitable[None]]
"""Called before a request that may change something is sent. Raises HostError if it must not be sent."""
Record = Callable[[dict[str, Json], Callable[[Sends], Awaitable[Json]]], Awaitable[Json]]
"""Returns the recorded response to a request, or performs the request and records its response."""


async def _unrecorded(_: dict[str, Json], perform: Callable[[Sends], Awaitable[Json]]) -> Json:
    async def sends() -> None:
        return None

    return await perform(sends)


def host_keys(stored: Mapping[str, str]) -> dict[str, HostKey]:
    """Return the stored keys that belong to a host, by name.

    Keys with an invalid host, and keys that cannot be sent or masked, are left out. A hand-edited file may have such
    keys.
    """
    found = {}
    for place, value in stored.items():
        name, mark, host = place.partition("@")
        if mark and len(value) >= SHORTEST_SECRET:
            with suppress(ValueError):
                require_header_text(value)
                found[name] = HostKey(name, read_host(host), value)
    return found


class Carrier:
    """Sends the requests of one call or program.

    Each redirect is checked like a new request: it must go to a declared host and to an address that the guard allows.
    A key is inserted only for its own host, and masked in responses.

    Args:
        guard: Decides which addresses may be connected to.
        hosts: The declared hosts.
        keys: The declared keys that are stored.
        refusal: Decides if the request and each redirect may be sent.
        secrets: Texts that no request may contain.
        record: Records each exchange.
        leaks: Blocks known copies of a benchmark's answers.
        tls: Certificates to trust; by default, those of the system.
        seconds: Time limit of one request.
    """

    def __init__(
        self,
        guard: AddressGuard,
        hosts: Iterable[Host],
        keys: Iterable[HostKey],
        refusal: Refusal,
        *,
        secrets: Sequence[str] = (),
        record: Record | None = None,
        leaks: LeakGuard | None = None,
        tls: ssl.SSLContext | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self._guard = guard
        self._hosts = frozenset(hosts)
        self._keys = {key.name: key for key in keys}
        self._mask = _Mask(self._keys.values())
        self._refusal = refusal
        self._secrets = tuple(secret for secret in secrets if len(secret) >= SHORTEST_SECRET)
        self._record = record or _unrecorded
        self._leaks = leaks
        self._tls = tls
        self._limit = seconds
        self._requests = 0
        self._bytes_left = 5 * MOST_BYTES
        self._seconds_left = 4 * seconds
        self._transport: httpx2.AsyncBaseTransport | None = None
        self._is_closed = False

    async def carry(self, request: HostRequest) -> Json:
        """Send a request and return the response, in the form of `mcp_tools.hosts.Carry`.

        Raises:
            HostError: The request is not allowed, or a limit is reached.
            WebProblem: There was no response.
        """
        self._requests += 1
        if self._is_closed:
            raise HostError("the call has ended, so no request is made for it")
        if self._requests > MOST_REQUESTS:
            raise HostError(f"one call may make at most {MOST_REQUESTS} requests: combine several into one")
        self._require_no_secret(request)  # before it is recorded
        return await self._record(request.as_json(), lambda sends: self._exchange(request, sends))

    async def aclose(self) -> None:
        """Close the connections. Later requests are refused."""
        self._is_closed = True
        if self._transport is not None:
            await self._transport.aclose()

    async def _exchange(self, request: HostRequest, sends: Sends) -> Json:
        hop, used = request, frozenset(_key_names(request))
        left = self._limit
        for _ in range(REDIRECTS + 1):
            address, host = self._judged(hop.url)
            keys = self._keys_of(hop, host)
            self._require_no_leak(hop)
            if why := await self._refusal(host, hop, tuple(sorted(keys))):
                raise HostError(why)
            if hop.method not in READING:
                await sends()
            began = time.monotonic()
            try:
                response = await self._send(hop, address, keys, round(max(min(left, self._seconds_left), 0.1), 1))
            except WebProblem as problem:  # the message may contain the address with the key
                raise WebProblem(problem.reason, self._mask.text(problem.message), remedy="") from None
            finally:
                spent = time.monotonic() - began
                left, self._seconds_left = left - spent, self._seconds_left - spent
            if self._leaks is not None and await self._leaks.blocks_page(response["url"], _text_of(response)):
                raise WebProblem("leak", f"{one_line(response['url'], 200)} is not shown.", remedy=LEAK_REMEDY)
            target = dict(map(tuple, response["headers"])).get("location", "")
            if response["status"] not in (301, 302, 303, 307, 308) or not target:
                return response
            hop = self._redirected(hop, host, response["status"], str(address), target, used)
        raise HostError(f"{one_line(request.url, 200)} redirects too many times")

    def _require_no_secret(self, request: HostRequest) -> None:
        texts = (request.url, *(value for _, value in request.headers), request.body.decode("utf-8", "replace"))
        if any(form in text for secret in self._secrets for form in _forms(secret) for text in texts):
            raise HostError("the request contains a key of the user in plain text; write {key:NAME} for a stored key")

    def _require_no_leak(self, hop: HostRequest) -> None:
        guard = self._leaks
        if guard is not None and (guard.blocks(hop.url) or guard.blocks_query(hop.body.decode("utf-8", "replace"))):
            raise WebProblem("leak", f"{one_line(hop.url, 200)} is not opened.", remedy=LEAK_REMEDY)

    def _judged(self, url: str) -> tuple[httpx2.URL, Host]:
        try:
            address = read_address(url)
        except WebProblem as problem:
            raise HostError(self._mask.text(problem.message)) from None
        port = address.port or (443 if address.scheme == "https" else 80)
        host = Host(address.scheme, address.raw_host.decode("ascii").lower(), port)
        if host not in self._hosts:
            known = ", ".join(f"{one.scheme}://{str(one).removeprefix('http://')}" for one in sorted(self._hosts))
            raise HostError(f"{host} is not a declared host; declare it as {str(host)!r} (declared: {known or 'none'})")
        return address, host

    def _keys_of(self, request: HostRequest, host: Host) -> dict[str, HostKey]:
        """Return the keys that a request uses.

        Raises:
            HostError: A key is unknown, belongs to another host, or is in the wrong place.
        """
        head = request.url.partition("?")[0]
        if KEY.search(head) or KEY.search(request.body.decode("utf-8", "replace")):
            raise HostError("a key is allowed only in a header or in the query of the URL")
        found = {}
        for name in _key_names(request):
            key = self._keys.get(name)
            if key is None:
                raise HostError(
                    f"the key {name} is not declared or not stored; the user can store it with: "
                    f"alita keys set {name} --host {host}"
                )
            if key.host != host:
                known = f"https://{key.host}" if key.host.scheme == "https" else key.host
                why = f"the key {name} belongs to {known}, not to {host}"
                raise HostError(f"{why}; if it should, the user can store it with: alita keys set {name} --host {host}")
            if host.scheme != "https" and (not host.is_local or proxy_for(host.scheme, host.name)):
                raise HostError(f"the key {name} is sent only over https")
            found[name] = key
        return found

    def _redirected(
        self, hop: HostRequest, host: Host, status: int, address: str, target: str, used: frozenset[str]
    ) -> HostRequest:
        """Return the request after a redirect. A different host gets no keys or credentials."""
        try:
            url = urljoin(address, target.strip()).partition("#")[0]
        except ValueError:
            raise HostError(f"{host} redirects to an invalid URL") from None
        _, new = self._judged(url)
        if set(KEY.findall(url)) - used:
            raise HostError(f"{host} redirects to a URL that asks for a key")
        headers = hop.headers
        if new != host:
            headers = tuple(
                (name, value) for name, value in headers if name not in _FOR_FIRST_HOST and not KEY.search(value)
            )
        if status == 303 or (status in (301, 302) and hop.method == "POST"):
            headers = tuple(pair for pair in headers if not pair[0].startswith("content-"))
            return HostRequest("HEAD" if hop.method == "HEAD" else "GET", url, headers)
        return HostRequest(hop.method, url, headers, hop.body)

    async def _send(
        self, hop: HostRequest, address: httpx2.URL, keys: Mapping[str, HostKey], seconds: float
    ) -> dict[str, Json]:
        import httpx2

        shown = one_line(str(address), 200)
        if self._seconds_left <= 0:
            raise HostError(f"the requests of one call exceeded their limit of {4 * self._limit:g} s")

        head, mark, query = str(address).partition("?")
        query = KEY.sub(lambda found: quote(keys[found[1]].value, safe=""), query)
        headers = [
            (name.encode(), KEY.sub(lambda found: keys[found[1]].value, value).encode("latin-1"))
            for name, value in hop.headers
        ]
        headers.append((b"accept-encoding", b"gzip, deflate"))
        if "user-agent" not in dict(hop.headers):
            headers.append((b"user-agent", f"alita/{alita_version()}".encode()))
        limits = httpx2.Timeout(seconds, connect=min(seconds, 10.0)).as_dict()
        with foreign_errors(shown, seconds):
            request = httpx2.Request(
                hop.method,
                f"{head}{mark}{query}",
                headers=headers,
                content=hop.body or None,
                extensions={"timeout": limits},
            )
            async with asyncio.timeout(seconds):
                response = await self._opened().handle_async_request(request)
                try:
                    body = await self._body(response, shown)
                finally:
                    await response.aclose()
        pairs = [
            (self._mask.text(name.decode("latin-1")).lower(), value.decode("latin-1"))
            for name, value in response.headers.raw
        ]
        kept = [[*map(self._mask.text, pair)] for pair in pairs if pair[0] not in _OF_CONNECTION]
        url = self._mask.text(str(address))
        return {"status": response.status_code, "url": url, "headers": kept, **written(self._mask.bytes(body))}

    async def _body(self, response: httpx2.Response, shown: str) -> bytes:
        packed = {one.strip().lower() for one in response.headers.get("content-encoding", "").split(",")}
        if strange := ", ".join(sorted(packed - _UNPACKED)):  # keys cannot be masked in it
            raise HostError(f"the response of {shown} is compressed as {one_line(strange)}, which was not requested")
        body = bytearray()
        async for piece in response.aiter_bytes(65_536):
            body += piece
            self._bytes_left -= len(piece)
            if len(body) > MOST_BYTES:
                raise HostError(f"the response of {shown} is too large: the limit is {MOST_BYTES:,} bytes")
            if self._bytes_left < 0:
                raise HostError(f"the responses of one call are too large: the limit is {5 * MOST_BYTES:,} bytes")
        return bytes(body)

    def _opened(self) -> httpx2.AsyncBaseTransport:
        if self._transport is None:
            from agent.web.transport import Routed

            self._transport = Routed(self._guard, self._tls or _trusted())
        return self._transport


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The system's certificates. They are cached, since reading them takes longer than most requests."""
    import httpx2

    try:
        return network_client(httpx2.create_ssl_context)
    except NetworkError as error:
        raise WebProblem("connection", error.message, remedy=error.remedy) from None


def _text_of(response: dict[str, Json]) -> str:
    """Return headers and body of a response as text."""
    text, headers = response["body"], dict(map(tuple, response["headers"]))
    if response["binary"]:
        body = base64.b64decode(text)
        text = decoded(body, charset_of(body, headers.get("content-type", "")))
    return "\n".join([text, *headers.values()])


def _key_names(request: HostRequest) -> list[str]:
    texts = (request.url.partition("?")[2], *(value for _, value in request.headers))
    return [name for text in texts for name in KEY.findall(text)]


def _forms(secret: str) -> list[str]:
    """Return a key as written in URLs, JSON, HTML, hex and base64, longest first."""
    plain, quoted = secret.encode(), json.dumps(secret)[1:-1]
    percent = [quote(secret, safe=""), quote(secret), quote_plus(secret)]
    percent += [_PERCENT.sub(lambda found: found[0].lower(), one) for one in percent]
    percent += [quote(one, safe="") for one in percent]  # a URL inside a URL
    in_html = [re.sub(signs, lambda found: f"\\u{ord(found[0]):04x}", quoted) for signs in ("[<>&'=]", "[<>&'=+/]")]
    written = [quoted, *in_html, quoted.replace("/", "\\/"), html.escape(secret), plain.hex(), plain.hex().upper()]
    for before in range(3):  # the encoding depends on the number of bytes before the key
        encoded = base64.b64encode(b"0" * before + plain)
        inner = encoded[(4 * before + 2) // 3 : 4 * ((before + len(plain)) // 3)]
        written += [one.decode() for one in (inner, inner.translate(bytes.maketrans(b"+/", b"-_")))]
    whole = base64.b64encode(plain).decode()
    ways = {secret, *percent, *written, whole, whole.rstrip("=")}
    return sorted(filter(None, ways), key=len, reverse=True)


class _Mask:
    """Replaces each key with its placeholder."""

    def __init__(self, keys: Iterable[HostKey]) -> None:
        self._texts = [(form, f"{{key:{key.name}}}") for key in keys for form in _forms(key.value)]
        codecs = ("utf-8", "utf-16-le", "utf-16-be")
        self._bytes = [(form.encode(codec), name.encode(codec)) for form, name in self._texts for codec in codecs]

    def text(self, text: str) -> str:
        for form, name in self._texts:
            text = text.replace(form, name)
        return text

    def bytes(self, data: bytes) -> bytes:
        for form, name in self._bytes:
            data = data.replace(form, name)
        return data
