# ruff: noqa: E501 - XML is easier to read on one line
"""Documents, books, mail and pictures that are empty, cut, damaged, locked, of another kind, or bombs."""

from __future__ import annotations

import asyncio
import io
import json
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest
from pptx import Presentation

from agent.files.contents import FileProblem, ReadLimits
from agent.files.reader_process import read_in_process
from support.contents import Open, text_of
from support.docx_bytes import docx_bytes, paragraph
from support.epub_bytes import epub_bytes
from support.odf_bytes import PAGE, frame, odf
from support.pdf_bytes import PdfBytes
from support.pictures import as_bytes, written

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
NOISE = bytes((n * 97 + n // 7) % 256 for n in range(4000))
OPEN = ("odt", "ods", "odp")
ZIPPED = ("docx", "pptx", "epub", *OPEN)
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


def open_document(kind: str) -> bytes:
    """A small document, written by another library."""
    cell = "<table:table-cell office:value-type='string'><text:p>hello</text:p></table:table-cell>"
    sheet = f"<table:table table:name='S'><table:table-row>{cell}</table:table-row></table:table>"
    return odf(kind, {"odt": "<text:p>hello</text:p>" + sheet, "ods": sheet}.get(kind, PAGE.format(frame(sheet))))


def whole(kind: str) -> bytes:
    if kind in OPEN:
        return open_document(kind)
    if kind in PICTURES:
        return as_bytes(written("x", size=(90, 90)), kind)
    if kind == "mbox":
        return b"From ann@example.org Mon Jan  5 10:00:00 2026\n" + mail_bytes() + b"\n"
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


@pytest.mark.parametrize("kind", ["pdf", *ZIPPED, "eml", "mbox", *PICTURES])
def test_noise(open_file: Open, kind: str) -> None:
    assert problem(open_file, kind, NOISE).reason in ("damaged", "mismatch", "truncated")


@pytest.mark.parametrize("kind", ["docx", "pptx", *OPEN])
def test_locked_by_a_password(open_file: Open, kind: str) -> None:
    """Office stores a locked document in an OLE container."""
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
    """Sizes come from the directory, so nothing is unpacked."""
    out = io.BytesIO(whole(kind))
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("filler.xml", b" " * (8 << 20))
    found = problem(open_file, kind, out.getvalue(), limits=ReadLimits(unpacked=4 << 20))
    assert found.reason == "bomb"
    assert problem(open_file, kind, whole(kind), limits=ReadLimits(members=2)).reason == "bomb"


@pytest.mark.parametrize("kind", ZIPPED)
def test_a_member_whose_content_was_altered(open_file: Open, kind: str) -> None:
    content = whole(kind)
    main = {"docx": "word/document.xml", "pptx": "ppt/presentation.xml", "epub": "OEBPS/c.opf"}.get(kind, "content.xml")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        at = archive.getinfo(main).header_offset + 30 + len(main)
    altered = content[: at + 5] + bytes(byte ^ 0x5A for byte in content[at + 5 : at + 60]) + content[at + 60 :]
    assert problem(open_file, kind, altered).reason == "damaged"


def nested_mail(depth: int, kind: str) -> bytes:
    mail = b"From: ann@example.org\nSubject: x\n\nhello\n"
    for level in range(depth):
        head = b"From: ann@example.org\nContent-Type: " + kind.encode()
        body = f"--b{level}\n".encode() + mail + f"\n--b{level}--\n".encode() if "multipart" in kind else mail
        mail = head + (f"; boundary=b{level}\n\n".encode() if "multipart" in kind else b"\n\n") + body
    return mail


def deep(tag: str, inner: str, depth: int = 20_000) -> str:
    return f"<{tag}>" * depth + inner + f"</{tag}>" * depth


def outcome(read: Callable[[], str]) -> str:
    """The text, or the problem with its remedy."""
    try:
        return read()
    except FileProblem as problem:
        return f"{problem.message} {problem.remedy}"


DEEP = {
    "docx": ("docx", lambda: docx_bytes(deep("w:sdt", paragraph("hello")))),
    "docx-tables": ("docx", lambda: docx_bytes("<w:tbl><w:tr><w:tc>" * 60 + paragraph("hello") + "</w:tc></w:tr></w:tbl>" * 60)),
    "odt": ("odt", lambda: odf("odt", deep("text:section", "<text:p>hello</text:p>"))),
    "odt-lists": ("odt", lambda: odf("odt", deep("text:list", "<text:p>hello</text:p>", 200))),
    "odp": ("odp", lambda: odf("odp", PAGE.format(deep("draw:g", "<draw:rect/>")))),
    "ods": ("ods", lambda: odf("ods", deep("table:table", "x"))),
    "mail in mails": ("eml", lambda: nested_mail(300, "message/rfc822")),
    "parts in parts": ("eml", lambda: nested_mail(100, "multipart/mixed")),
    "a mailbox of them": ("mbox", lambda: b"From a Mon Jan  5 10:00:00 2026\n" + nested_mail(300, "multipart/mixed")),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "make"), DEEP.values(), ids=DEEP.keys())
def test_deep_nesting_ends_in_text_or_a_problem(open_file: Open, kind: str, make: Callable[[], bytes]) -> None:
    said = outcome(lambda: text_of(open_file(kind, make(), name="given.dat")))
    assert "nested too deeply" in said or "hello" in said
    assert "Error" not in said


ROW = "<table:table-row table:number-rows-repeated='{0}'><table:table-cell table:number-columns-repeated='{0}' office:value-type='string'><text:p>hello</text:p></table:table-cell></table:table-row>"
LARGE = {
    "odt-table": ("odt", lambda: odf("odt", f"<table:table>{ROW.format(1 << 30)}</table:table>")),
    "ods-rows": ("ods", lambda: odf("ods", f"<table:table table:name='S'>{ROW.format(1 << 20)}</table:table>")),
    "eml-header": ("eml", lambda: b"From: a\nSubject: " + b"hello " * 500_000 + b"\n\nhello"),
    "mbox-many": ("mbox", lambda: b"From a Mon Jan  5 10:00:00 2026\nSubject: x\n\nhello\n\n" * 5_000),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "make"), LARGE.values(), ids=LARGE.keys())
def test_counts_that_are_too_large_stay_within_bounds(tmp_path: Path, kind: str, make: Callable[[], bytes]) -> None:
    path = tmp_path / f"given.{kind}"
    path.write_bytes(make())
    request = {"do": "preview", "path": str(path), "name": "given.dat", "kind": kind, "folder": ""}
    limits = ReadLimits(seconds=60, memory=600 << 20)
    said = outcome(lambda: json.dumps(asyncio.run(read_in_process(request, limits))))
    assert "given.dat" in said or "hello" in said
    assert len(said) < 40_000
