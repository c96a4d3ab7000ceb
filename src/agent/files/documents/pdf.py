"""PDF, page by page: text, tables as columns, notes and fields; a page that is only a picture is read by OCR."""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.files.contents import (
    Contents,
    FileProblem,
    ReadLimits,
    Section,
    Source,
    beginning,
    damaged,
    locked,
    name_of,
    without_package,
)
from agent.files.media.ocr import LONGEST_SIDE, Piece, has_columns, laid_out, text_in
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfDocument  # type: ignore[import-untyped]  # it has no stubs

_PASSWORD, _SECURITY = 4, 5  # FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY
_SHARE_FOR_OCR = 0.5
"""Part of the time limit that may go into reading pictures."""
_MOST_CHARACTERS = 1_000_000
"""Of one page: more is no page that anybody printed."""
_MOST_PIECES = 4_000
"""Pieces on a page that is looked at for columns: with more, a drawing's labels, the order of the file is kept."""
_MOST_OBJECTS = 20_000
_MOST_NOTES = 500


def open_pdf(source: Source, limits: ReadLimits) -> PdfContents:
    """Opens a PDF; pages are read when they are asked for.

    Raises:
        FileProblem: It is empty, damaged, cut off, or locked by a password.
    """
    if b"%PDF-" not in beginning(source):
        raise FileProblem(
            "mismatch",
            f"{name_of(source)} is no PDF: it does not begin as one.",
            remedy="Look at its bytes in a program.",
        )
    try:
        from pypdfium2 import PdfDocument, PdfiumError
    except ImportError:
        raise without_package("pypdfium2", "files", "PDF cannot be read") from None
    with source.path.open("rb") as file:
        file.seek(max(0, source.path.stat().st_size - 2048))
        is_cut = b"%%EOF" not in file.read()
    try:
        document = PdfDocument(source.path)
        why = "" if len(document) else "it has no pages"
    except PdfiumError as error:
        if error.err_code in (_PASSWORD, _SECURITY):
            raise locked(source) from None
        why = str(error)
    if why and is_cut:
        raise FileProblem(
            "truncated",
            f"{name_of(source)} breaks off: its end is missing ({why}).",
            remedy="Look at its bytes in a program.",
        )
    if why:
        raise damaged(source, "PDF", why)
    contents = PdfContents(document, Path(name_of(source)).stem, limits)
    if is_cut:
        contents.lost.append("The file does not end as a PDF does: pages may be missing.")
    return contents


class PdfContents(Contents):
    """An open PDF.

    Args:
        document: As pdfium has it.
        stem: What the files that are saved are called.
        limits: What reading may take.
    """

    kind = "pdf"

    def __init__(self, document: PdfDocument, stem: str, limits: ReadLimits) -> None:
        self._document, self._stem = document, stem
        self._seconds = limits.seconds * _SHARE_FOR_OCR
        self._until = 0.0
        self._recognised: dict[int, str] = {}
        self.count, self.lost = len(document), []
        told = {key.lower(): one_line(value, 300) for key, value in document.get_metadata_dict().items() if value}
        outline = list(self._outline())
        attached = self._attached()
        self.facts = {"pages": self.count, **told}
        if outline:
            self.facts["outline"] = list(outline)
        if attached:
            self.facts["attachments"] = [name for name, _ in attached]
            names = ", ".join(one_line(name) for name, _ in attached)
            self.lost.append(f"Files are attached to the PDF, saved beside its text but not read: {names}.")
        title = f" “{told['title']}”" if "title" in told else ""
        author = f" by {told['author']}" if "author" in told else ""
        self.summary = f"PDF of {self.count:,} page{'s' if self.count != 1 else ''}{title}{author}."
        if top := [f"{one['title']} (page {one['page']})" for one in outline if one["level"] == 0][:40]:
            self.summary += f"\nOutline: {'; '.join(top)}"

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The pages."""
        for number in range(first, len(self._document) + 1):
            label = self._document.get_page_label(number - 1)
            numbered = f" (numbered {one_line(label, 20)})" if label and label != str(number) else ""
            yield Section(f"page {number}{numbered}", self._text(number))

    def drawn(self, number: int) -> Image:
        """How a page looks.

        Raises:
            FileProblem: There is no such page, or it is damaged.
        """
        from pypdfium2 import PdfiumError

        try:
            page = self._document[number - 1]
        except (PdfiumError, IndexError):
            raise FileProblem("range", f"Page {number} cannot be drawn.", remedy="Take another page.") from None
        try:
            return _picture_of(page)
        finally:
            page.close()

    def save_data(self, folder: Path) -> list[Path]:
        """The text as JSON lines, `{"page": 1, "text": "…"}`, and the attached files."""
        path = folder / f"{self._stem}.pages.jsonl"
        with path.open("w", encoding="utf-8") as out:
            for number in range(1, len(self._document) + 1):
                out.write(json.dumps({"page": number, "text": self._text(number)}, ensure_ascii=False) + "\n")
        saved = [path]
        for index, (name, content) in enumerate(self._attached(), 1):
            safe = Path(name.replace("\\", "/")).name.strip(". ") or "file"
            saved.append(folder / f"{self._stem}.attached-{index}-{safe[-100:]}")
            saved[-1].write_bytes(content)
        return saved

    def close(self) -> None:
        """Closes the document."""
        self._document.close()

    def _text(self, number: int) -> str:
        from pypdfium2 import PdfiumError

        try:
            page = self._document[number - 1]
        except PdfiumError:
            self._tell(f"Page {number} is damaged and cannot be read.")
            return "(this page is damaged)"
        try:
            text = _text_of(page)
            if len(text) > _MOST_CHARACTERS:
                self._tell(
                    f"Page {number} has {len(text):,} characters: only its first {_MOST_CHARACTERS:,} are shown."
                )
                text = text[:_MOST_CHARACTERS]
            pictures, others = _objects_of(page)
            if not text.strip() and pictures + others:
                text = self._recognised.get(number) or self._ocr(page, number)
            elif pictures:
                some = "a picture" if pictures == 1 else f"{pictures} pictures"
                self._tell(f"Page {number} has {some} besides its text, not described here.")
            notes = _notes_on(page, self._document)
            return "\n".join([text.strip("\n"), *notes]) if notes else text
        finally:
            page.close()

    def _ocr(self, page: Any, number: int) -> str:
        self._until = self._until or time.monotonic() + self._seconds
        if time.monotonic() > self._until:
            self._tell(f"Page {number} and pages after it are pictures that there was no time for: ask for them alone.")
            return "(a picture, not read)"
        try:
            seen = text_in(_picture_of(page))
        except FileProblem as problem:
            self._tell(f"Page {number} is only a picture, and was not read. {problem}".replace("\n", " "))
            return "(a picture, not read)"
        found = f"its text was {seen.certainty}" if seen.text else "OCR found no text in it"
        self._tell(f"Page {number} is only a picture; {found}.")
        for sentence in seen.lost:
            self._tell(f"Page {number}: {sentence}")
        self._recognised[number] = seen.text or "(a picture without text)"
        return self._recognised[number]

    def _outline(self) -> Iterator[dict[str, Json]]:
        for place, item in enumerate(self._document.get_toc(max_depth=3)):
            if place == 200:
                self.lost.append("The outline has more than 200 entries; the rest is left out.")
                return
            target = item.get_dest()
            index = target.get_index() if target else None
            page = index + 1 if index is not None else None
            yield {"title": one_line(item.get_title() or "", 200), "page": page, "level": item.level}

    def _attached(self) -> list[tuple[str, bytes]]:
        found = (self._document.get_attachment(index) for index in range(min(self._document.count_attachments(), 50)))
        return [(one.get_name(), bytes(one.get_data())) for one in found]

    def _tell(self, sentence: str) -> None:
        if sentence not in self.lost:
            self.lost.append(sentence)


def _text_of(page: Any) -> str:
    """The text in the order of the file, or, where there is a table, as it stands on the page."""
    words = page.get_textpage()
    try:
        plain = words.get_text_range().replace("\r\n", "\n").replace("\x02", "")
        count = words.count_rects()
        if not 4 <= count <= _MOST_PIECES or page.get_rotation():
            return str(plain)
        boxes = [words.get_rect(index) for index in range(count)]
        if not _share_lines(boxes) or not has_columns([_piece(box) for box in boxes]):
            return str(plain)
        laid = laid_out([_piece(box, words.get_text_bounded(*box)) for box in boxes])
        return laid if _letters(laid) == _letters(plain) else str(plain)
    finally:
        words.close()


def _objects_of(page: Any) -> tuple[int, int]:
    """How many pictures are on the page, and how many other objects."""
    from pypdfium2 import raw

    count = raw.FPDFPage_CountObjects(page)
    kinds = [raw.FPDFPageObj_GetType(raw.FPDFPage_GetObject(page, index)) for index in range(min(count, _MOST_OBJECTS))]
    pictures = kinds.count(raw.FPDF_PAGEOBJ_IMAGE)
    return pictures, count - pictures


def _picture_of(page: Any) -> Image:
    """How the page looks, about 200 dots an inch."""
    longest = max(page.get_size()) or 1.0
    picture: Image = page.render(scale=min(200 / 72, LONGEST_SIDE / longest)).to_pil()
    return picture


def _notes_on(page: Any, document: Any) -> list[str]:
    """What is not in the text of the page: notes, the fields of a form, where links lead."""
    from pypdfium2 import raw

    found = []
    for index in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST_NOTES)):
        note = raw.FPDFPage_GetAnnot(page, index)
        kind = raw.FPDFAnnot_GetSubtype(note)
        if kind == raw.FPDF_ANNOT_LINK:
            target = _target(note, document)
            found.append(f"[link: {target}]" if target else "")
        elif kind == raw.FPDF_ANNOT_WIDGET:
            value = _value(note, "V") or _value(note, "AS")
            found.append(f"[field {_value(note, 'T') or 'without a name'}: {value or 'empty'}]")
        elif kind != raw.FPDF_ANNOT_POPUP:
            text = _value(note, "Contents")
            found.append(f"[note: {text}]" if text else "")
        raw.FPDFPage_CloseAnnot(note)
    return list(dict.fromkeys(one for one in found if one))


def _share_lines(boxes: list[tuple[float, float, float, float]]) -> bool:
    """Whether pieces stand beside each other at all: most pages are prose, and quickly told from tables."""
    twice_middles = sorted(box[1] + box[3] for box in boxes)
    height = sorted(box[3] - box[1] for box in boxes)[len(boxes) // 2]
    return sum(after - before <= height for before, after in pairwise(twice_middles)) > 1


def _piece(box: tuple[float, float, float, float], text: str = "") -> Piece:
    left, bottom, right, top = box
    return Piece(left, -top, right, -bottom, text.replace("\r\n", " ").replace("\x02", ""))


def _letters(text: str) -> str:
    """What must stay the same when lines are laid out anew."""
    return "".join(sorted(text.replace(" ", "").replace("\n", "").replace("\xa0", "")))


def _value(note: Any, key: str) -> str:
    from pypdfium2 import raw

    size = raw.FPDFAnnot_GetStringValue(note, key.encode(), None, 0)
    if size <= 2:
        return ""
    buffer = (ctypes.c_ushort * (size // 2))()
    raw.FPDFAnnot_GetStringValue(note, key.encode(), buffer, size)
    return one_line(bytes(buffer).decode("utf-16-le", "replace").rstrip("\0"), 2000)


def _target(note: Any, document: Any) -> str:
    from pypdfium2 import raw

    action = raw.FPDFLink_GetAction(raw.FPDFAnnot_GetLink(note))
    size = raw.FPDFAction_GetURIPath(document, action, None, 0) if action else 0
    if size <= 1:
        return ""
    buffer = ctypes.create_string_buffer(size)
    raw.FPDFAction_GetURIPath(document, action, buffer, size)
    return one_line(buffer.value.decode("utf-8", "replace"), 500)
