"""Writers whose bytes do not depend on the day: zip archives, Office files, OpenDocument sheets, EPUB, PDF."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from html import escape

_DAY = (2024, 1, 1, 0, 0, 0)
_STAMP = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*")


def packed(members: Mapping[str, bytes | str], *, stored: Sequence[str] = ()) -> bytes:
    """A zip archive of these members, in this order.

    Args:
        members: Their content by name.
        stored: Names that are not compressed.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _DAY)
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def without_times(office: bytes) -> bytes:
    """An Office file as it would be had it been saved on a fixed day."""
    with zipfile.ZipFile(io.BytesIO(office)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return packed({name: _STAMP.sub(rb"\g<1>2024-01-01T00:00:00Z", content) for name, content in members.items()})


def opendocument(sheets: Mapping[str, Sequence[Sequence[str | int | float]]]) -> bytes:
    """An OpenDocument workbook."""
    tables = "".join(
        f'<table:table table:name="{escape(name)}">'
        + "".join(f"<table:table-row>{''.join(map(_cell, row))}</table:table-row>" for row in rows)
        + "</table:table>"
        for name, rows in sheets.items()
    )
    namespace = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content office:version="1.2" '
        f'xmlns:office="{namespace}:office:1.0" xmlns:table="{namespace}:table:1.0" xmlns:text="{namespace}:text:1.0">'
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        f'<?xml version="1.0" encoding="UTF-8"?><manifest:manifest manifest:version="1.2" '
        f'xmlns:manifest="{namespace}:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        f'<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    )
    members = {"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest}
    return packed(members, stored=["mimetype"])


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'
    kind = f'office:value-type="float" office:value="{value}"'
    return f"<table:table-cell {kind}><text:p>{value}</text:p></table:table-cell>"


def epub(title: str, chapters: Mapping[str, Sequence[str]]) -> bytes:
    """An EPUB: chapters of paragraphs under their titles."""
    names = [f"chapter{number}.xhtml" for number in range(1, len(chapters) + 1)]
    items = "".join(f'<item id="c{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in names)
    spine = "".join(f'<itemref idref="c{n}"/>' for n in names)
    links = "".join(f'<li><a href="{n}">{escape(chapter)}</a></li>' for n, chapter in zip(names, chapters, strict=True))
    members = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<?xml version="1.0"?><container version="1.0" '
        'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/book.opf" '
        'media-type="application/oebps-package+xml"/></rootfiles></container>',
        "OEBPS/book.opf": '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" '
        'unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">'
        f"sample</dc:identifier><dc:title>{escape(title)}</dc:title><dc:language>en</dc:language></metadata>"
        '<manifest><item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        f"{items}</manifest><spine>{spine}</spine></package>",
        "OEBPS/nav.xhtml": _page("Contents", f'<nav epub:type="toc"><ol>{links}</ol></nav>'),
    }
    for name, (chapter, paragraphs) in zip(names, chapters.items(), strict=True):
        text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in paragraphs)
        members[f"OEBPS/{name}"] = _page(chapter, f"<h1>{escape(chapter)}</h1>{text}")
    return packed(members, stored=["mimetype"])


def _page(title: str, body: str) -> str:
    return (
        '<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml" '
        f'xmlns:epub="http://www.idpf.org/2007/ops"><head><title>{escape(title)}</title></head>'
        f"<body>{body}</body></html>"
    )


def pdf(pages: Sequence[Sequence[str] | tuple[bytes, int, int]]) -> bytes:
    """A PDF (A4) of pages that are lines of text, or one JPEG with its width and height in pixels."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids = []
    for page in pages:
        resources, drawing = _picture(page, objects) if isinstance(page, tuple) else (b"", _text(page))
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawing), drawing))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> %s >> >>" % (len(objects), resources)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    return _file(objects)


def _text(lines: Sequence[str]) -> bytes:
    shown = [line.translate({ord(c): "\\" + c for c in "\\()"}).encode("cp1252") for line in lines]
    return b"BT /F1 11 Tf 60 780 Td 16 TL\n" + b"".join(b"(%s) Tj T*\n" % line for line in shown) + b"ET"


def _picture(page: tuple[bytes, int, int], objects: list[bytes]) -> tuple[bytes, bytes]:
    jpeg, width, height = page
    objects.append(
        b"<< /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 "
        b"/Filter /DCTDecode /Length %d >>\nstream\n%s\nendstream" % (width, height, len(jpeg), jpeg)
    )
    return b"/XObject << /Im1 %d 0 R >>" % len(objects), b"q 595 0 0 842 0 0 cm /Im1 Do Q"


def _file(objects: Sequence[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)
