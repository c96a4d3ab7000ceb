"""Mail: headers, texts, and attachments, which are read by the reader for their kind."""

from __future__ import annotations

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
    in_sections,
    open_nested,
    short_name,
    too_large,
)
from agent.files.documents.html import HtmlPage
from agent.files.kinds import kind_of
from mcp_tools.text import one_line

_HEADERS = ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject", "Message-ID", "In-Reply-To")
_MOST_SECTIONS = 200


def open_mail(source: Source, limits: ReadLimits) -> Contents:
    """Reads a message with its attachments."""
    if source.path.stat().st_size > limits.unpacked:
        raise too_large(source.name, limits)
    with source.path.open("rb") as file:
        message = BytesParser(policy=policy.default).parse(file)
    headers = {name: one_line(str(message[name]), 1000) for name in _HEADERS if message[name]}
    if not headers:
        raise FileProblem("mismatch", f"{source.name} is not a mail: it has no mail headers.")
    lost: list[str] = []
    plain, html = bodies = [message.get_body((kind,)) for kind in ("plain", "html")]
    shown = "\n".join(f"{name}: {value}" for name, value in headers.items())
    sections = in_sections([shown, *_body(plain, html, lost)], limits.section, "message")
    data: dict[str, bytes] = {}
    for part in islice(_attached(message, bodies), limits.members):
        name = _name(part, data)
        data[name] = _bytes(part)
        sections += _read(name, data[name], source.depth + 1, limits, lost)
    attached = f"\n{len(data)} attachments: {', '.join(data)}." if data else ""
    summary = f"Mail from {headers.get('From', 'nobody')}: “{headers.get('Subject', '')}”.{attached}"
    return TextContents("eml", summary, sections, lost=lost, data=data)


def _body(plain: MIMEPart | None, html: MIMEPart | None, lost: list[str]) -> Iterator[str]:
    """The plain text, and the HTML if there is no plain text or the HTML says more."""
    if plain is not None:
        yield _text(plain).strip()
    if html is None:
        return
    page = HtmlPage(_text(html))
    if plain is None:
        lost += page.lost
        yield page.markdown
    elif len(re.findall(r"\w+", page.markdown)) > len(re.findall(r"\w+", _text(plain))) or "|" in page.markdown:
        yield f"## The same as a web page\n\n{page.markdown}"


def _attached(message: Any, bodies: list[MIMEPart | None]) -> Iterator[EmailMessage]:
    """The parts that are not the text of the message."""
    for part in message.iter_parts():
        if part.get_content_maintype() == "multipart":
            yield from _attached(part, bodies)
        elif part not in bodies:
            yield part


def _read(name: str, content: bytes, depth: int, limits: ReadLimits, lost: list[str]) -> list[Section]:
    if depth > limits.depth:
        lost.append(f"{name} was not read: it lies {limits.depth} files deep.")
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            source = Source(path, kind_of(path), name, depth)
            with open_nested(source, limits, lost) as opened:
                read = list(islice(opened.sections(), _MOST_SECTIONS + 1))
        except FileProblem as problem:
            lost.append(f"The attachment {name} was not read: {problem.message}")
            return []
    if len(read) > _MOST_SECTIONS:
        lost.append(f"Of the attachment {name} the first {_MOST_SECTIONS} sections are shown.")
    shown = [Section(f"{name}, {one.name}", one.text) for one in read[:_MOST_SECTIONS]]
    return [Section(f"attachment {name}", opened.summary), *shown]


def _name(part: EmailMessage, taken: dict[str, bytes]) -> str:
    """A unique name that is safe for a file."""
    given = (part.get_filename() or "").replace("\\", "/").rpartition("/")[2]
    suffix = {"message/rfc822": ".eml", "text/html": ".html", "text/plain": ".txt"}.get(part.get_content_type(), "")
    name = short_name(one_line(given, 100).replace("\0", "").strip(". ")) or f"attachment-{len(taken) + 1}{suffix}"
    while name in taken:
        name = f"{len(taken) + 1}-{name}"
    return name


def _bytes(part: MIMEPart) -> bytes:
    if part.get_content_maintype() == "message":
        return b"".join(inner.as_bytes() for inner in part.iter_parts())
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _text(part: MIMEPart) -> str:
    """Its text, even if its declared encoding is wrong."""
    try:
        return str(part.get_content())
    except (LookupError, UnicodeError, KeyError):
        return _bytes(part).decode("utf-8", "replace")
