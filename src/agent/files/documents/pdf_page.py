"""One page of a PDF through pdfium: its text with columns kept, its notes, fields and links, and how it looks."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from agent.files.documents.layout import Piece, has_columns, laid_out
from agent.files.media.ocr import LONGEST_SIDE
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_PIECES = 4_000
"""Pieces on a page that is looked at for columns: with more, a drawing's labels, the order of the file is kept."""
_MOST_OBJECTS = 20_000
_MOST_NOTES = 500


def text_of(page: Any) -> str:
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


def objects_of(page: Any) -> tuple[int, int]:
    """How many pictures are on the page, and how many other objects."""
    from pypdfium2 import raw  # type: ignore[import-untyped]  # it has no stubs

    count = raw.FPDFPage_CountObjects(page)
    kinds = [raw.FPDFPageObj_GetType(raw.FPDFPage_GetObject(page, index)) for index in range(min(count, _MOST_OBJECTS))]
    pictures = kinds.count(raw.FPDF_PAGEOBJ_IMAGE)
    return pictures, count - pictures


def picture_of(page: Any) -> Image:
    """How the page looks, about 200 dots an inch."""
    longest = max(page.get_size()) or 1.0
    picture: Image = page.render(scale=min(200 / 72, LONGEST_SIDE / longest)).to_pil()
    return picture


def notes_on(page: Any, document: Any) -> list[str]:
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
