"""Pictures with text in them."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image, ImageDraw, ImageFont


def written(*lines: str, size: tuple[int, int] = (500, 200), paper: Any = "white", mode: str = "RGB") -> Image.Image:
    """Return a picture of black lines of text."""
    picture = Image.new(mode, size, paper)
    for number, line in enumerate(lines):
        ImageDraw.Draw(picture).text((25, 25 + 70 * number), line, fill="black", font=ImageFont.load_default(36))
    return picture


def as_bytes(picture: Image.Image, kind: str, **options: Any) -> bytes:
    """Encode a picture as a file."""
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()
