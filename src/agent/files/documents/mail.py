"""Reader of mail and mailboxes: headers, text, and attachments, each with the reader for its kind."""

from __future__ import annotations

import codecs
import re
import tempfile
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from itertools import islice
from pathlib import Path
from typing import Any

from agent.files.contents import (
    Contents,
    FileProblem,
    ReadLimits,
    Section,
    Source,
    TextContents,
    first_of,
    in_sections,
    short_name,
    too_large,
)
from agent.files.detection import kind_of
from agent.files.documents.html import HtmlPage
from agent.files.encoding import decoded
from agent.files.kinds import open_nested
from mcp_tools.text import one_line

_HEADERS = (
    *("From", "Sender", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject", "Message-ID", "In-Reply-To", "References"),
    *("List-Id", "Importance", "Resent-From", "Resent-To", "Resent-Date", "Comments", "Keywords"),
)
_MOST_SECTIONS = 200
_MOST_MAILS = 1000
_START = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From \S[^\n]*\d{4}[^\n]*\n")
"""The line before each mail in a mailbox."""
_SUFFIXES = {"message/rfc822": ".eml", "text/html": ".html", "text/plain": ".txt", "text/calendar": ".ics"}
_PLAIN = ("ascii", "iso8859-1", "cp1252")
"""Encodings that programs often declare wrongly."""


def open_mail(source: Source, limits: ReadLimits) -> Contents:
    """Read a message with its attachments, or a mailbox."""
    if source.path.stat().st_size > limits.unpacked:
        raise too_large(source.name, limits)
    content = source.path.read_bytes()
    if source.kind == "mbox":
        return _read_mailbox(source, content, limits)
    mail = _Mail(source, content, limits)
    summary = f"Mail from {mail.headers.get('From', 'nobody')}: “{mail.headers.get('Subject', '')}”.{mail.attached()}"
    return TextContents("eml", summary, mail.sections, lost=mail.lost, data=mail.data)


def _read_mailbox(source: Source, content: bytes, limits: ReadLimits) -> Contents:
    mails = [re.sub(rb"(?m)^>(>*From )", rb"\1", one) for one in _START.split(content) if one.strip()]
    sections, lost, data = list[Section](), list[str](), dict[str, bytes]()
    for number, one in enumerate(mails[:_MOST_MAILS], 1):
        try:
            mail = _Mail(source, one, limits, data)
        except FileProblem as problem:
            lost.append(f"Mail {number}: {problem.message}")
            continue
        sections += [Section(f"mail {number}, {section.name}", section.text) for section in mail.sections]
        lost += [f"Mail {number}: {sentence}" for sentence in mail.lost]
    if len(mails) > _MOST_MAILS:
        lost.append(f"Only the first {_MOST_MAILS:,} mails are shown.")
    if not sections:
        raise FileProblem("mismatch", f"{source.name} is not a mailbox: it contains no mail.")
    return TextContents("mbox", f"Mailbox of {len(mails)} mails.", sections, lost=lost, data=data)


class _Mail:
    """A message. Its attachments are added to `data`."""

    def __init__(
        self, source: Source, content: bytes, limits: ReadLimits, data: dict[str, bytes] | None = None
    ) -> None:
        message = BytesParser(policy=policy.default).parsebytes(content)
        self.headers = {name: text for name in _HEADERS if (text := _header(message, name))}
        if not self.headers and "mime-version" not in message:
            raise FileProblem("mismatch", f"{source.name} is not an email: it has no mail headers.")
        self.lost: list[str] = []
        self.data = {} if data is None else data
        plain, html = bodies = [message.get_body((kind,)) for kind in ("plain", "html")]
        shown = "\n".join(f"{name}: {value}" for name, value in self.headers.items())
        self.sections = in_sections([shown, *_body(plain, html, self.lost)], limits.section, "message")
        self._names: list[str] = []
        for part in islice(_attached(message, bodies), limits.members):
            name = _name(part, self.data)
            self._names.append(name)
            self.data[name] = _bytes(part)
            kind = "eml" if part.get_content_type() == "message/rfc822" else ""
            if described := one_line(str(part.get("Content-Description", "")), 300):
                self.sections.append(Section(f"attachment {name}, description", described))
            self.sections += _read(name, kind, self.data[name], source.depth + 1, limits, self.lost)
        self.lost += _left_out(message)

    def attached(self) -> str:
        """Return a line with the names of the attachments; empty if there are none."""
        return f"\n{len(self._names)} attachments: {', '.join(self._names)}." if self._names else ""


def _header(message: EmailMessage, name: str) -> str:
    """Return all values of a header. Raw bytes, and values that the parser rejects, are decoded as text."""
    values = []
    for given, raw in message.raw_items():
        if given.lower() == name.lower():
            held = str(raw).encode("utf-8", "surrogateescape")
            try:
                value = str(policy.default.header_fetch_parse(given, raw)) if held.isascii() else decoded(held)
            except Exception:  # noqa: BLE001 - the parser of the library fails on some malformed values
                value = decoded(held)
            values.append(one_line(value, 1000))
    return ", ".join(values)


def _left_out(message: EmailMessage) -> list[str]:
    """Return sentences about hidden headers, text between the parts, and faults in the structure."""
    shown = {name.lower() for name in _HEADERS} | {"mime-version", "content-type", "content-transfer-encoding"}
    lost = []
    if others := dict.fromkeys(name for name in message.keys() if name.lower() not in shown):  # noqa: SIM118
        lost.append(f"Headers that are not shown: {first_of(list(others))}.")
    parts = [part for part in message.walk() if part is message or not _is_nested(part)]
    for text in (text for part in parts for text in (part.preamble, part.epilogue)):
        if text and text.strip() and "mime" not in text.lower():
            lost.append(f"Outside the parts of the mail: {one_line(text, 500)}")
    if faults := dict.fromkeys(type(one).__name__.removesuffix("Defect") for part in parts for one in part.defects):
        lost.append(f"The mail is not well-formed, and something may be missing: {', '.join(faults)}.")
    return lost


def _is_nested(part: Any) -> bool:
    return bool(part.get_content_maintype() == "message")


def _body(plain: MIMEPart | None, html: MIMEPart | None, lost: list[str]) -> Iterator[str]:
    """Return the plain text, and the HTML text if it has other words or a table."""
    text = "" if plain is None else _part_text(plain, lost).strip()
    yield text
    if html is None:
        return
    page = HtmlPage(_part_text(html, lost))
    if not text:
        lost += page.lost
        yield page.markdown
    elif set(re.findall(r"\w+", page.markdown)) - set(re.findall(r"\w+", text)) or "|" in page.markdown:
        lost += page.lost
        yield f"## The same as a web page\n\n{page.markdown}"


def _attached(message: Any, bodies: list[MIMEPart | None]) -> Iterator[EmailMessage]:
    """Return all parts except the text of the message, including a multipart without parts."""
    if message.get_content_maintype() == "multipart" and message.is_multipart():
        for part in message.iter_parts():
            yield from _attached(part, bodies)
    elif not any(message is body for body in bodies):
        yield message


def _read(name: str, kind: str, content: bytes, depth: int, limits: ReadLimits, lost: list[str]) -> list[Section]:
    if depth > limits.depth:
        lost.append(f"{name} was not read: it is nested {limits.depth} files deep.")
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            source = Source(path, kind or kind_of(path), name, depth)
            with open_nested(source, limits, lost) as opened:
                read = list(islice(opened.sections(), _MOST_SECTIONS + 1))
        except FileProblem as problem:
            lost.append(f"The attachment {name} was not read: {problem.message}")
            return []
    if len(read) > _MOST_SECTIONS:
        lost.append(f"Only the first {_MOST_SECTIONS} sections of the attachment {name} are shown.")
    shown = [Section(f"{name}, {one.name}", one.text) for one in read[:_MOST_SECTIONS]]
    return [Section(f"attachment {name}", opened.summary), *shown]


def _name(part: EmailMessage, taken: dict[str, bytes]) -> str:
    """Return a unique file name for a part, without unsafe characters."""
    given = (part.get_filename() or "").replace("\\", "/").rpartition("/")[2]
    suffix = _SUFFIXES.get(part.get_content_type(), "")
    name = short_name(one_line(given, 100).replace("\0", "").strip(". ")) or f"attachment-{len(taken) + 1}{suffix}"
    while name in taken:
        name = f"{len(taken) + 1}-{name}"
    return name


def _bytes(part: MIMEPart) -> bytes:
    if part.get_content_maintype() == "message":
        return b"".join(inner.as_bytes() for inner in part.iter_parts())
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _part_text(part: MIMEPart, lost: list[str]) -> str:
    """Return the text of a part, even if its declared encoding is wrong. Lines of `format=flowed` are joined."""
    content = _bytes(part)
    declared = str(part.get_content_charset("ascii"))
    try:
        name = codecs.lookup(declared).name
        if name in _PLAIN and not content.isascii():
            name = "utf-8" if _is_utf_8(content) else name
        text = content.decode(name)
        if name != codecs.lookup(declared).name:
            lost.append(f"The text is encoded as {name}, not as {declared}.")
    except (LookupError, UnicodeError):
        text = decoded(content)
        if not content.isascii():
            lost.append(f"The text is not encoded as {declared}; its encoding was detected.")
    text = text.replace("\r\n", "\n")
    flowed = str(part.get_param("format", "")).lower() == "flowed"
    return _unflowed(text, delete=str(part.get_param("delsp", "")).lower() == "yes") if flowed else text


def _is_utf_8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _unflowed(text: str, *, delete: bool) -> str:
    """Join each line that ends with a space to the next line of the same quotation. `delete` removes the space."""
    lines: list[tuple[str, str]] = []
    is_open = False
    for given in text.split("\n"):
        rest = given.lstrip(">")
        depth = given[: len(given) - len(rest)]
        rest = rest.removeprefix(" ")
        if is_open and lines[-1][0] == depth and rest != "-- ":
            before = lines[-1][1]
            lines[-1] = (depth, (before.removesuffix(" ") if delete else before) + rest)
        else:
            lines.append((depth, rest))
        is_open = rest.endswith(" ") and rest != "-- "
    return "\n".join(f"{depth} {line}" if depth else line for depth, line in lines)
