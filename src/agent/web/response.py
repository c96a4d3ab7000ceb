"""HTTP responses: bodies up to a size limit, charsets, and problems for error statuses."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent.files.encoding import FALLBACK, encoding_of
from agent.models.failures import retry_after
from agent.web.page import WebProblem
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2

PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})  # media types of pages
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)[\"']?\s*(?:;|$)", re.I)
_DECLARED = re.compile(
    rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]{0,200}?encoding=["']([\w.:-]+)""", re.I
)
_PRESCAN, _SAMPLE = 8192, 256 * 1024
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""Declared encodings that browsers replace with a larger one (WHATWG Encoding Standard)."""
_NO_TEXT = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
"""Python codecs that are not page encodings."""


@dataclass(frozen=True, slots=True)
class Response:
    """A response of a server."""

    url: str  # after redirects
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    charset: str  # from the header, the page or the bytes; empty if it is not text

    @property
    def text(self) -> str:
        """The body as text."""
        return decoded(self.body, self.charset)


async def response_of(opened: httpx2.Response, limit: int, *, cut: bool = False) -> Response:
    """Read the body up to a limit.

    Raises:
        WebProblem: The body exceeds the limit and `cut` is False.
    """
    body = bytearray()
    async for piece in pieces(opened, limit, cut=cut):
        body += piece
    headers = {name.lower(): value for name, value in opened.headers.items()}
    charset = await asyncio.to_thread(charset_of, bytes(body), headers.get("content-type", ""))
    return Response(str(opened.url), opened.status_code, headers, bytes(body), charset)


async def pieces(opened: httpx2.Response, limit: int, *, cut: bool = False) -> AsyncIterator[bytes]:
    """Yield the uncompressed body in pieces, up to a limit.

    Raises:
        WebProblem: The body exceeds the limit (`too_large`) and `cut` is False.
    """
    length = opened.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit and not cut:
        raise too_large(str(opened.url), limit, f"{int(length):,} bytes")
    size = 0
    async for piece in opened.aiter_bytes(64 * 2**10):
        size += len(piece)
        if size > limit:
            if cut:
                yield piece[: len(piece) - (size - limit)]
                return
            raise too_large(str(opened.url), limit, f"more than {limit:,} bytes")
        yield piece


def too_large(url: str, limit: int, size: str) -> WebProblem:
    """Return the problem of a response that exceeds the limit."""
    return WebProblem(
        "too_large",
        f"{one_line(url, 200)} has {size}; the limit is {limit:,}.",
        remedy="Use a smaller page, or another source.",
    )


def charset_of(body: bytes, content_type: str = "") -> str:
    """Return Python's name of a page's encoding; empty if the bytes are not text.

    A declared encoding is ignored if the bytes do not fit it.

    Args:
        body: The page.
        content_type: The header, such as `text/html; charset=koi8-r`.
    """
    found = encoding_of(body[:_SAMPLE], whole=len(body) <= _SAMPLE)
    if found is not None and found.mark:
        return found.name
    header, declared = _CHARSET.search(content_type), _DECLARED.search(body[:_PRESCAN])
    labels = [header[1]] if header else []
    labels += [(declared[1] or declared[2]).decode("ascii", "replace")] if declared else []
    for label in labels:
        with suppress(LookupError, ValueError):
            codec = codecs.lookup(label)
            name = _WIDER.get(codec.name, codec.name)
            if codec._is_text_encoding and name not in _NO_TEXT and _fits(body[:_SAMPLE], name):
                return name
    return found.name if found else ""


def decoded(body: bytes, charset: str) -> str:
    """Decode bytes and remove the byte order mark. Invalid bytes are read as Windows-1252."""
    return body.decode(charset or "utf-8", FALLBACK).removeprefix("\ufeff")


def media_type(content_type: str) -> str:
    """Return `text/html` for `text/html; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()


def _fits(sample: bytes, name: str) -> bool:
    """Return True if nearly all bytes fit the encoding."""
    if name.startswith(("utf-16", "utf-32")):
        return sample[:512].count(0) > 0
    return sample.decode(name, "replace").count("\ufffd") <= len(sample) // 1000


_PASSING = frozenset({408, 425, 429, 502, 503, 504})


class StatusProblem(WebProblem):
    """A response with a status of 300 or more.

    Args:
        response: The response.
    """

    def __init__(self, response: Response) -> None:
        meaning = f" ({HTTPStatus(response.status).phrase})" if response.status in set(HTTPStatus) else ""
        after = retry_after(response.headers)
        waits = f" Try again in {after:g} s." if after else ""
        super().__init__(
            "rate_limit" if response.status == 429 else "http",
            f"{one_line(response.url, 200)} returned status {response.status}{meaning}.{waits}",
            remedy="Check the address, or use another source." if response.status == 404 else "Use another source.",
            retry_after=after,
        )
        self.response = response
        self.status = response.status

    @property
    def host(self) -> str:
        """The host of the response."""
        return urlsplit(self.response.url).hostname or ""

    @property
    def is_passing(self) -> bool:
        """True if a retry may succeed."""
        return self.status in _PASSING and "cf-mitigated" not in self.response.headers

    @property
    def said(self) -> str:
        """The error message in an API's response; empty for a page."""
        text = self.response.body[:4096].decode(errors="replace")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return "" if text.lstrip().startswith("<") else text
        while isinstance(found, dict):
            found = next((found[name] for name in ("error", "detail", "message", "info") if found.get(name)), "")
        return found if isinstance(found, str) else json.dumps(found)


@contextmanager
def foreign_errors(url: str, seconds: float) -> Iterator[None]:
    """Turn errors of httpx2, the network and timeouts into `WebProblem`s.

    Args:
        url: Address of the request.
        seconds: Time limit of the request.

    Raises:
        WebProblem: The request failed.
    """
    import httpx2

    try:
        yield
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ssl.SSLError, OSError) as error:
        raise connection_problem(one_line(url, 200), error, seconds) from error


def connection_problem(shown: str, error: Exception, seconds: float) -> WebProblem:
    """Return the problem for an error of httpx, httpx2 or the network, or for a timeout.

    Args:
        shown: The address for the message.
        error: The exception.
        seconds: Time limit of the request.
    """
    causes = list(causes_of(error))
    elsewhere, later = "Use another source.", "Use another source, or try again later."
    if {"TimeoutError", "TimeoutException"} & {one.__name__ for one in type(error).__mro__}:
        request = getattr(error, "_request", None)
        limits = request.extensions.get("timeout", {}) if request is not None else {}
        limit = limits.get(type(error).__name__.removesuffix("Timeout").lower()) or seconds
        return WebProblem("timeout", f"{shown} did not answer within {limit:g} s.", remedy=later)
    if tls := next((one for one in causes if isinstance(one, ssl.SSLError)), None):
        why = one_line(getattr(tls, "verify_message", "") or tls.reason or str(tls), 200)
        return WebProblem("tls", f"{shown} could not be reached securely: {why}.", remedy=elsewhere)
    if any(isinstance(one, socket.gaierror) for one in causes):
        return WebProblem("dns", f"The host of {shown} does not exist.", remedy=f"Check the spelling. {elsewhere}")
    causes = [one for one in causes if not isinstance(one, LookupError)] or causes  # streams add them
    cause = one_line(str(causes[-1]) or type(causes[-1]).__name__, 200)
    return WebProblem("connection", f"The connection to {shown} failed: {cause}.", remedy=later)


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, outermost first, including those in exception groups and arguments."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += current.exceptions if isinstance(current, BaseExceptionGroup) else ()
        waiting += (one for one in current.args if isinstance(one, BaseException))
        waiting.append(current.__cause__ or current.__context__)
