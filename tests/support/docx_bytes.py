"""Word documents written as raw XML, for what python-docx cannot write."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_TYPES = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def docx_bytes(body: str, *, main: str = "document.main", doctype: str = "", **parts: str) -> bytes:
    """Return a document with this body, and further parts by name, such as `footnotes="<w:footnotes …>"`.

    Args:
        body: Paragraphs and tables.
        main: The distinguishing part of the main content type.
        doctype: Text before the root of the main part.
        parts: Root elements of other parts.
    """
    overrides = "".join(
        f'<Override PartName="/word/{name}.xml" ContentType="{_TYPES}.{name.rstrip("0123456789")}+xml"/>'
        for name in parts
    )
    relations = "".join(
        f'<Relationship Id="p{name}" Type="{_RELATIONS}/{name.rstrip("0123456789")}" Target="{name}.xml"/>'
        for name in parts
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    main_type = main if "/" in main else f"{_TYPES}.{main}+xml"
    package = "http://schemas.openxmlformats.org/package/2006"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{main_type}"/>{overrides}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{_RELATIONS}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f"{doctype}<w:document {W} {R}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships">{relations}'
        f'<Relationship Id="link" Type="{_RELATIONS}/hyperlink" Target="https://example.org/a" TargetMode="External"/>'
        "</Relationships>",
        **{f"word/{name}.xml": content for name, content in parts.items()},
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, head + content)
    return out.getvalue()


def paragraph(text: str, *, style: str = "", properties: str = "") -> str:
    """Return a paragraph with one run; a `text` that begins with `<` is XML."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    inner = text if text.startswith("<") else f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'
    return f"<w:p><w:pPr>{named}{properties}</w:pPr>{inner}</w:p>"


def rewritten(package: bytes, change: Callable[[str, bytes], tuple[str, bytes]]) -> bytes:
    """Return a zip file with the names and contents of its members changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(*change(name, old.read(name)))
    return out.getvalue()
