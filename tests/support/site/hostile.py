"""Content that takes many parsers minutes or gigabytes, although it is quick to generate."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Callable

from support.site.server import HTML, Reply, Request, Site


def _page(body: bytes) -> bytes:
    return b"<!DOCTYPE html><html><head><title>Tides</title></head><body><h1>Tides</h1>" + body + b"</body></html>"


def _attributes() -> bytes:
    return _page(b"<a " + b" ".join(b"a%d=1" % number for number in range(80_000)) + b">low water at noon</a>")


def _tags() -> bytes:
    return _page(b"<div>" * 100_000 + b"low water at noon")


def _line() -> bytes:
    return _page(b"low water " * 5_000_000)


def _open() -> bytes:
    """Return tags that are opened and never closed."""
    return _page(
        b"".join(mark * 60_000 for mark in (b"<p>[a](", b"**a ", b"`", b"<![CDATA[", b"<!--", b"<b><i>", b"[["))
    )


def _entities(root: str) -> bytes:
    names = "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    return f'<?xml version="1.0"?><!DOCTYPE {root} [<!ENTITY a "tide">{names}]><{root}>&j;</{root}>'.encode()


def _svg() -> bytes:
    head = b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    uses = b"".join(
        b'<g id="g%d">%s</g>' % (n, b'<use xlink:href="#g%d"/>' % (n - 1) * 20 if n else b"<text>tide</text>")
        for n in range(12)
    )
    return head + b"<g " + b" ".join(b"a%d='1'" % n for n in range(60_000)) + b"/>" + uses + b"</svg>"


def _words() -> bytes:
    """Return text that makes ambiguous regular expressions backtrack."""
    texts = (b"a", b"a ", b"aA", b"subscribe ", b"ignore ", b"1,000", b"(", b'"a', b"* ", b"-- ", b"A. ", b"# ")
    return _page(b"".join(b"<p>" + text * (300_000 // len(text)) + b"!</p>" for text in texts))


def _picture() -> bytes:
    """Return a black PNG of 60,000 by 60,000 pixels."""

    def part(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    row = bytes(1 + 60_000 // 8)
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(row * 1000) for _ in range(60)) + packer.flush()
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", rows) + part(b"IEND", b"")


def _json() -> bytes:
    return b"[" * 3_000_000


HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "attributes": (HTML, _attributes),
    "tags": (HTML, _tags),
    "line": (HTML, _line),
    "open": (HTML, _open),
    "words": (HTML, _words),
    "stray": (HTML, lambda: _page(b"tide " * 60_000 + b"\xff" * 20_000_000)),
    "xml": ("application/xml", lambda: _entities("tides")),
    "xhtml": ("application/xhtml+xml", lambda: _entities("html")),
    "svg": ("image/svg+xml", _svg),
    "picture": ("image/png", _picture),
    "json": ("application/json", _json),
    "deep": ("application/json", lambda: json.dumps({"tides": 1}).encode()[:-1] + b',"a":' + b'{"a":' * 500_000),
    "gz": ("application/gzip", lambda: gzip.compress(gzip.compress(bytes(1 << 30), 1), 9)),
}
"""Media type and content by kind."""


def page(site: Site, request: Request) -> Reply:
    """Return the content that `?kind=` names."""
    kind, made = HOSTILE[request.query["kind"]]
    return Reply(made(), kind=kind)
