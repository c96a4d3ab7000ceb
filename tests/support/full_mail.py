# ruff: noqa: E501 - parts of a mail are easier to read on one line
"""A mail with a marker text, `MARKER` and the name of the place, in each place that may hold text."""

from __future__ import annotations

from email.message import EmailMessage

_CALENDAR = (
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:MARKERevent\nDESCRIPTION:MARKERdescription\nEND:VEVENT\nEND:VCALENDAR\n"
)
_REPORT = b"--r\nContent-Type: text/plain\n\nMARKERreport\n--r\nContent-Type: message/delivery-status\n\nFinal-Recipient: MARKERrecipient\n--r--\n"


def full_eml() -> bytes:
    mail = EmailMessage()
    for name in ("From", "To", "Cc", "Bcc", "Reply-To", "Sender"):
        mail[name] = f"MARKER{name.lower().replace('-', '')}name <MARKER{name.lower().replace('-', '')}@example.org>"
    mail["Subject"], mail["Message-ID"], mail["In-Reply-To"] = "MARKERsubject", "<MARKERid@a>", "<MARKERinreply@a>"
    mail["References"], mail["List-Id"] = "<MARKERreference@a>", "<MARKERlist>"
    mail["X-Note"], mail["Comments"], mail["Keywords"] = "MARKERxnote", "MARKERcomments", "MARKERkeywords"
    mail["Received"], mail["Return-Path"] = "from MARKERhop by x", "<MARKERreturn@a>"
    mail.set_content("MARKERplain")
    mail.add_alternative(
        "<p title='MARKERhtmltitle'>MARKERhtml<img src='cid:MARKERcid' alt='MARKERalt'></p>", subtype="html"
    )
    inner = EmailMessage()
    inner["From"], inner["Subject"] = "a@example.org", "MARKERinnersubject"
    inner.set_content("MARKERinner")
    inner.add_attachment("MARKERdeep", filename="MARKERdeepname.txt")
    mail.add_attachment(inner)
    mail.add_attachment("MARKERattached", filename="MARKERname.txt")
    mail.add_attachment(_CALENDAR, subtype="calendar", filename="a.ics")
    mail.add_attachment("<p>MARKERpage</p>", subtype="html", filename="a.html")
    mail.add_attachment(b"\1\2MARKERbinary", maintype="application", subtype="octet-stream", filename="a.bin")
    described = list(mail.iter_attachments())[1]
    described["Content-Description"] = "MARKERcontentdescription"
    mail.preamble, mail.epilogue = "MARKERpreamble", "MARKERepilogue"
    return bytes(mail)


def full_mbox() -> bytes:
    report = b"From: d@example.org\nSubject: MARKERbounce\nContent-Type: multipart/report; boundary=r\n\n" + _REPORT
    return b"".join(b"From a Mon Jan  5 10:00:00 2026\n" + one + b"\n\n" for one in (full_eml(), report))
