"""Reader of PDF files: text, tables as columns, notes and form fields. Scanned pages are read by OCR."""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypdfium2 import PdfDocument, PdfiumError, raw  # type: ignore[import-untyped]  # it has no stubs

from agent.files.contents import Contents, FileProblem, ReadLimits, Section, Source, damaged, locked, short_name
from agent.files.media.ocr import MAX_OCR_PIXELS, Piece, has_columns, lay_out, text_in
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from PIL.Image import Image

_MAX_OCR_SHARE = 0.5  # of the time limit
_MAX_PAGE_CHARS = 1_000_000  # no printed page has more
_MAX_PIECES = 4_000
"""Maximum number of text pieces on a page that is checked for columns. A page with more counts as a drawing."""
_MOST_OBJECTS = 20_000
_MOST_NOTES = 500
_MOST_ATTACHED = 50
_MOST_ENTRIES = 40
_PROPERTIES = ("subject", "keywords", "creator")


def open_pdf(source: Source, limits: ReadLimits) -> PdfContents:
    """Open a PDF. A page is read when it is requested."""
    with source.path.open("rb") as file:
        file.seek(max(0, source.path.stat().st_size - 2048))
        is_cut = b"%%EOF" not in file.read()
    try:
        document = PdfDocument(source.path)
        why = "" if len(document) else "it has no pages"
    except PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise locked(source.name) from None
        why = str(error)
    if why and is_cut:
        raise FileProblem("truncated", f"{source.name} is truncated: its end is missing ({why}).")
    if why:
        raise damaged(source.name, "pdf", why)
    contents = PdfContents(document, short_name(Path(source.name).stem), limits)
    if is_cut:
        contents.lost.append("The file lacks the usual end of a PDF: pages may be missing.")
    return contents


class PdfContents(Contents):
    """The contents of a PDF."""

    def __init__(self, document: PdfDocument, stem: str, limits: ReadLimits) -> None:
        self._document, self._stem = document, stem
        self._seconds = limits.seconds * _MAX_OCR_SHARE
        self._until = 0.0
        self._recognised: dict[int, str] = {}
        metadata = {key.lower(): one_line(value, 300) for key, value in document.get_metadata_dict().items() if value}
        title = f" “{metadata['title']}”" if "title" in metadata else ""
        author = f" by {metadata['author']}" if "author" in metadata else ""
        more = "".join(f"\n{name.capitalize()}: {metadata[name]}" for name in _PROPERTIES if name in metadata)
        count = len(document)
        super().__init__("pdf", f"PDF of {count:,} page{'s' * (count != 1)}{title}{author}.{more}", count=count)
        if outline := list(islice(self._outline(), _MOST_ENTRIES + 1)):
            more = "; and more" * (len(outline) > _MOST_ENTRIES)
            self.summary += f"\nOutline: {'; '.join(outline[:_MOST_ENTRIES])}{more}"
        document.init_forms()
        if scripts := raw.FPDFDoc_GetJavaScriptActionCount(document):
            self.lost.append(f"{count_of(scripts, 'script')} in the PDF not read.")
        if names := ", ".join(one_line(name) for name, _ in self._attached()):
            self.lost.append(f"Files are attached to the PDF, saved next to its text but not read: {names}.")

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yield the pages from number `first`."""
        for number in range(first, len(self._document) + 1):
            label = self._document.get_page_label(number - 1)
            numbered = f" (numbered {one_line(label, 20)})" if label and label != str(number) else ""
            yield Section(f"page {number}{numbered}", self._text(number))

    def draw(self, number: int) -> Image:
        """Return an image of a page."""
        try:
            return _picture_of(self._document[number - 1])
        except (PdfiumError, IndexError):
            raise FileProblem("range", f"Page {number} cannot be rendered.") from None

    def save_data(self, folder: Path) -> list[Path]:
        """Save the text as JSON Lines, `{"page": 1, "text": "…"}`, and the attached files."""
        path = folder / f"{self._stem}.pages.jsonl"
        with path.open("w", encoding="utf-8") as out:
            for number in range(1, len(self._document) + 1):
                out.write(json.dumps({"page": number, "text": self._text(number)}, ensure_ascii=False) + "\n")
        saved = [path]
        for index, (name, content) in enumerate(self._attached(), 1):
            safe = Path(name.replace("\\", "/")).name.strip(". ") or "file"
            saved.append(folder / f"{self._stem}.attached-{index}-{short_name(safe)}")
            saved[-1].write_bytes(content)
        return saved

    def close(self) -> None:
        """Close the document."""
        self._document.close()

    def _text(self, number: int) -> str:
        try:
            page = self._document[number - 1]
        except PdfiumError:
            self.lost.append(f"Page {number} is corrupt and cannot be read.")
            return "(this page is damaged)"
        try:
            text = _text_of(page)
            if len(text) > _MAX_PAGE_CHARS:
                self.lost.append(
                    f"Page {number} has {len(text):,} characters: only its first {_MAX_PAGE_CHARS:,} are shown."
                )
            count = min(raw.FPDFPage_CountObjects(page), _MOST_OBJECTS)
            objects = [raw.FPDFPage_GetObject(page, index) for index in range(count)]
            kinds = [raw.FPDFPageObj_GetType(one) for one in objects]
            texts = [one for one, kind in zip(objects, kinds, strict=True) if kind == raw.FPDF_PAGEOBJ_TEXT]
            self.lost += [f"Page {number} {what}: it is shown like the rest." for what in _unseen(page, texts)]
            pictures = kinds.count(raw.FPDF_PAGEOBJ_IMAGE)
            if pictures or (count and not text.strip()):
                self.pictures.add(number)
            if not text.strip() and count:
                text = self._recognised.get(number) or self._ocr(page, number)
            elif pictures:
                some = "a picture" if pictures == 1 else f"{pictures} pictures"
                self.lost.append(f"Page {number} has {some} besides its text, which are not described here.")
            notes = _notes_on(page, self._document)
            return "\n".join([text[:_MAX_PAGE_CHARS].strip("\n"), *notes]) if notes else text[:_MAX_PAGE_CHARS]
        finally:
            page.close()

    def _ocr(self, page: Any, number: int) -> str:
        self._until = self._until or time.monotonic() + self._seconds
        if time.monotonic() > self._until:
            self.lost.append(f"There was no time for OCR of page {number} and later pages: ask for them separately.")
            return "(a picture, not read)"
        try:
            seen = text_in(_picture_of(page))
        except FileProblem as problem:
            self.lost.append(f"Page {number} is only a picture, and was not read. {problem}".replace("\n", " "))
            return "(a picture, not read)"
        found = f"its text was {seen.certainty}" if seen.text else "OCR found no text in it"
        self.notes.append(f"Page {number} is only a picture; {found}.")
        self.notes += [f"Page {number}: {sentence}" for sentence in seen.lost]
        self._recognised[number] = seen.text or "(a picture without text)"
        return self._recognised[number]

    def _outline(self) -> Iterator[str]:
        for item in self._document.get_toc():
            target = item.get_dest()
            index = target.get_index() if target else None
            yield f"{one_line(item.get_title() or '', 200)} (page {None if index is None else index + 1})"

    def _attached(self) -> list[tuple[str, bytes]]:
        count = min(self._document.count_attachments(), _MOST_ATTACHED)
        found = (self._document.get_attachment(index) for index in range(count))
        return [(one.get_name(), bytes(one.get_data())) for one in found]


def _text_of(page: Any) -> str:
    """Return the text in file order, or, if the page has a table, in the layout of the page."""
    words = page.get_textpage()
    try:
        plain = str(words.get_text_range().replace("\r\n", "\n").replace("\x02", ""))
        count = words.count_rects()
        if not 4 <= count <= _MAX_PIECES or page.get_rotation():
            return plain
        boxes = [words.get_rect(index) for index in range(count)]
        if not _share_lines(boxes) or not has_columns([_piece(box) for box in boxes]):
            return plain
        laid = lay_out([_piece(box, words.get_text_bounded(*box)) for box in boxes])
        # the new layout must have the same letters
        return laid if sorted("".join(laid.split())) == sorted("".join(plain.split())) else plain
    finally:
        words.close()


def _unseen(page: Any, texts: list[Any]) -> Iterator[str]:
    """Return the reasons why some text on the page may be invisible."""
    if any(raw.FPDFTextObj_GetTextRenderMode(one) == raw.FPDF_TEXTRENDERMODE_INVISIBLE for one in texts):
        yield "has text that is not visible, such as the text behind a scan"
    if any(_is_outside(page.get_bbox(), one) for one in texts):
        yield "has text that is not visible, since it is outside the page"
    if any(_has_layer(one) for one in texts):
        yield "has text on layers, which is not visible where its layer is switched off"


def _is_outside(page: tuple[float, float, float, float], text: Any) -> bool:
    box = [ctypes.c_float() for _ in range(4)]
    if not raw.FPDFPageObj_GetBounds(text, *map(ctypes.byref, box)):
        return False
    left, bottom, right, top = (one.value for one in box)
    return right < page[0] or top < page[1] or left > page[2] or bottom > page[3]


def _has_layer(text: Any) -> bool:
    marks = (raw.FPDFPageObj_GetMark(text, index) for index in range(raw.FPDFPageObj_CountMarks(text)))
    return any(_mark_name(mark) == "OC" for mark in marks)


def _mark_name(mark: Any) -> str:
    buffer, size = (ctypes.c_ushort * 16)(), ctypes.c_ulong()
    raw.FPDFPageObjMark_GetName(mark, buffer, 32, ctypes.byref(size))
    return bytes(buffer)[: size.value].decode("utf-16-le", "replace").rstrip("\0")


def _picture_of(page: Any) -> Image:
    """Return an image of the page at about 200 dpi."""
    longest = max(page.get_size()) or 1.0
    picture: Image = page.render(scale=min(200 / 72, MAX_OCR_PIXELS / longest)).to_pil()
    return picture


def _share_lines(boxes: list[tuple[float, float, float, float]]) -> bool:
    """Return True if any pieces share a line. If none do, the page has no table. This check is fast."""
    twice_middles = sorted(box[1] + box[3] for box in boxes)
    height = sorted(box[3] - box[1] for box in boxes)[len(boxes) // 2]
    return sum(after - before <= height for before, after in pairwise(twice_middles)) > 1


def _piece(box: tuple[float, float, float, float], text: str = "") -> Piece:
    left, bottom, right, top = box
    return Piece(left, -top, right, -bottom, text.replace("\r\n", " ").replace("\x02", ""))


def _notes_on(page: Any, document: Any) -> list[str]:
    """Return notes, form fields and link targets, which are not in the text of the page."""
    found = []
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST_NOTES)):
        note = raw.FPDFPage_GetAnnot(page, index)

        def value(key: str, note: Any = note) -> str:
            return _filled(raw.FPDFAnnot_GetStringValue, note, key.encode(), encoding="utf-16-le")

        kind = raw.FPDFAnnot_GetSubtype(note)
        if kind == raw.FPDF_ANNOT_LINK:
            action = raw.FPDFLink_GetAction(raw.FPDFAnnot_GetLink(note))
            target = _filled(raw.FPDFAction_GetURIPath, document, action, encoding="utf-8") if action else ""
            found.append(f"[link: {target}]" if target else "")
        elif kind == raw.FPDF_ANNOT_WIDGET:
            form = document.formenv

            def inherited(function: Callable[..., int], form: Any = form, note: Any = note) -> str:
                return _filled(function, form, note, encoding="utf-16-le") if form else ""

            name = value("T") or inherited(raw.FPDFAnnot_GetFormFieldName) or "without a name"
            name += f" ({help_})" if (help_ := value("TU")) else ""
            filled = value("V") or inherited(raw.FPDFAnnot_GetFormFieldValue) or value("AS") or "empty"
            found.append(f"[field {name}: {filled}]")
        elif kind == raw.FPDF_ANNOT_FILEATTACHMENT:
            file = raw.FPDFAnnot_GetFileAttachment(note)
            name = _filled(raw.FPDFAttachment_GetName, file, encoding="utf-16-le") if file else "without a name"
            found.append(f"[attached file {name}, not read]")
        elif kind != raw.FPDF_ANNOT_POPUP:
            author = f" by {who}" if (who := value("T")) else ""
            text = value("Contents") or (kind == raw.FPDF_ANNOT_STAMP and value("Name"))
            found.append(f"[note{author}: {text}]" if text else "")
        raw.FPDFPage_CloseAnnot(note)
    return list(dict.fromkeys(one for one in found if one))


def _filled(function: Callable[..., int], *arguments: Any, encoding: str) -> str:
    """Return the text that a pdfium function writes to a buffer. The first call returns the size."""
    size = function(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(size + 2)
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)) if encoding != "utf-8" else buffer, size)
    return one_line(buffer.raw[:size].decode(encoding, "replace").rstrip("\0"), 2000)
