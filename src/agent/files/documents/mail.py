"""Mail: headers, texts, and attachments, each read by the reader of its kind."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from email import policy
from email.errors import MessageError
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser
from itertools import islice
from pathlib import Path
from typing import cast

from agent.files.contents import (
    Contents,
    FileProblem,
    ReadLimits,
    Section,
    Source,
    TextContents,
    beginning,
    damaged,
    in_sections,
    name_of,
    open_contents,
)
from agent.files.documents.html import Page
from agent.files.kinds import kind_of
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_HEADERS = ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject", "Message-ID", "In-Reply-To")
_MOST_SECTIONS = 200
"""Of one attachment."""


def open_mail(source: Source, limits: ReadLimits) -> Contents:
    """Reads a message with what is attached to it.

    Raises:
        FileProblem: It is empty, too large, or no mail.
    """
    beginning(source)
    size = source.path.stat().st_size
    if size > limits.unpacked:
        raise FileProblem(
            "too_large", f"{name_of(source)} has {size:,} bytes.", remedy="Take it in parts in a program."
        )
    try:
        with source.path.open("rb") as file:
            message = BytesParser(policy=policy.default).parse(file)
        if not any(message.get(name) for name in ("From", "To", "Date", "Subject", "Received")):
            raise FileProblem(
                "mismatch", f"{name_of(source)} is no mail: it has no headers of one.", remedy="Check its kind."
            )
        return _Mail(message, source, limits).contents()
    except (MessageError, ValueError, LookupError, IndexError, AttributeError, TypeError) as error:
        raise damaged(source, "mail", error) from None
    except RecursionError:
        raise damaged(source, "mail", "it is nested too deeply") from None


class _Mail:
    """One message on its way to text."""

    def __init__(self, message: EmailMessage, source: Source, limits: ReadLimits) -> None:
        self._message, self._source, self._limits = message, source, limits
        self._lost: list[str] = []
        self._data: dict[str, bytes] = {}
        self._names: list[str] = []
        self._bodies = [message.get_body((kind,)) for kind in ("plain", "html")]

    def contents(self) -> Contents:
        headers = {name: one_line(str(self._message[name]), 1000) for name in _HEADERS if self._message[name]}
        shown = "\n".join(f"{name}: {value}" for name, value in headers.items())
        sections = in_sections([shown, *self._body()], self._limits.section, "message")
        for part in self._attached():
            sections += self._read(part)
        if defects := [type(one).__name__ for part in self._message.walk() for one in part.defects]:
            self._lost.append(f"The mail is malformed in places ({', '.join(dict.fromkeys(defects))}).")
        facts: dict[str, Json] = {name.lower(): value for name, value in headers.items()}
        facts["attachments"] = list(self._names)
        attached = f"\n{len(self._names)} attachments: {', '.join(self._names)}." if self._names else ""
        summary = f"Mail from {headers.get('From', 'nobody')}: “{headers.get('Subject', '')}”.{attached}"
        return TextContents("eml", summary, sections, facts, self._lost, self._data)

    def _body(self) -> Iterator[str]:
        """The text; the html where there is no text, or where it says more."""
        plain, html = self._bodies
        if plain is not None:
            yield _text(plain).strip()
        if html is None:
            return
        page = Page(_text(html))
        if plain is None:
            self._lost += page.lost
        elif _words(page.markdown) <= _words(_text(plain)) and "|" not in page.markdown:
            return
        if page.markdown:
            yield f"## The same as a web page\n\n{page.markdown}" if plain is not None else page.markdown

    def _attached(self, part: EmailMessage | None = None) -> Iterator[EmailMessage]:
        """The parts that are no text of the message itself."""
        for inner in (part or self._message).iter_parts():
            if inner in self._bodies:
                continue
            if inner.get_content_maintype() == "multipart":
                yield from self._attached(cast(EmailMessage, inner))
            else:
                yield cast(EmailMessage, inner)

    def _read(self, part: EmailMessage) -> list[Section]:
        name = self._name(part)
        content = _bytes(part)
        if len(self._names) > self._limits.members:
            return []
        self._data[name] = content
        if self._source.depth >= self._limits.depth:
            self._lost.append(f"{name} was not read: it lies {self._limits.depth} files deep.")
            return []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(content)
            try:
                kind = kind_of(path)
                opened = open_contents(Source(path, kind, name, self._source.depth + 1), self._limits)
                with contextlib.closing(opened):
                    read = list(islice(opened.sections(), _MOST_SECTIONS + 1))
            except FileProblem as problem:
                self._lost.append(f"The attachment {name} was not read: {problem.message}")
                return []
        if len(read) > _MOST_SECTIONS:
            self._lost.append(f"Of the attachment {name} the first {_MOST_SECTIONS} sections are shown.")
        self._lost += [f"{name}: {sentence}" for sentence in opened.lost]
        about = Section(f"attachment {name}", opened.summary)
        return [about, *(Section(f"{name}, {one.name}", one.text) for one in read[:_MOST_SECTIONS])]

    def _name(self, part: EmailMessage) -> str:
        """A name of its own that is safe as a file's."""
        given = (part.get_filename() or "").replace("\\", "/").rpartition("/")[2]
        suffix = {"message/rfc822": ".eml", "text/html": ".html", "text/plain": ".txt"}.get(part.get_content_type(), "")
        name = one_line(given, 100).replace("\0", "").strip(". ") or f"attachment-{len(self._names) + 1}{suffix}"
        while name in self._names:
            name = f"{len(self._names) + 1}-{name}"
        self._names.append(name)
        return name


def _bytes(part: MIMEPart) -> bytes:
    if part.get_content_maintype() == "message":
        return b"".join(inner.as_bytes() for inner in part.iter_parts())
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _text(part: MIMEPart) -> str:
    """Its text, whatever its encoding says."""
    try:
        return str(part.get_content())
    except (LookupError, UnicodeError, KeyError):
        return _bytes(part).decode("utf-8", "replace")


def _words(text: str) -> int:
    return len("".join(c if c.isalnum() else " " for c in text).split())
