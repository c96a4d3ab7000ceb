"""Pictures: what they say about themselves, and the text in them."""

from __future__ import annotations

import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agent.files.contents import FileProblem
from agent.files.media import engine_results, ocr
from support.contents import Open, named, text_of
from support.pictures import as_bytes, written


def test_text_size_and_colours(open_file: Open) -> None:
    contents = open_file("png", as_bytes(written("Invoice 4711", "Total 99.50"), "png"))
    assert text_of(contents) == "Invoice 4711\nTotal 99.50"
    assert named(contents)[0].startswith("text in the picture, read by OCR, with 99% confidence")
    assert contents.summary == "Picture of 500 x 200 pixels, RGB."


def test_columns_in_a_picture_stay_columns(open_file: Open) -> None:
    picture = written("Item", "Figs", size=(600, 200))
    picture.paste(written("Price", "7.25", size=(200, 200)), (400, 0))
    lines = text_of(open_file("png", as_bytes(picture, "png"))).splitlines()
    assert [line.split() for line in lines] == [["Item", "Price"], ["Figs", "7.25"]]
    assert abs(lines[0].index("Price") - lines[1].index("7.25")) <= 2


def test_where_and_when_a_photo_was_taken(open_file: Open) -> None:
    exif = Image.Exif()
    exif[0x010F], exif[0x0132] = "Camera Works", "2024:01:02 03:04:05"
    exif.get_ifd(0x8825).update({1: "S", 2: (48.0, 51.0, 30.0), 3: "W", 4: (2.0, 20.0, 0.0)})
    contents = open_file("jpeg", as_bytes(written("x"), "jpeg", exif=exif))
    assert "\nMake: Camera Works\n" in contents.summary
    assert "\nposition: latitude -48.858333, longitude -2.333333" in contents.summary
    assert "2024:01:02 03:04:05" in contents.summary


def test_a_photo_taken_sideways_is_turned(open_file: Open) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    sideways = written("Turn me").transpose(Image.Transpose.ROTATE_90)
    assert text_of(open_file("jpeg", as_bytes(sideways, "jpeg", exif=exif))) == "Turn me"


def test_each_page_of_a_scan_and_each_text_of_a_moving_picture(open_file: Open, tmp_path: Path) -> None:
    pages = [written(f"Page {n}") for n in (1, 2)]
    contents = open_file("tiff", as_bytes(pages[0], "tiff", save_all=True, append_images=pages[1:]))
    assert [section.text for section in contents.sections()] == ["Page 1", "Page 2"]
    frames = [written("Same", paper=paper).quantize() for paper in ("white", "#fdfdfd", "#f8f8f8")]
    moving = open_file("gif", as_bytes(frames[0], "gif", save_all=True, append_images=frames[1:], duration=100))
    assert [section.text for section in moving.sections()] == ["Same"]
    assert [path.name for path in moving.save_data(tmp_path)] == [f"file.frame-{n}.png" for n in (1, 2, 3)]


@pytest.mark.parametrize("mode", ["RGBA", "LA", "L", "1", "P", "CMYK", "I;16"])
def test_every_mode_is_read(open_file: Open, mode: str) -> None:
    """Black text on a transparent background stays readable."""
    if mode in ("RGBA", "LA"):
        picture = written("Clear", paper=(0, 0, 0, 0), mode="RGBA").convert(mode)
    elif mode == "I;16":
        picture = Image.fromarray(__import__("numpy").asarray(written("Clear").convert("L")).astype("uint16") * 200)
    else:
        picture = written("Clear").convert(mode)
    kind = "tiff" if mode in ("CMYK", "I;16") else "png"
    assert text_of(open_file(kind, as_bytes(picture, kind))) == "Clear"


def test_a_picture_that_unpacks_to_gigabytes(open_file: Open) -> None:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    bomb = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )
    with pytest.raises(FileProblem) as caught:
        open_file("png", bomb)
    assert caught.value.reason == "bomb"


def test_what_was_found_in_a_picture_before_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, dict[str, Any]] = {}

    def host(question: dict[str, Any]) -> dict[str, Any]:
        kept.update({question["keep"]: question["found"]} if "keep" in question else {})
        return {"found": kept.get(question.get("recall", ""))}

    monkeypatch.setattr(engine_results, "_ask", host)
    seen = ocr.text_in(written("TEA 3"))
    assert "TEA 3" in seen.text
    monkeypatch.setattr(ocr, "_engine", None)
    assert ocr.text_in(written("TEA 3")) == seen


def test_without_the_package_of_ocr_the_rest_is_told(open_file: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    ocr._engine.cache_clear()
    contents = open_file("png", as_bytes(written("x"), "png"))
    assert text_of(contents) == "(not read)"
    assert "the extra [ocr]" in contents.lost[-1]
    with pytest.raises(FileProblem, match="rapidocr is not installed"):
        ocr.text_in(written("x"))


@pytest.mark.parametrize(("kind", "form"), [("avif", "AVIF"), ("ico", "ICO"), ("jp2", "JPEG2000"), ("webp", "WEBP")])
def test_less_common_pictures_are_read(kind: str, form: str, open_file: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "_is_wanted", False)
    contents = open_file(kind, as_bytes(Image.new("RGB", (64, 64), "white"), form))
    assert contents.summary.startswith("Picture of 64 x 64 pixels")
