"""Detects the kind of a file by its content; its name only breaks ties."""

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
"""Bytes at the beginning of a file that are inspected."""
_LINES = 20  # lines that are looked at for JSON in each
_RECORDS = 0.7  # share of JSON lines in a file that should have only JSON lines
_TOKEN = 100  # characters at the end of a text that is cut off, which may be no whole token of JSON
_BLANKS = b" \t\r\n\f\0"
_MEMBER = re.compile(rb"PK(?:\x03\x04.{22}(..)..|\x01\x02.{24}(..).{16})", re.DOTALL)
"""Length of the bytes before a member's name: its header, or its entry in the directory."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LONGEST_COMPOUND = 16 << 20
_MAIL = re.compile(
    r"(from|to|cc|subject|date|message-id|received|mime-version|content-type|return-path|delivered-to|reply-to):", re.I
)


def kind_of(path: Path) -> str:
    """The kind of a file: `xlsx`, `pdf`, `csv`; `binary` when it is not known, `empty` without content.

    Looks at the first 64 kB and at the directory of a zip file, and unpacks nothing.

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
    """Why a file cannot be opened."""
    if isinstance(error, IsADirectoryError):
        return FileProblem("unsupported", f"{path} is a folder.", remedy="Name a file in it.")
    said = "There is no such file" if isinstance(error, FileNotFoundError) else f"It cannot be opened: {error.strerror}"
    return FileProblem("missing", f"{path.name}: {said}.")


def _by_magic(path: Path, head: bytes, suffix: str) -> str:
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zipped(path, head, suffix)
    if head.startswith(_OLE):
        return _compound(path, suffix)
    if _is_pdf(head, suffix):
        return "pdf"
    if head[4:8] == b"ftyp":
        return _branded(head, suffix)
    for kind in KINDS.values():
        if kind.magic and re.match(kind.magic, head, re.DOTALL):
            return kind.name
    if head[4:8] in (b"moov", b"mdat", b"wide") and suffix in ("mov", "qt", "mp4"):
        return "mov"
    if _is_old_tar(head):
        return "tar"
    # other bytes may come before the members, such as a program that unpacks them
    return "zip" if encoding_of(head, whole=len(head) < HEAD) is None and zipfile.is_zipfile(path) else ""


def _branded(head: bytes, suffix: str) -> str:
    """The kind of a file built like MP4: by its main brand, and, if that is general, by those it is compatible with."""
    size = min(max(int.from_bytes(head[:4]), 16), 256)
    brands = [head[8:12], *(head[at : at + 4] for at in range(16, size - 3, 4))]
    main = [kind.name for kind in KINDS.values() if kind.brands and brands[0] in kind.brands]
    if brands[0] in (b"mif1", b"msf1") and {b"avif", b"avis"} & set(brands):
        return "avif"
    return main[0] if main else "m4a" if suffix in ("m4a", "m4b") else "mp4"


def _is_old_tar(head: bytes) -> bool:
    """Return True if it begins with a member of a tar without a mark: the sum of its header must be right."""
    field = head[148:156].strip(b" \0")
    return (
        len(head) >= 512
        and field.isdigit()
        and f"{sum(head[:148]) + 256 + sum(head[156:512]):o}" == (field.decode().lstrip("0"))
    )


def _is_pdf(head: bytes, suffix: str) -> bool:
    """Return True for a PDF, which other bytes may precede; text that only mentions PDF has no objects."""
    at = head.find(b"%PDF-", 0, 1024)
    if at < 0:
        return False
    before = head[:at].removeprefix(b"\xef\xbb\xbf").strip(_BLANKS)
    if not before or encoding_of(head, whole=len(head) < HEAD) is None:
        return True
    return (suffix not in BY_SUFFIX or BY_SUFFIX[suffix].name not in ("source", "md")) and re.match(
        rb"%PDF-\d\.\d\s[^\0]*?\b\d+ \d+ obj\b", head[at:]
    ) is not None


def _zipped(path: Path, head: bytes, suffix: str) -> str:
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
    """Return the names in a zip file's directory; if it is cut off, the names of its first members."""
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


def _compound(path: Path, suffix: str) -> str:
    """Files of older Office programs, and newer ones that are locked by a password, by the names of their streams."""
    with path.open("rb") as file:
        content = file.read(_LONGEST_COMPOUND)
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
    return _marked_up(text, named) or _json(text, named, len(head) < HEAD) or _lined(text, named) or named or "txt"


def _marked_up(text: str, named: str) -> str:
    if not text.startswith("<") or named in ("md", "source"):
        return ""
    body = re.sub(r"<\?.*?\?>|<!--.*?-->", "", text[:8192], flags=re.DOTALL).lstrip()
    doctype = re.match(r"<!doctype\s+([\w:]+)", body, re.I)
    root = doctype[1] if doctype else (re.match(r"<([\w:.-]+)", body) or ["", ""])[1]
    if root.lower() == "html" or (root.lower() in ("head", "body", "div", "p", "table") and named != "xml"):
        return "html"
    return "xml" if root or text.startswith("<?xml") else ""


def _json(text: str, named: str, whole: bool) -> str:
    if not text.startswith(("{", "[")) or named in ("source", "md"):
        return ""
    lines = [line for line in text.splitlines() if line.strip()]
    complete = lines[: len(lines) if whole else -1][:_LINES]
    records = sum(_is_json(line) for line in complete)
    if named == "jsonl" or (records > 1 and records >= _RECORDS * len(complete)):
        return "jsonl"
    if named not in ("json", "jsonld") and not _is_json(text, cut=not whole):
        return ""
    return "jsonld" if '"@context"' in text else "json"


def _is_json(text: str, *, cut: bool = False) -> bool:
    """Return True if it is a value; of one that is `cut` off, whether nothing is wrong before its end."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return cut and (error.pos > len(text) - _TOKEN or error.msg.startswith("Unterminated string"))
    except RecursionError:  # so deep that it is nothing else
        pass
    return True


def _lined(text: str, named: str) -> str:
    """Kinds that are recognised by their lines; otherwise the name decides."""
    lines = text.splitlines()[:40]
    if named in ("", "txt", "eml", "mbox"):
        if re.match(r"From \S.*\d{4}", lines[0] if lines else "") and _is_mail(lines[1:]):
            return "mbox"
        if _is_mail(lines):
            return "eml"
    if named in ("json", "jsonl", "jsonld", "xml", "html", "eml", "mbox"):
        return "txt"
    if named in ("", "txt") and (kind := _delimited(lines)):
        return kind
    return "source" if not named and lines and lines[0].startswith("#!") else ""


def _is_mail(lines: list[str]) -> bool:
    header = lines[: lines.index("")] if "" in lines else lines
    fields = {found[1].lower() for line in header if (found := _MAIL.match(line))}
    is_page = {"mime-version", "content-type"} <= fields  # a web page in one file (MHT) has no sender
    return (is_page or (len(fields) >= 3 and "from" in fields)) and all(
        re.match(r"[\w-]+:|\s", line) for line in header
    )


def _delimited(lines: list[str]) -> str:
    """Tables that are not named as such: each line has the same number of fields, and none is prose."""
    lines = [line for line in lines[:30] if line.strip()]
    if len(lines) < 4:
        return ""
    for delimiter, kind in (("\t", "tsv"), (";", "csv"), (",", "csv")):
        counts = {line.count(delimiter) for line in lines[:-1]}
        if len(counts) == 1 and counts != {0} and not any(re.search(r"[a-z], [a-z]", line) for line in lines):
            return kind
    return ""
