"""Pictures in the terminal, using the protocols of kitty (also for Ghostty) and iTerm2 (also for WezTerm), or sixel."""

from __future__ import annotations

import base64
import io
import itertools
from collections.abc import Mapping
from pathlib import Path

from mcp_tools.small_files import read_small

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_CHUNK = 4_096
_MOST_BYTES = 8_000_000
_SIXEL_COLOURS = 64
_MOST_PIXELS = 20_000_000
"""Maximum number of pixels, to reject small files that decompress to gigabytes."""
_COLUMN_PIXELS = 8
"""Assumed width of a column. Pictures wider than the terminal are scaled down."""


def picture_bytes(path: Path, environ: Mapping[str, str], columns: int) -> bytes:
    """Return the escape sequence that shows a PNG or JPEG file; empty if the terminal or the file is unsuitable."""
    try:
        data = read_small(path, _MOST_BYTES)
    except OSError:
        return b""
    if environ.get("TMUX") or environ.get("TERM", "").startswith(("screen", "tmux")):
        return b""
    program, term = environ.get("TERM_PROGRAM", ""), environ.get("TERM", "")
    if environ.get("KITTY_WINDOW_ID") or program == "ghostty" or term in {"xterm-kitty", "xterm-ghostty"}:
        return _kitty(data, columns) if data.startswith(_PNG) else b""
    if program in {"iTerm.app", "WezTerm"} and data.startswith((_PNG, _JPEG)):
        head = f"\x1b]1337;File=inline=1;size={len(data)};preserveAspectRatio=1:".encode()
        return head + base64.b64encode(data) + b"\x07\n"
    if term.startswith(("foot", "mlterm", "contour")) or "WT_SESSION" in environ:
        return _sixel(data, columns) if data.startswith((_PNG, _JPEG)) else b""
    return b""


def _sixel(data: bytes, columns: int) -> bytes:
    """Encode a picture as sixel: bands of six pixel rows, each with one run-length-encoded line per colour."""
    try:
        from PIL import Image

        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as opened:
            if opened.width * opened.height > _MOST_PIXELS:
                return b""
            opened.thumbnail((columns * _COLUMN_PIXELS, 4 * columns * _COLUMN_PIXELS))
            picture = opened.convert("RGB").quantize(_SIXEL_COLOURS)
    except Exception:  # noqa: BLE001 - a file that somebody made may raise anything; it is not shown then
        return b""
    palette, (width, height), pixels = picture.getpalette() or [], picture.size, picture.tobytes()
    parts = [f'\x1bPq"1;1;{width};{height}']
    for number in range(len(palette) // 3):
        red, green, blue = (round(part * 100 / 255) for part in palette[3 * number : 3 * number + 3])
        parts.append(f"#{number};2;{red};{green};{blue}")
    for top in range(0, height, 6):
        rows = [pixels[y * width : (y + 1) * width] for y in range(top, min(top + 6, height))]
        for colour in sorted(set().union(*rows)):
            marks = (sum(1 << y for y, row in enumerate(rows) if row[x] == colour) for x in range(width))
            runs = ((chr(63 + mark), len([*same])) for mark, same in itertools.groupby(marks))
            parts.append(f"#{colour}" + "".join(f"!{many}{mark}" if many > 3 else mark * many for mark, many in runs))
            parts.append("$")
        parts.append("-")
    return "".join([*parts, "\x1b\\\n"]).encode()


def _kitty(png: bytes, columns: int) -> bytes:
    packed, width = base64.b64encode(png), int.from_bytes(png[16:20], "big")
    scaled = f",c={columns}" if width > columns * _COLUMN_PIXELS else ""
    shown, first = b"", f"a=T,f=100,q=2{scaled},"
    for start in range(0, len(packed), _CHUNK):
        more = int(start + _CHUNK < len(packed))
        shown += f"\x1b_G{first}m={more};".encode() + packed[start : start + _CHUNK] + b"\x1b\\"
        first = ""
    return shown + b"\n"
