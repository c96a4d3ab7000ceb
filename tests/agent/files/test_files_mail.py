"""Mail: headers, both bodies, and attachments that are read by their own readers."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from agent.files.contents import FileProblem, ReadLimits
from support.contents import Open, named, text_of
from support.docx_bytes import docx_bytes, paragraph


def message(subject: str = "Grüße") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ann <ann@example.org>", "bob@example.org", subject
    mail["Date"] = "Mon, 01 Jan 2024 10:00:00 +0000"
    return mail


def test_headers_and_text(open_file: Open) -> None:
    mail = message()
    mail.set_content("Hello Bob,\nall is well: 5 €.")
    contents = open_file("eml", bytes(mail))
    assert text_of(contents) == (
        "From: Ann <ann@example.org>\nTo: bob@example.org\nDate: Mon, 01 Jan 2024 10:00:00 +0000\nSubject: Grüße\n\n"
        "Hello Bob,\nall is well: 5 €."
    )
    assert contents.summary == "Mail from Ann <ann@example.org>: “Grüße”."


@pytest.mark.parametrize(
    ("html", "shown"),
    [("<p>Hello Bob</p>", False), ("<p>Hello</p><table><tr><th>a</th></tr><tr><td>1</td></tr></table>", True)],
    ids=["the same", "with a table"],
)
def test_the_web_page_is_shown_where_it_says_more(open_file: Open, html: str, shown: bool) -> None:
    mail = message()
    mail.set_content("Hello Bob")
    mail.add_alternative(html, subtype="html")
    assert ("## The same as a web page" in text_of(open_file("eml", bytes(mail)))) is shown


def test_a_mail_of_html_alone(open_file: Open) -> None:
    mail = message()
    mail.set_content("<h1>News</h1><script>x()</script>", subtype="html")
    contents = open_file("eml", bytes(mail))
    assert "# News" in text_of(contents)
    assert "1 script" in contents.lost[0]


def test_attachments_are_read_by_their_own_readers_and_saved(open_file: Open, tmp_path: Path) -> None:
    mail = message()
    mail.set_content("see attached")
    mail.add_attachment(b"name,qty\nfig,3\npear,4\n", maintype="text", subtype="csv", filename="../../items.csv")
    document = docx_bytes(paragraph("a letter"))
    mail.add_attachment(document, maintype="application", subtype="octet-stream", filename="letter.docx")
    inner = message("Inner")
    inner.set_content("inner text")
    mail.add_attachment(inner)
    mail.add_attachment(b"\x00\x01\x02\xff" * 50, maintype="application", subtype="octet-stream", filename="noise.bin")
    contents = open_file("eml", bytes(mail))
    text = text_of(contents)
    for words in ("fig", "a letter", "Subject: Inner", "inner text"):
        assert words in text
    assert contents.summary.endswith("\n4 attachments: items.csv, letter.docx, attachment-3.eml, noise.bin.")
    assert {"attachment letter.docx", "letter.docx, text"} <= set(named(contents))
    assert "The attachment noise.bin was not read" in " ".join(contents.lost)
    folder = tmp_path / "out"
    folder.mkdir()
    paths = contents.save_data(folder)
    assert {path.parent for path in paths} == {folder}
    assert (folder / "letter.docx").read_bytes() == document


def test_mail_in_mail_ends_at_the_limit(open_file: Open) -> None:
    mail = message("level 0")
    mail.set_content("end")
    for depth in range(1, 6):
        outer = message(f"level {depth}")
        outer.set_content("more inside")
        outer.add_attachment(mail)
        mail = outer
    contents = open_file("eml", bytes(mail), limits=ReadLimits(depth=2))
    assert "level 3" in text_of(contents)
    assert "level 2" not in text_of(contents)
    assert any("files deep" in sentence for sentence in contents.lost)


def test_an_unknown_encoding_and_a_lying_one(open_file: Open) -> None:
    head = b"From: a@example.org\nSubject: x\nMIME-Version: 1.0\nContent-Type: text/plain; charset="
    assert "hello" in text_of(open_file("eml", head + b"klingon\n\nhello"))
    assert "hello" in text_of(open_file("eml", head + b"ascii\n\nhello \xff"))


def test_text_is_no_mail(open_file: Open) -> None:
    with pytest.raises(FileProblem) as caught:
        open_file("eml", b"Just a note.\n")
    assert caught.value.reason == "mismatch"


def test_an_attachment_whose_name_no_file_system_takes(open_file: Open, tmp_path: Path) -> None:
    mail = message()
    mail.set_content("see attached")
    mail.add_attachment(b"name,qty\nfig,3\n", maintype="text", subtype="csv", filename="表" * 90 + ".csv")
    contents = open_file("eml", bytes(mail))
    assert "fig" in text_of(contents)
    (path,) = contents.save_data(tmp_path)
    assert path.suffix == ".csv"
