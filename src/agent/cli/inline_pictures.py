"""Pictures in the terminal: the protocols of kitty (also Ghostty) and iTerm2 (also WezTerm)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path

from mcp_tools.small_files import read_small

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
_CHUNK = 4_096
_MOST_BYTES = 8_000_000
_COLUMN_PIXELS = 8
"""Assumed width of a column; a wider picture is scaled to the terminal."""


def picture_bytes(path: Path, environ: Mapping[str, str], columns: int) -> bytes:
    """Return what shows a PNG or JPEG file in the terminal; empty if the terminal or the file does not allow that."""
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
    return b""


def _kitty(png: bytes, columns: int) -> bytes:
    packed, width = base64.b64encode(png), int.from_bytes(png[16:20], "big")
    scaled = f",c={columns}" if width > columns * _COLUMN_PIXELS else ""
    shown, first = b"", f"a=T,f=100,q=2{scaled},"
    for start in range(0, len(packed), _CHUNK):
        more = int(start + _CHUNK < len(packed))
        shown += f"\x1b_G{first}m={more};".encode() + packed[start : start + _CHUNK] + b"\x1b\\"
        first = ""
    return shown + b"\n"
