"""Detects the kind of a file from its content. The suffix of its name only breaks ties."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from pathlib import Path

from agent.files.contents import FileProblem
from agent.files.encoding import encoding_of
from agent.files.kinds import BINARY, BY_SUFFIX, EMPTY, KINDS

HEAD = 64 * 1024
"""Number of bytes at the beginning of a file that are inspected."""
_JSON_SAMPLE_LINES = 20
_MIN_JSON_SHARE = 0.7  # of the lines of a JSON Lines file; some may be broken
_MAX_TOKEN_CHARS = 100  # a JSON error this close to the end of a sample comes from a token that was cut off
_BLANKS = b" \t\r\n\f\0"
_MEMBER = re.compile(rb"PK(?:\x03\x04.{22}(..)..|\x01\x02.{24}(..).{16})", re.DOTALL)
"""The bytes before the name of a ZIP member, in its header or in the directory; the group is the name's length."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAX_OLE_BYTES = 16 << 20
_MAIL = re.compile(
    r"(from|to|cc|subject|date|message-id|received|mime-version|content-type|return-path|delivered-to|reply-to):", re.I
)


def kind_of(path: Path) -> str:
    """Return the kind of a file: `xlsx`, `pdf`, `csv`; `binary` if it is unknown, `empty` for 0 bytes.

    Only the first 64 KiB and the directory of a ZIP file are read. Nothing is unpacked.

    Raises:
        FileProblem: There is no such file, or it cannot be opened.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise cannot_open(path, error) from error
    if not head:
        return EMPTY
    suffix = path.suffix.lower().lstrip(".")
    return _by_magic(path, head, suffix) or _by_text(head, suffix) or BINARY


def cannot_open(path: Path, error: OSError) -> FileProblem:
    """Return the problem for an error of `open` or `stat`."""
    if isinstance(error, IsADirectoryError):
        return FileProblem("unsupported", f"{path} is a folder.", remedy="Choose a file in the folder.")
    reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be opened: {error.strerror}"
    return FileProblem("missing", f"{path.name} {reason}.")


def _by_magic(path: Path, head: bytes, suffix: str) -> str:
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_kind(path, head, suffix)
    if head.startswith(_OLE):
        return _ole_kind(path, suffix)
    if _is_pdf(head, suffix):
        return "pdf"
    if head[4:8] == b"ftyp":
        return _mp4_kind(head, suffix)
    for kind in KINDS.values():
        if kind.magic and re.match(kind.magic, head, re.DOTALL):
            return kind.name
    if head[4:8] in (b"moov", b"mdat", b"wide") and suffix in ("mov", "qt", "mp4"):
        return "mov"
    if _is_old_tar(head):
        return "tar"
    # a ZIP may begin with other bytes, such as a program that unpacks it
    return "zip" if encoding_of(head, whole=len(head) < HEAD) is None and zipfile.is_zipfile(path) else ""


def _mp4_kind(head: bytes, suffix: str) -> str:
    """Return the kind of a file built like MP4, from its main brand or, if that is generic, from compatible brands."""
    size = min(max(int.from_bytes(head[:4]), 16), 256)
    brands = [head[8:12], *(head[at : at + 4] for at in range(16, size - 3, 4))]
    main = [kind.name for kind in KINDS.values() if kind.brands and brands[0] in kind.brands]
    if brands[0] in (b"mif1", b"msf1") and {b"avif", b"avis"} & set(brands):
        return "avif"
    return main[0] if main else "m4a" if suffix in ("m4a", "m4b") else "mp4"


def _is_old_tar(head: bytes) -> bool:
    """Return True for a tar in the old format. It has no magic bytes, but a checksum in its header."""
    field = head[148:156].strip(b" \0")
    return (
        len(head) >= 512
        and field.isdigit()
        and f"{sum(head[:148]) + 256 + sum(head[156:512]):o}" == (field.decode().lstrip("0"))
    )


def _is_pdf(head: bytes, suffix: str) -> bool:
    """Return True for a PDF, even if other bytes precede it. A text about PDF has the magic bytes, but no objects."""
    at = head.find(b"%PDF-", 0, 1024)
    if at < 0:
        return False
    before = head[:at].removeprefix(b"\xef\xbb\xbf").strip(_BLANKS)
    if not before or encoding_of(head, whole=len(head) < HEAD) is None:
        return True
    return (suffix not in BY_SUFFIX or BY_SUFFIX[suffix].name not in ("source", "md")) and re.match(
        rb"%PDF-\d\.\d\s[^\0]*?\b\d+ \d+ obj\b", head[at:]
    ) is not None


def _zip_kind(path: Path, head: bytes, suffix: str) -> str:
    names = _member_names(path, head)
    if "[Content_Types].xml" in names:
        for kind in KINDS.values():
            if kind.zip_member and any(name.startswith(kind.zip_member) for name in names):
                return kind.name
        return suffix if suffix in KINDS and KINDS[suffix].zip_member else "zip"
    for kind in KINDS.values():
        if kind.mimetype and head[30:].startswith(b"mimetype" + kind.mimetype):
            return kind.name
    is_open_document = suffix in KINDS and KINDS[suffix].mimetype.startswith(b"application/vnd.oasis.")
    return suffix if is_open_document and {"content.xml", "META-INF/manifest.xml"} <= names else "zip"


def _member_names(path: Path, head: bytes) -> set[str]:
    """Return the names in the directory of a ZIP file, or those of its first members if the directory is missing."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - HEAD - 22))
        tail = file.read()
        end = tail.rfind(b"PK\x05\x06")
        if 0 <= end <= len(tail) - 22:
            length, start = struct.unpack_from("<II", tail, end + 12)
            if start + length <= size:
                file.seek(start)
                head = file.read(min(length, 1 << 20))
    ends = ((found.end(), int.from_bytes(found[1] or found[2], "little")) for found in _MEMBER.finditer(head))
    return {head[end : end + length].decode("utf-8", "replace") for end, length in ends}


def _ole_kind(path: Path, suffix: str) -> str:
    """Return the kind of an OLE file: an old Office format, or a newer one that is locked with a password."""
    with path.open("rb") as file:
        content = file.read(_MAX_OLE_BYTES)
    for kind in KINDS.values():
        if kind.ole_stream and kind.ole_stream.encode("utf-16-le") in content:
            is_named = kind.zip_member and suffix in KINDS and KINDS[suffix].zip_member  # locked by a password
            return suffix if is_named else kind.name
    return suffix if suffix in KINDS and KINDS[suffix].ole_stream and not KINDS[suffix].zip_member else BINARY


def _by_text(head: bytes, suffix: str) -> str:
    encoding = encoding_of(head, whole=len(head) < HEAD)
    if encoding is None:
        return ""
    text = encoding.decode(head).lstrip("\ufeff \t\r\n")
    named = BY_SUFFIX[suffix].name if suffix in BY_SUFFIX and BY_SUFFIX[suffix].is_text else ""
    return (
        _markup_kind(text, named)
        or _json_kind(text, named, len(head) < HEAD)
        or _kind_by_lines(text, named)
        or named
        or "txt"
    )


def _markup_kind(text: str, named: str) -> str:
    if not text.startswith("<") or named in ("md", "source"):
        return ""
    body = re.sub(r"<\?.*?\?>|<!--.*?-->", "", text[:8192], flags=re.DOTALL).lstrip()
    doctype = re.match(r"<!doctype\s+([\w:]+)", body, re.I)
    root = doctype[1] if doctype else (re.match(r"<([\w:.-]+)", body) or ["", ""])[1]
    if root.lower() == "html" or (root.lower() in ("head", "body", "div", "p", "table") and named != "xml"):
        return "html"
    return "xml" if root or text.startswith("<?xml") else ""


def _json_kind(text: str, named: str, whole: bool) -> str:
    if not text.startswith(("{", "[")) or named in ("source", "md"):
        return ""
    lines = [line for line in text.splitlines() if line.strip()]
    complete = lines[: len(lines) if whole else -1][:_JSON_SAMPLE_LINES]
    records = sum(_is_json(line) for line in complete)
    if named == "jsonl" or (records > 1 and records >= _MIN_JSON_SHARE * len(complete)):
        return "jsonl"
    if named not in ("json", "jsonld") and not _is_json(text, cut=not whole):
        return ""
    return "jsonld" if '"@context"' in text else "json"


def _is_json(text: str, *, cut: bool = False) -> bool:
    """Return True for valid JSON. With `cut`, an error at the very end is ignored."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return cut and (error.pos > len(text) - _MAX_TOKEN_CHARS or error.msg.startswith("Unterminated string"))
    except RecursionError:  # text that is nested this deeply is JSON
        pass
    return True


def _kind_by_lines(text: str, named: str) -> str:
    """Return the kind that the lines show: mail, a table or a script; empty if the name must decide."""
    lines = text.splitlines()[:40]
    if named in ("", "txt", "eml", "mbox"):
        if re.match(r"From \S.*\d{4}", lines[0] if lines else "") and _is_mail(lines[1:]):
            return "mbox"
        if _is_mail(lines):
            return "eml"
    if named in ("json", "jsonl", "jsonld", "xml", "html", "eml", "mbox"):
        return "txt"
    if named in ("", "txt") and (kind := _table_kind(lines)):
        return kind
    return "source" if not named and lines and lines[0].startswith("#!") else ""


def _is_mail(lines: list[str]) -> bool:
    header = lines[: lines.index("")] if "" in lines else lines
    fields = {found[1].lower() for line in header if (found := _MAIL.match(line))}
    is_page = {"mime-version", "content-type"} <= fields  # a web page saved as MHT has no sender
    return (is_page or (len(fields) >= 3 and "from" in fields)) and all(
        re.match(r"[\w-]+:|\s", line) for line in header
    )


def _table_kind(lines: list[str]) -> str:
    """Return `csv` or `tsv` if all lines have the same number of fields and none is prose; else empty."""
    lines = [line for line in lines[:30] if line.strip()]
    if len(lines) < 4:
        return ""
    for delimiter, kind in (("\t", "tsv"), (";", "csv"), (",", "csv")):
        counts = {line.count(delimiter) for line in lines[:-1]}
        if len(counts) == 1 and counts != {0} and not any(re.search(r"[a-z], [a-z]", line) for line in lines):
            return kind
    return ""
