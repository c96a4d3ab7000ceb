"""What came from an address: its body unpacked, read up to a limit, and as text in the charset that it is in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.web.fetching.charsets import charset_of, decoded, media_type
from agent.web.protocol import WebProblem
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2


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
