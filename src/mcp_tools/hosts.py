"""Hosts that tools and programs declare, the requests that their code makes, and recorded responses.

The sandbox has no network: a request leaves it as a message, and something outside carries it. Code in the sandbox
counts as hostile: a request is read strictly here, and the carrier decides about it.
"""

from __future__ import annotations

import json
import re
import socket
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from mcp_tools.errors import ModelFixableError
from mcp_tools.tool import Json

NOT_ALLOWED = " is not allowed: "
"""In the message of a request that the user did not allow."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
READING = frozenset({"GET", "HEAD", "OPTIONS"})
MOST_BODY = 1_000_000
"""Bytes of the body of a request."""
KEPT_BYTES = 200_000
"""Bytes of JSON of recorded exchanges that a call's outcome and a tool's file hold."""
EXCHANGES = "exchanges"
"""Member of a tool's record: what its hosts answered in the call that proved it. It is data, with no keys in it."""
_MOST_HEADERS, _LONGEST_HEADERS, _LONGEST_URL = 100, 32_000, 8_000
_PORTS = {"https": 443, "http": 80}
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_HOST = re.compile(r"(?:(https?)://)?([^/:@?#]*)(?::(\d{1,5}))?/?")
KEY = re.compile(r"(?:\{|%7B)key(?::|%3A)([A-Za-z0-9_-]+)(?:\}|%7D)", re.I)
"""The placeholder of a key, in an address also percent-encoded."""
_KEY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_OF_CARRIER = frozenset(
    {"host", "content-length", "accept-encoding", "expect", "connection", "keep-alive", "te", "trailer"}
    | {"transfer-encoding", "upgrade", "forwarded", "via"}
)
"""Headers that the carrier writes; those from code are dropped, as are `Proxy-*`."""


class HostError(ModelFixableError):
    """Why a request to a host was not made, or gave nothing."""


class NotRecordedError(HostError):
    """A request that has no recorded response, where only those are given."""


@dataclass(frozen=True, slots=True, order=True)
class Host:
    """One host at one port, under one scheme."""

    scheme: str
    name: str
    port: int

    def __str__(self) -> str:
        """Return the host as it is declared: `api.example.com`, `api.example.com:8443`, `http://localhost:8000`."""
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{'http://' if self.scheme == 'http' else ''}{self.name}{port}"

    @property
    def is_local(self) -> bool:
        """True if it is this machine."""
        return self.name == "localhost" or (self.name.startswith("127.") and self.name.replace(".", "").isdigit())


def read_host(text: str) -> Host:
    """Read a declared host: `api.example.com`, `api.example.com:8443`, or `http://localhost:8000` for plain HTTP.

    Raises:
        ValueError: It is something else, such as a pattern, or an address in an unusual form.
    """
    found = _HOST.fullmatch(text)
    scheme, name, port = (found[1] or "https", found[2], found[3]) if found else ("", "", "")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{text!r:.80} is not a host: write one exact name in lower case, such as api.example.com or localhost:8000"
        )
    number = int(port) if port else _PORTS[scheme]
    if not 0 < number < 65_536:
        raise ValueError(f"{text!r:.80} has no possible port")
    with suppress(OSError):
        plain = socket.inet_ntoa(socket.inet_aton(name))
        if plain != name:
            raise ValueError(f"{text!r:.80} is an unusual form of {plain}: write that one")
    return Host(scheme, name, number)


def read_key_name(text: str) -> str:
    """Return the name of a stored key.

    Raises:
        ValueError: No key can have this name.
    """
    if not _KEY_NAME.fullmatch(text):
        raise ValueError(f"{text!r:.80} is not the name of a key: use letters, digits, - and _")
    return text


def key_names(text: str) -> list[str]:
    """Return the names of keys with placeholders in a text: WEATHER for `{key:WEATHER}`."""
    return list(dict.fromkeys(KEY.findall(text)))


@dataclass(frozen=True, slots=True)
class HostRequest:
    """One request of code in the sandbox, in order."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    """Names in lower case, without those that the carrier writes."""
    body: bytes = b""

    @classmethod
    def read(cls, message: Json) -> Self:
        """Read what came out of the sandbox: method, url, headers as pairs, and the body in base64.

        Raises:
            HostError: It is no request that may be made.
        """
        match message:
            case {"method": str(method), "url": str(url), "headers": list(pairs), "body": str(encoded)}:
                return cls(_method(method), _url(url), _headers(pairs), _body(encoded))
        raise HostError("a request has a method, an address, headers and a body")

    def as_json(self) -> dict[str, Json]:
        """Return the request as it is recorded."""
        headers = [[*pair] for pair in self.headers]
        return {"method": self.method, "url": self.url, "headers": headers, **written(self.body)}


def written(body: bytes) -> dict[str, Json]:
    """A body as JSON: as text if it is UTF-8, else in base64."""
    with suppress(UnicodeDecodeError):
        return {"body": body.decode(), "binary": False}
    return {"body": b2a_base64(body, newline=False).decode(), "binary": True}


def _method(method: str) -> str:
    if method not in METHODS:
        raise HostError(f"the method {method!r:.40} is not allowed; use one of {', '.join(METHODS)}")
    return method


def _url(url: str) -> str:
    if len(url) > _LONGEST_URL or not url.isascii() or not url.isprintable() or any(sign in url for sign in ' \\"<>'):
        raise HostError(f"the address is too long, or has characters that must be percent-encoded: {url!r:.100}")
    return url.partition("#")[0]


def _headers(pairs: Sequence[Json]) -> tuple[tuple[str, str], ...]:
    kept = []
    for pair in pairs:
        match pair:
            case [str(name), str(value)] if _TOKEN.fullmatch(name) and _VALUE.fullmatch(value):
                if (lower := name.lower()) not in _OF_CARRIER and not lower.startswith("proxy-"):
                    kept.append((lower, value.strip(" \t")))
            case _:
                raise HostError(f"not a header: {pair!r:.100}")
    if len(kept) > _MOST_HEADERS or sum(len(name) + len(value) for name, value in kept) > _LONGEST_HEADERS:
        raise HostError(f"a request may have {_MOST_HEADERS} headers with {_LONGEST_HEADERS:,} characters")
    return tuple(sorted(kept))


def _body(encoded: str) -> bytes:
    try:
        body = a2b_base64(encoded, strict_mode=True) if encoded else b""
    except (Base64Error, ValueError):
        raise HostError("the body of a request is base64") from None
    if len(body) > MOST_BODY:
        raise HostError(f"the body of the request has {len(body):,} bytes, and may have {MOST_BODY:,}")
    return body


Carry = Callable[[HostRequest], Awaitable[Json]]
"""Carries a request out, and gives the response: status, url, headers as pairs, body, binary. The message of an
`AlitaError` that it raises becomes an error in the code that asked."""


def without_cookies(exchanged: Json) -> Json:
    """Return a request or response for storage with a tool, which others may get: without login cookies."""
    return {**exchanged, "headers": [pair for pair in exchanged["headers"] if pair[0] not in ("cookie", "set-cookie")]}


def recorded(exchanges: Json) -> Carry:
    """Answers requests with their recorded responses, in their order; the last one of a request again and again.

    Args:
        exchanges: A list of objects with `request` and `response`; anything else in it counts for nothing.
    """
    responses: defaultdict[str, list[Json]] = defaultdict(list)
    for exchange in exchanges if isinstance(exchanges, list | tuple) else ():
        match exchange:
            case {"request": dict(request), "response": response} if _is_response(response):
                responses[_key(request)].append(response)

    async def carry(request: HostRequest) -> Json:
        known = responses.get(_key(request.as_json()))
        if not known:
            raise NotRecordedError(f"not recorded: {request.method} {request.url[:200]} (there is no network here)")
        return known.pop(0) if len(known) > 1 else known[0]

    return carry


def _is_response(response: Json) -> bool:
    match response:
        case {"status": int(), "url": str(), "headers": list(pairs), "body": str(), "binary": bool()}:
            return all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_text, pair)) for pair in pairs)
    return False


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _key(request: dict[str, Json]) -> str:
    """Equal for requests that get the same response: the name of the client, and cookies, do not matter."""
    headers = request.get("headers")
    pairs = headers if isinstance(headers, list) else []
    own = [pair for pair in pairs if isinstance(pair, list) and pair[:1] not in (["user-agent"], ["cookie"])]
    return json.dumps([request.get("method"), request.get("url"), own, request.get("body")], sort_keys=True)
