"""Documents, books, mail and pictures that are empty, cut, damaged, locked, of another kind, or bombs."""

from __future__ import annotations

import io
import sys
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pptx import Presentation

from agent.files.contents import FileProblem, ReadLimits, Source, open_contents
from support.contents import Open, text_of
from support.docx_bytes import docx_bytes, paragraph
from support.epub_bytes import epub_bytes
from support.pdf_bytes import PdfBytes
from support.pictures import as_bytes, written

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
NOISE = bytes((n * 97 + n // 7) % 256 for n in range(4000))
ZIPPED = ("docx", "pptx", "epub")
PICTURES = ("png", "jpeg", "gif", "webp", "bmp", "tiff")


def pptx_bytes() -> bytes:
    out = io.BytesIO()
    show = Presentation()
    show.slides.add_slide(show.slide_layouts[0]).shapes.title.text = "Hello"
    show.save(out)
    return out.getvalue()


def mail_bytes() -> bytes:
    mail = EmailMessage()
    mail["From"], mail["Subject"] = "ann@example.org", "x"
    mail.set_content("hello " * 50)
    return bytes(mail)


def whole(kind: str) -> bytes:
    if kind in PICTURES:
        return as_bytes(written("x", size=(90, 90)), kind)
    made = {"docx": lambda: docx_bytes(paragraph("hello")), "pptx": pptx_bytes, "epub": epub_bytes, "eml": mail_bytes}
    return made.get(kind, PdfBytes().page([(72, 700, "hello")]).make)()


def problem(open_file: Open, kind: str, content: bytes, **more: object) -> FileProblem:
    with pytest.raises(FileProblem) as caught:
        text_of(open_file(kind, content, name="given.dat", **more))
    assert "given.dat" in caught.value.message
    assert caught.value.message.endswith((".", "!")) or caught.value.remedy
    return caught.value


@pytest.mark.parametrize("kind", [*ZIPPED, *PICTURES])
def test_cut_in_the_middle(open_file: Open, kind: str) -> None:
    content = whole(kind)
    found = problem(open_file, kind, content[: len(content) // 2])
    assert found.reason in ("truncated", "damaged")
    assert found.remedy


@pytest.mark.parametrize("kind", ["pdf", *ZIPPED, "eml", *PICTURES])
def test_noise(open_file: Open, kind: str) -> None:
    assert problem(open_file, kind, NOISE).reason in ("damaged", "mismatch", "truncated")


@pytest.mark.parametrize("kind", ["pdf", *ZIPPED, *PICTURES])
@pytest.mark.parametrize("content", [b"plain words\n" * 50, b"\x89PNG\r\n\x1a\n" + NOISE, b"PK\x03\x04" + NOISE],
                         ids=["text", "png", "zip"])  # fmt: skip
def test_what_its_name_does_not_say(open_file: Open, kind: str, content: bytes) -> None:
    assert problem(open_file, kind, content).reason in ("mismatch", "damaged", "truncated")


@pytest.mark.parametrize("kind", ["docx", "pptx"])
def test_locked_by_a_password(open_file: Open, kind: str) -> None:
    """Office puts a locked document into a container of the old format."""
    found = problem(open_file, kind, OLE)
    assert found.reason == "encrypted"
    assert "password" in found.remedy


@pytest.mark.parametrize("kind", ZIPPED)
def test_encrypted_members(open_file: Open, kind: str) -> None:
    content = bytearray(whole(kind))
    at = content.index(b"PK\x01\x02")
    content[at + 8] |= 1
    assert problem(open_file, kind, bytes(content)).reason == "encrypted"


@pytest.mark.parametrize("kind", ZIPPED)
def test_bombs(open_file: Open, kind: str) -> None:
    """Sizes are taken from the directory: nothing is unpacked."""
    out = io.BytesIO(whole(kind))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("filler.xml", b" " * (8 << 20))
    found = problem(open_file, kind, out.getvalue(), limits=ReadLimits(unpacked=4 << 20))
    assert found.reason == "bomb"
    assert problem(open_file, kind, whole(kind), limits=ReadLimits(members=2)).reason == "bomb"


@pytest.mark.parametrize("kind", ZIPPED)
def test_a_member_whose_content_was_altered(open_file: Open, kind: str) -> None:
    content = whole(kind)
    main = {"docx": "word/document.xml", "pptx": "ppt/presentation.xml", "epub": "OEBPS/c.opf"}[kind]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        at = archive.getinfo(main).header_offset + 30 + len(main)
    altered = content[: at + 5] + bytes(byte ^ 0x5A for byte in content[at + 5 : at + 60]) + content[at + 60 :]
    assert problem(open_file, kind, altered).reason == "damaged"


@pytest.mark.parametrize("kind", ["pdf", *ZIPPED, "html", "eml"])
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_altered_file_is_read_or_refused(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    """A few bytes changed anywhere: text or a problem comes out, never another error."""
    content = bytearray(b"<table><td>a<ul><li>b</table>" if kind == "html" else whole(kind))
    for place, byte in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=8)
    ):
        content[place] = byte
    path = tmp_path / f"altered.{kind}"
    path.write_bytes(content)
    try:
        contents = open_contents(Source(path, kind), ReadLimits())
        text_of(contents)
        contents.close()
    except FileProblem:
        pass


def test_a_missing_package_is_named_with_the_command(open_file: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "agent.files.documents.pdf", raising=False)
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(FileProblem, match=r"pypdfium2 is not installed(?s:.*)the extra \[files\]"):
        open_file("pdf", whole("pdf"))
