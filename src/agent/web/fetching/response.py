"""What came from an address: its body unpacked, read up to a limit, and as text in the charset that it is in."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING

from agent.files.decoding import FALLBACK, encoding_of
from agent.web.page import WebProblem
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2
PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
"""What servers call pages."""
_DECLARED = re.compile(
    rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]{0,200}?encoding=["']([\w.:-]+)""", re.I
)
_PRESCAN = 8192
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
"""What browsers read under a narrower name (WHATWG, Encoding Standard)."""
_ALIASES = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "ks_c_5601-1987": "cp949",
    "x-gbk": "gb18030",
    "utf8mb4": "utf-8",
}
_NO_TEXT = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
"""What Python counts among the encodings of text, and no page is written in."""


@dataclass(frozen=True, slots=True)
class Response:
    """What came from an address."""

    url: str
    """After redirects."""
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    charset: str
    """By header, the page's own word, or its bytes; empty for what is no text."""

    @property
    def text(self) -> str:
        """The body as text."""
        return decoded(self.body, self.charset)

    @property
    def media_type(self) -> str:
        """What the server calls it: `text/html`."""
        return media_type(self.headers.get("content-type", ""))


async def response_of(opened: httpx2.Response, limit: int, *, cut: bool = False) -> Response:
    """Reads the body, as far as the limit goes.

    Raises:
        WebProblem: There is more of it, and it is not to be cut.
    """
    body = bytearray()
    async for piece in pieces(opened, limit, cut=cut):
        body += piece
    headers = {name.lower(): value for name, value in opened.headers.items()}
    charset = await asyncio.to_thread(charset_of, bytes(body), headers.get("content-type", ""))
    return Response(str(opened.url), opened.status_code, headers, bytes(body), charset)


async def pieces(opened: httpx2.Response, limit: int, *, cut: bool = False) -> AsyncIterator[bytes]:
    """The body in pieces, unpacked, up to a limit.

    Raises:
        WebProblem: There is more of it (`too_large`), and it is not to be cut.
    """
    told = opened.headers.get("content-length", "")
    if told.isdecimal() and int(told) > limit and not cut:
        raise _too_large(opened, limit, f"{int(told):,} bytes")
    size = 0
    async for piece in opened.aiter_bytes(64 * 2**10):
        size += len(piece)
        if size > limit:
            if cut:
                yield piece[: len(piece) - (size - limit)]
                return
            raise _too_large(opened, limit, f"more than {limit:,} bytes")
        yield piece


def _too_large(opened: httpx2.Response, limit: int, size: str) -> WebProblem:
    return WebProblem(
        "too_large",
        f"{one_line(str(opened.url), 200)} has {size}; at most {limit:,} are read.",
        remedy="Take a page of it, or another source.",
    )


def charset_of(body: bytes, content_type: str = "") -> str:
    """The encoding of a page as Python calls it; empty where the bytes are no text.

    A declared encoding that the bytes contradict counts for nothing.

    Args:
        body: The page.
        content_type: The header, `text/html; charset=koi8-r`.
    """
    found = encoding_of(body[: 256 * 1024], whole=len(body) <= 256 * 1024)
    if found is not None and found.mark:
        return found.name
    for label in (_label(content_type), _own_word(body)):
        name = _known(label)
        if name and _fits(body, name):
            return name
    return found.name if found else ""


def decoded(body: bytes, charset: str) -> str:
    """The bytes as text, without byte order mark; stray bytes are read as Windows-1252."""
    return body.decode(charset or "utf-8", FALLBACK).removeprefix("\ufeff")


def media_type(content_type: str) -> str:
    """`text/html` of `text/html; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()


def _label(content_type: str) -> str:
    message = Message()
    message["content-type"] = content_type
    try:
        return str(message.get_param("charset") or "")
    except ValueError:  # the number of a continuation with more digits than Python reads
        return ""


def _own_word(body: bytes) -> str:
    found = _DECLARED.search(body[:_PRESCAN])
    return (found[1] or found[2]).decode("ascii", "replace") if found else ""


def _known(label: str) -> str:
    label = label.strip().lower()
    if not label:
        return ""
    try:
        codec = codecs.lookup(_ALIASES.get(label, label))
    except (LookupError, ValueError):
        return ""
    if not codec._is_text_encoding or codec.name in _NO_TEXT:
        return ""
    return _WIDER.get(codec.name, codec.name)


def _fits(body: bytes, name: str) -> bool:
    """Whether nearly all of it can be read so."""
    if name.startswith(("utf-16", "utf-32")):
        return body[:512].count(0) > 0
    sample = body[: 256 * 1024]
    try:
        wrong = sample.decode(name, "replace").count("\ufffd")
    except (UnicodeError, LookupError):
        return False
    return wrong <= len(sample) // 1000
