"""Pictures as models take them: of a kind that endpoints know, turned the right way, and not larger than is of use."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.files.contents import ReadLimits, Source
from agent.files.media.image import opened_picture
from agent.files.problem import FileProblem

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_SIDE = 2048
"""Pixels. What is larger is sized down by endpoints, too."""
LARGEST = 1_500_000
"""Bytes."""
_KINDS = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
"""What endpoints take."""
_ORIENTATION = 0x0112
_QUALITIES = (85, 60, 30)


def save_shown(source: Source, page: int, limits: ReadLimits, folder: Path) -> dict[str, Any]:
    """Writes how a picture, or a page of a PDF, looks; the file's name is the hash of its content.

    Args:
        source: A picture, whose first frame is taken, or a PDF.
        page: Of a PDF.
        limits: What reading may take.
        folder: Where to write.

    Returns:
        `path`, `kind` as a media type, `bytes`, `size` and `whole`: pixels of the copy and of the picture itself.

    Raises:
        FileProblem: It cannot be read, or can be made no picture.
    """
    if source.kind == "pdf":
        from agent.files.documents.pdf import PdfReader

        contents = PdfReader().open(source, limits)
        try:
            drawn = contents.drawn(page)
        finally:
            contents.close()
        return _written(drawn, drawn.size, folder)
    if source.kind == "svg":
        raise FileProblem("unsupported", "A drawing (svg) is not shown as a picture.", remedy="Read its source.")
    with opened_picture(source) as picture:
        picture.load()
        is_fine = (
            source.kind in _KINDS
            and max(picture.size) <= LONGEST_SIDE
            and source.path.stat().st_size <= LARGEST
            and picture.getexif().get(_ORIENTATION, 1) == 1
        )
        if is_fine:
            return _kept(source.path.read_bytes(), _KINDS[source.kind], picture.size, picture.size, folder)
        from PIL import ImageOps

        turned = ImageOps.exif_transpose(picture)
        return _written(turned, turned.size, folder)


def _written(picture: Image, whole: tuple[int, int], folder: Path) -> dict[str, Any]:
    from agent.files.media.ocr import on_white

    picture = on_white(picture)
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    content = _encoded(picture, "png")
    if len(content) <= LARGEST:
        return _kept(content, "image/png", picture.size, whole, folder)
    for quality in _QUALITIES:
        content = _encoded(picture, "jpeg", quality=quality)
        if len(content) <= LARGEST:
            break
    return _kept(content, "image/jpeg", picture.size, whole, folder)


def _encoded(picture: Image, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def _kept(content: bytes, kind: str, size: tuple[int, int], whole: tuple[int, int], folder: Path) -> dict[str, Any]:
    path = folder / f"{hashlib.sha256(content).hexdigest()[:24]}.{kind.removeprefix('image/')}"
    path.write_bytes(content)
    return {"path": str(path), "kind": kind, "bytes": len(content), "size": list(size), "whole": list(whole)}
