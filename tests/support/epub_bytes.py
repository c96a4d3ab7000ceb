"""A small book."""

from __future__ import annotations

import io
import zipfile

_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/c.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
_XHTML = "application/xhtml+xml"


def epub_bytes(*, picture: bytes = b"", **more: str) -> bytes:
    """Return a book of two chapters; their reading order differs from the order of the files.

    Args:
        picture: Picture at the end of the last chapter; empty for none.
        more: Further files in `META-INF`.
    """
    items = (("a", "a.xhtml", _XHTML, ""), ("b", "b%20c.xhtml", _XHTML, ""), ("n", "nav.xhtml", _XHTML, "nav"))
    manifest = "".join(
        f'<item id="{name}" href="{href}" media-type="{kind}" properties="{properties}"/>'
        for name, href, kind, properties in (
            *items,
            ("gone", "gone.xhtml", _XHTML, ""),
            ("p", "p.png", "image/png", ""),
        )
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in ("b", "a", "gone"))
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": _CONTAINER,
        **{f"META-INF/{name}.xml": content for name, content in more.items()},
        "OEBPS/c.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<metadata><dc:title>The Book</dc:title><dc:creator>A. Uthor</dc:creator></metadata>"
        f"<manifest>{manifest}</manifest><spine>{spine}</spine></package>",
        "OEBPS/a.xhtml": _page(
            "<h1>Ending</h1><p>It <b>ended</b>.</p>" + ('<img src="./p.png" alt="A map"/>' if picture else "")
        ),
        "OEBPS/b c.xhtml": _page("<p>It began.</p><table><tr><th>x</th></tr><tr><td>1</td></tr></table>"),
        "OEBPS/nav.xhtml": _page('<nav><a href="b%20c.xhtml#top">The beginning</a></nav>'),
    }
    files |= {"OEBPS/p.png": picture} if picture else {}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def _page(body: str) -> str:
    return f"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head><title>t</title></head><body>{body}</body></html>"
