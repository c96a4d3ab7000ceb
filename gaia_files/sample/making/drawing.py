"""Text drawn as a picture, in the font that comes with Pillow."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image


def page_of_lines(lines: Sequence[str]) -> tuple[bytes, int, int]:
    """A scanned page: a grey JPEG of A4 with its width and height in pixels."""
    picture = sheet_of_lines(lines, (1000, 1414), 40).convert("L").rotate(0.6, fillcolor=245)
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=60)
    return buffer.getvalue(), *picture.size


def sheet_of_lines(lines: Sequence[str], size: tuple[int, int], letters: int, paper: str = "#f5f5f0") -> Image:
    """Black lines of text on paper, `letters` pixels high."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", size, paper)
    pen = ImageDraw.Draw(picture)
    font = ImageFont.load_default(letters)
    for number, line in enumerate(lines):
        pen.text((letters * 2, letters * (1.5 + 1.8 * number)), line, fill="#202020", font=font)
    return picture
