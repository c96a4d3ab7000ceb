# ruff: noqa: E501 - XML is easier to read on one line
"""OpenDocument files written as raw XML."""

from __future__ import annotations

import io
import zipfile

SPACES = [
    "office",
    "text",
    "table",
    "draw",
    "style",
    "presentation",
    "chart",
    "form",
    "meta",
    "script",
    "number",
    "svg-compatible:svg",
]
NS = " ".join(
    f'xmlns:{one.rpartition(":")[2]}="urn:oasis:names:tc:opendocument:xmlns:{one.partition(":")[0]}:1.0"'
    for one in SPACES
)
NS += ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:math="http://www.w3.org/1998/Math/MathML"'
MIME = {"odt": "text", "odp": "presentation", "odg": "graphics", "ods": "spreadsheet"}
PAGE = '<draw:page draw:name="a">{}</draw:page>'


def odf(kind: str, body: str, styles: str = "", masters: str = "", **parts: str) -> bytes:
    """Return a document. In the names of further parts, `__` stands for `/` and `_0` for the dot."""
    place = {"odg": "drawing"}.get(kind, MIME[kind])
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{MIME[kind]}")
        archive.writestr(
            "content.xml",
            f"<office:document-content {NS}><office:automatic-styles>{styles}</office:automatic-styles><office:body><office:{place}>{body}</office:{place}></office:body></office:document-content>",
        )
        archive.writestr(
            "styles.xml",
            f"<office:document-styles {NS}><office:master-styles>{masters}</office:master-styles></office:document-styles>",
        )
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/").replace("_0", "."), content)
    return out.getvalue()


def frame(inner: str) -> str:
    return f'<draw:frame draw:name="f">{inner}</draw:frame>'
