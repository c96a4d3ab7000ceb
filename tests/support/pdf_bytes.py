"""PDF files written by hand, with placed text, pictures, notes, links, fields and a password."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence

from PIL.Image import Image

Line = tuple[float, float, str]
"""Start of a line, in points from the left and from the bottom, and its text."""


class PdfBytes:
    """Collects pages; `make` returns the file."""

    def __init__(self) -> None:
        self._objects: list[bytes] = [b"", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
        self._pages: list[int] = []
        self._catalog = b""
        self._info = b""

    def page(self, lines: Sequence[Line] = (), picture: Image | None = None, notes: Sequence[bytes] = ()) -> PdfBytes:
        """Add a page with lines in 11 points, a picture over the whole page, and annotations."""
        text = "".join(f"1 0 0 1 {x} {y} Tm ({_escaped(t)}) Tj\n" for x, y, t in lines)
        drawn = f"BT /F1 11 Tf\n{text}ET\n" if lines else ""
        image = b""
        if picture is not None:
            drawn += "q 612 0 0 792 0 0 cm /P Do Q\n"
            image = b"/XObject << /P %d 0 R >>" % self._picture(picture)
        content = self._stream(b"", drawn.encode("latin-1"))
        marks = b" ".join(b"%d 0 R" % self._add(note) for note in notes)
        self._pages.append(
            self._add(
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Annots [%s] "
                b"/Resources << /Font << /F1 3 0 R >> %s >> >>" % (content, marks, image)
            )
        )
        return self

    def titled(self, title: str) -> PdfBytes:
        self._info = b"/Info %d 0 R" % self._add(b"<< /Title (%s) >>" % title.encode("latin-1"))
        return self

    def outlined(self, title: str, page: int) -> PdfBytes:
        """Add the only entry of the outline."""
        entry, root = len(self._objects) + 1, len(self._objects) + 2
        target = self._pages[page - 1]
        self._add(b"<< /Title (%s) /Parent %d 0 R /Dest [%d 0 R /Fit] >>" % (title.encode(), root, target))
        self._add(b"<< /First %d 0 R /Last %d 0 R /Count 1 >>" % (entry, entry))
        self._catalog += b" /Outlines %d 0 R" % root
        return self

    def attach(self, name: str, content: bytes) -> PdfBytes:
        stream = self._stream(b"/Type /EmbeddedFile", content)
        spec = self._add(
            b"<< /Type /Filespec /F (%s) /UF (%s) /EF << /F %d 0 R >> >>" % (name.encode(), name.encode(), stream)
        )
        self._catalog += b" /Names << /EmbeddedFiles << /Names [(%s) %d 0 R] >> >>" % (name.encode(), spec)
        return self

    def make(self, password: bool = False) -> bytes:
        """Return the file. With `password`, nobody can open it."""
        self._objects[0] = b"<< /Type /Catalog /Pages 2 0 R%s >>" % self._catalog
        kids = b" ".join(b"%d 0 R" % page for page in self._pages)
        self._objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(self._pages), kids)
        out, places = b"%PDF-1.4\n", []
        for number, content in enumerate(self._objects, 1):
            places.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
        start = len(out)
        out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(self._objects) + 1)
        out += b"".join(b"%010d 00000 n \n" % place for place in places)
        lock = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >> /ID [<00> <00>]" % (
            b"1" * 64,
            b"2" * 64,
        )
        trailer = (len(self._objects) + 1, self._info, lock if password else b"", start)
        return out + b"trailer << /Size %d /Root 1 0 R %s %s >>\nstartxref\n%d\n%%%%EOF" % trailer

    def _picture(self, picture: Image) -> int:
        out = io.BytesIO()
        picture.convert("RGB").save(out, "jpeg", quality=90)
        head = (
            b"/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceRGB /BitsPerComponent 8"
            % picture.size
        )
        return self._add(
            b"<< %s /Filter /DCTDecode /Length %d >>\nstream\n%s\nendstream"
            % (head, len(out.getvalue()), out.getvalue())
        )

    def _stream(self, head: bytes, content: bytes) -> int:
        packed = zlib.compress(content)
        return self._add(
            b"<< %s /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (head, len(packed), packed)
        )

    def _add(self, content: bytes) -> int:
        self._objects.append(content)
        return len(self._objects)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
