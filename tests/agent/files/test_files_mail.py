# ruff: noqa: E501 - mails are easier to read on one line
"""Mail: headers, plain and HTML text, and attachments."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from agent.files.contents import ReadLimits
from agent.files.detection import kind_of
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


HEAD = b"From: a@example.org\nTo: b@example.org\nSubject: x\nMIME-Version: 1.0\n"
MIXED = HEAD + b"Content-Type: multipart/mixed; boundary=B\n\n"
PLAIN = HEAD + b"Content-Type: text/plain; charset="
MAILS = {
    "text": (PLAIN + b"utf-8\n\nM\xc3\x84RKER", "MÄRKER"),
    "UTF-8 called Latin 1": (PLAIN + b"iso-8859-1\n\nM\xc3\x84RKER", "MÄRKER"),
    "UTF-8 without a charset": (HEAD + b"\nM\xc3\x84RKER", "MÄRKER"),
    "Windows-1252 called UTF-8": (PLAIN + b"utf-8\n\nM\xc4RKER is a word \x80", "MÄRKER"),
    "a raw header": (b"From: a@example.org\nSubject: M\xc3\x84RKER\n\nx", "Subject: MÄRKER"),
    "an encoded header": (b"From: a@example.org\nSubject: =?utf-8?q?M=C3=84RKER?=\n\nx", "Subject: MÄRKER"),
    "a header twice": (b"From: a@example.org\nTo: b@example.org\nTo: MARKER@example.org\n\nx", "MARKER"),
    "another header": (HEAD + b"X-Marker: 1\n\nx", "X-Marker"),
    "a malformed id": (b"From: a@example.org\nMessage-ID: <MARKER@[\n\nx", "MARKER"),
    "broken quoted-printable": (HEAD + b"Content-Transfer-Encoding: quoted-printable\n\nMA=\nRKER =ZZ =", "MARKER =ZZ"),
    "broken base64": (HEAD + b"Content-Transfer-Encoding: base64\n\nTUFSS0VS*Cg", "MARKER"),
    "flowed lines": (PLAIN + b"utf-8; format=flowed\n\nlong \nMARKER\n> a \n> b\nc", "long MARKER\n> a b\nc"),
    "flowed without spaces": (PLAIN + b"utf-8; format=flowed; delsp=yes\n\nMAR \nKER", "MARKER"),
    "a body of another kind": (HEAD + b"Content-Type: text/csv\n\nname,qty\nMARKER,2\n", "MARKER"),
    "no boundary": (HEAD + b"Content-Type: multipart/mixed\n\nMARKER", "MARKER"),
    "no such boundary": (MIXED + b"--C\n\nMARKER\n--C--", "MARKER"),
    "before the parts": (MIXED + b"MARKER\n--B\n\nx\n--B--", "MARKER"),
    "after the parts": (MIXED + b"--B\n\nx\n--B--\nMARKER", "MARKER"),
    "a second text": (MIXED + b"--B\n\nx\n--B\n\nMARKER\n--B--", "MARKER"),
    "a part that is cut off": (MIXED + b"--B\n\nx\n--B\n\nMARKER", "MARKER"),
    "a calendar": (MIXED + b"--B\n\nx\n--B\nContent-Type: text/calendar\n\nBEGIN:VCALENDAR\nSUMMARY:MARKER\n--B--", "MARKER"),
    "a nested mail with one header": (MIXED + b"--B\nContent-Type: message/rfc822\n\nSubject: MARKER\n\nx\n--B--", "MARKER"),
    "a report of delivery": (MIXED + b"--B\nContent-Type: message/delivery-status\n\nReporting-MTA: MARKER\n\n--B--", "MARKER"),
    "other words in HTML": (
        MIXED.replace(b"mixed", b"alternative") + b"--B\n\nsee it online\n--B\nContent-Type: text/html\n\n<p>see MARKER now</p>\n--B--",
        "MARKER",
    ),
    "HTML with an empty text": (
        MIXED.replace(b"mixed", b"alternative") + b"--B\n\n \n--B\nContent-Type: text/html\n\n<p>MARKER</p>\n--B--",
        "MARKER",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "shown"), MAILS.values(), ids=MAILS.keys())
def test_no_part_of_a_mail_vanishes(open_file: Open, content: bytes, shown: str) -> None:
    contents = open_file("eml", content)
    assert shown in "\n".join([text_of(contents), *contents.lost])


def test_a_mailbox_shows_each_mail(open_file: Open, tmp_path: Path) -> None:
    start = b"From ann@example.org Mon Jan  1 10:00:00 2024\n"
    content = start + HEAD + b"\none\n\n>From here on\n\n" + start + MIXED + b"--B\n\ntwo\n--B--\n"
    path = tmp_path / "mail"
    path.write_bytes(content)
    assert kind_of(path) == "mbox"
    contents = open_file("mbox", path)
    assert named(contents) == ["mail 1, message", "mail 2, message"]
    assert "\nFrom here on" in text_of(contents)
    assert "two" in text_of(contents)
