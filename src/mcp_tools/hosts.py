"""The hosts that tools and programs declare, their HTTP requests, and recorded responses.

The sandbox has no network access. A request leaves it as a message, and a carrier outside the sandbox sends it. Code in
the sandbox is untrusted, so requests are parsed strictly here, and the carrier decides whether to send them.
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
"""Part of the error message for a request that the user has not allowed."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
READING = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_BODY_BYTES = 1_000_000
MAX_RECORDED_BYTES = 200_000
"""Size limit of recorded exchanges, as JSON, in a call's outcome and in a tool's file."""
EXCHANGES = "exchanges"
"""Key in a tool's record for the requests and responses of the call that proved it. They contain no API keys."""
_MAX_HEADERS, _MAX_HEADER_CHARS, _MAX_URL_CHARS = 100, 32_000, 8_000
_PORTS = {"https": 443, "http": 80}
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_HOST = re.compile(r"(?:(https?)://)?([^/:@?#]*)(?::(\d{1,5}))?/?")
KEY = re.compile(r"(?:\{|%7B)key(?::|%3A)([A-Za-z0-9_-]+)(?:\}|%7D)", re.I)
"""Pattern of an API key's placeholder. In a URL, the placeholder may be percent-encoded."""
_KEY_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")
_CARRIER_HEADERS = frozenset(
    {"host", "content-length", "accept-encoding", "expect", "connection", "keep-alive", "te", "trailer"}
    | {"transfer-encoding", "upgrade", "forwarded", "via"}
)
"""Headers that the carrier sets. If code sets one of them or a `Proxy-*` header, it is dropped."""


class HostError(ModelFixableError):
    """A request to a host was refused or failed. The message says why."""


class NotRecordedError(HostError):
    """Only recorded responses are available, and none matches this request."""


@dataclass(frozen=True, slots=True, order=True)
class Host:
    """A host with its scheme and port."""

    scheme: str
    name: str
    port: int

    def __str__(self) -> str:
        """Return the host in its declared form: `api.example.com`, `api.example.com:8443`, `http://localhost:8000`."""
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{'http://' if self.scheme == 'http' else ''}{self.name}{port}"

    @property
    def is_local(self) -> bool:
        """True if the host is this machine."""
        return self.name == "localhost" or (self.name.startswith("127.") and self.name.replace(".", "").isdigit())


def read_host(text: str) -> Host:
    """Parse a declared host: `api.example.com`, `api.example.com:8443`, or `http://localhost:8000` for plain HTTP.

    Raises:
        ValueError: The text is not an exact host name, or is an IP address in an unusual form.
    """
    found = _HOST.fullmatch(text)
    scheme, name, port = (found[1] or "https", found[2], found[3]) if found else ("", "", "")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{text!r:.80} is not a valid host: write one exact name in lower case, "
            "such as api.example.com or localhost:8000"
        )
    number = int(port) if port else _PORTS[scheme]
    if not 0 < number < 65_536:
        raise ValueError(f"{text!r:.80} has an invalid port: use a number from 1 to 65535")
    with suppress(OSError):
        plain = socket.inet_ntoa(socket.inet_aton(name))
        if plain != name:
            raise ValueError(f"{text!r:.80} is an unusual form of {plain}: write {plain}")
    return Host(scheme, name, number)


def read_key_name(text: str) -> str:
    """Return the name of a stored API key after validating it.

    Raises:
        ValueError: The name is invalid.
    """
    if not _KEY_NAME.fullmatch(text):
        raise ValueError(f"{text!r:.80} is not a valid key name: use letters, digits, - and _")
    return text


def key_names(text: str) -> list[str]:
    """Return the names in a text's key placeholders, such as `WEATHER` for `{key:WEATHER}`."""
    return list(dict.fromkeys(KEY.findall(text)))


@dataclass(frozen=True, slots=True)
class HostRequest:
    """A request that code in the sandbox wants to send."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    """Sorted headers with lower-case names, without `_CARRIER_HEADERS`."""
    body: bytes = b""

    @classmethod
    def read(cls, message: Json) -> Self:
        """Parse a message from the sandbox with a method, a URL, headers as pairs, and a base64 body.

        Raises:
            HostError: The request is invalid.
        """
        match message:
            case {"method": str(method), "url": str(url), "headers": list(pairs), "body": str(encoded)}:
                return cls(_method(method), _url(url), _headers(pairs), _body(encoded))
        raise HostError("a request must have a method, a URL, headers and a body")

    def as_json(self) -> dict[str, Json]:
        """Return the request in its recorded form."""
        headers = [[*pair] for pair in self.headers]
        return {"method": self.method, "url": self.url, "headers": headers, **written(self.body)}


def written(body: bytes) -> dict[str, Json]:
    """Return a body for JSON: as text if it is valid UTF-8, otherwise as base64."""
    with suppress(UnicodeDecodeError):
        return {"body": body.decode(), "binary": False}
    return {"body": b2a_base64(body, newline=False).decode(), "binary": True}


def _method(method: str) -> str:
    if method not in METHODS:
        raise HostError(f"the method {method!r:.40} is not allowed; use one of {', '.join(METHODS)}")
    return method


def _url(url: str) -> str:
    if len(url) > _MAX_URL_CHARS or not url.isascii() or not url.isprintable() or any(sign in url for sign in ' \\"<>'):
        raise HostError(f"the URL is too long or contains characters that must be percent-encoded: {url!r:.100}")
    return url.partition("#")[0]


def _headers(pairs: Sequence[Json]) -> tuple[tuple[str, str], ...]:
    kept = []
    for pair in pairs:
        match pair:
            case [str(name), str(value)] if _TOKEN.fullmatch(name) and _VALUE.fullmatch(value):
                if (lower := name.lower()) not in _CARRIER_HEADERS and not lower.startswith("proxy-"):
                    kept.append((lower, value.strip(" \t")))
            case _:
                raise HostError(f"{pair!r:.100} is not a valid header")
    if len(kept) > _MAX_HEADERS or sum(len(name) + len(value) for name, value in kept) > _MAX_HEADER_CHARS:
        raise HostError(
            f"a request is limited to {_MAX_HEADERS} headers with {_MAX_HEADER_CHARS:,} characters in total"
        )
    return tuple(sorted(kept))


def _body(encoded: str) -> bytes:
    try:
        body = a2b_base64(encoded, strict_mode=True) if encoded else b""
    except (Base64Error, ValueError):
        raise HostError("the body of the request is not valid base64") from None
    if len(body) > MAX_BODY_BYTES:
        raise HostError(f"the body of the request has {len(body):,} bytes; the limit is {MAX_BODY_BYTES:,}")
    return body


Carry = Callable[[HostRequest], Awaitable[Json]]
"""A function that sends a request and returns the response: status, url, headers as pairs, body, binary.

If it raises an `AlitaError`, the code in the sandbox gets an error with that message.
"""


def without_cookies(exchanged: Json) -> Json:
    """Remove cookies from a request or response, because tools that store it may be shared."""
    return {**exchanged, "headers": [pair for pair in exchanged["headers"] if pair[0] not in ("cookie", "set-cookie")]}


def recorded(exchanges: Json) -> Carry:
    """Return a carrier that replays recorded responses in order, and repeats the last response to each request.

    Args:
        exchanges: A list of objects with `request` and `response`. Invalid entries are ignored.
    """
    responses: defaultdict[str, list[Json]] = defaultdict(list)
    for exchange in exchanges if isinstance(exchanges, list | tuple) else ():
        match exchange:
            case {"request": dict(request), "response": response} if _is_response(response):
                responses[_key(request)].append(response)

    async def carry(request: HostRequest) -> Json:
        known = responses.get(_key(request.as_json()))
        if not known:
            raise NotRecordedError(
                f"no response is recorded for {request.method} {request.url[:200]}, and there is no network here"
            )
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
    """Return a key that is equal for requests with the same response. The user agent and cookies are ignored."""
    headers = request.get("headers")
    pairs = headers if isinstance(headers, list) else []
    own = [pair for pair in pairs if isinstance(pair, list) and pair[:1] not in (["user-agent"], ["cookie"])]
    return json.dumps([request.get("method"), request.get("url"), own, request.get("body")], sort_keys=True)
