"""Books: chapters in reading order, with their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.files.contents import FileProblem
from support.contents import Open
from support.docx_bytes import rewritten
from support.epub_bytes import epub_bytes

_LOCK = '<encryption><EncryptedData><EncryptionMethod Algorithm="{}"/></EncryptedData></encryption>'


def test_chapters_come_in_reading_order_with_their_names(open_file: Open) -> None:
    contents = open_file("epub", epub_bytes())
    assert [(section.name, section.text) for section in contents.sections()] == [
        ("chapter 1: The beginning", "It began.\n\n| x |\n| --- |\n| 1 |"),
        ("chapter 2: Ending", "# Ending\n\nIt **ended**."),
    ]
    assert contents.summary == "Book “The Book” by A. Uthor of 2 chapters.\nChapters: The beginning; Ending"
    assert contents.lost == ["1 comment omitted.", "The chapter OEBPS/gone.xhtml is missing."]


def test_a_picture_of_a_chapter_is_named_where_it_stands_and_saved(open_file: Open, tmp_path: Path) -> None:
    contents = open_file("epub", epub_bytes(picture=b"\x89PNG map"))
    assert list(contents.sections())[-1].text.endswith("[picture picture-1.png: A map]")
    assert [path.read_bytes() for path in contents.save_data(tmp_path)] == [b"\x89PNG map"]
    assert any("1 picture is named in the text" in lost for lost in contents.lost)


def test_copy_protection(open_file: Open) -> None:
    locked = _LOCK.format("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    with pytest.raises(FileProblem, match="copy-protected") as caught:
        open_file("epub", epub_bytes(encryption=locked))
    assert caught.value.reason == "encrypted"


def test_chapters_outside_the_reading_order_and_unread_members(open_file: Open) -> None:
    def changed(name: str, content: bytes) -> tuple[str, bytes]:
        return name, content.replace(b'idref="a"', b'idref="a" linear="no"').replace(b'<itemref idref="b"/>', b"")

    contents = open_file("epub", rewritten(epub_bytes(), changed))
    assert [section.name for section in contents.sections()] == ["chapter 1: Ending (outside the reading order)"]
    assert "Not read: OEBPS/b c.xhtml." in contents.lost
