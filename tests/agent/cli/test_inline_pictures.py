"""Pictures in the terminal: files of programs, which may be anything."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from agent.cli.inline_pictures import picture_bytes


def png(width: int, height: int, data: bytes) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", data), (b"IEND", b""))
    packed = b""
    for kind, part in parts:
        packed += struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part))
    return b"\x89PNG\r\n\x1a\n" + packed


@pytest.mark.parametrize(
    ("content", "is_shown"),
    [
        (png(10, 10, zlib.compress(bytes(310))), True),
        (png(9_000, 9_000, zlib.compress(bytes(1_000_000))), False),
        (png(10, 10, b"\xff" * 40), False),
        (png(10, 10, b"")[:40] + b"\xff" * 40, False),
    ],
    ids=["usual", "large", "damaged", "broken"],
)
def test_only_pictures_of_usual_size_are_unpacked(tmp_path: Path, content: bytes, is_shown: bool) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(content)
    assert bool(picture_bytes(path, {"TERM": "foot"}, 80)) is is_shown
