"""Detects the kind of a file by its content; its name only breaks ties."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from pathlib import Path

from agent.files.contents import READERS, FileProblem, module_of
from agent.files.encoding import encoding_of

HEAD = 64 * 1024
"""Bytes at the beginning of a file that are inspected."""
BINARY = "binary"
"""The kind of a file that is not recognised."""
EMPTY = "empty"
"""The kind of a file of 0 bytes."""
_MAGIC = (
    (rb"SQLite format 3\0", "sqlite"),
    (rb"\x1f\x8b", "gz"),
    (rb"BZh", "bz2"),
    (rb"\xfd7zXZ\0", "xz"),
    (rb".{257}ustar", "tar"),
    (rb"7z\xbc\xaf\x27\x1c", "7z"),
    (rb"\x28\xb5\x2f\xfd", "zst"),
    (rb"\x04\x22\x4d\x18", "lz4"),
    (rb"MSCF\0", "cab"),
    (rb"Rar!\x1a\x07", "rar"),
    (rb"PAR1", "parquet"),
    (rb"\x78\x9f\x3e\x22", "tnef"),
    (rb"\x89HDF\r\n\x1a\n", "hdf5"),
    (rb"ARROW1\0", "arrow"),
    (rb"\x93NUMPY", "npy"),
    (rb"{\\rtf", "rtf"),
    (rb"\x89PNG\r\n\x1a\n", "png"),
    (rb"\xff\xd8\xff", "jpeg"),
    (rb"GIF8", "gif"),
    (rb"II[*+]\0|MM\0[*+]", "tiff"),
    (rb"\0\0\x01\0[\x01-\x40]\0", "ico"),
    (rb"8BPS\0[\x01\x02]", "psd"),
    (rb"\0\0\0\x0cjP  \r\n\x87\n|\xff\x4f\xff\x51", "jp2"),
    (rb"\0\0\0\x0cJXL \r\n\x87\n|\xff\x0a", "jxl"),
    (rb"BM.{4}\0{4}", "bmp"),
    (rb"(RIFF|RF64).{4}WEBP", "webp"),
    (rb"(RIFF|RF64).{4}WAVE", "wav"),
    (rb"(RIFF|RF64).{4}AVI ", "avi"),
    (rb"FORM.{4}AIF[FC]", "aiff"),
    (rb"#!AMR", "amr"),
    (rb"MThd\0\0\0\x06", "midi"),
    (rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "wmv"),
    (rb"FLV\x01", "flv"),
    (rb"\0\0\x01[\xba\xb3]", "mpg"),
    (rb"\x1a\x45\xdf\xa3.{0,56}webm", "webm"),
    (rb"\x1a\x45\xdf\xa3", "mkv"),
    (rb"fLaC", "flac"),
    (rb"OggS", "ogg"),
    (rb"\xff[\xf0\xf1\xf8\xf9]..", "aac"),
    (rb"ID3[\x02-\x04]|\xff[\xe2-\xe7\xea-\xef\xf2-\xf7\xfa-\xfd][\0-\xef].", "mp3"),
)
"""Patterns of how files begin, and their kinds; the first match counts."""
_BRANDS = (
    (b"avif avis", "avif"),
    (b"heic heix heim heis hevc hevx mif1 msf1", "heic"),
    (b"M4A  M4B ", "m4a"),
    (b"qt  ", "mov"),
)
"""Names of formats in the first box of files built like MP4, and their kinds: a still picture is no film."""
_LINES = 20  # lines that are looked at for JSON in each
_RECORDS = 0.7  # share of JSON lines in a file that should have only JSON lines
_TOKEN = 100  # characters at the end of a text that is cut off, which may be no whole token of JSON
_BLANKS = b" \t\r\n\f\0"
_OFFICE = (("xl/workbook.bin", "xlsb"), ("xl/", "xlsx"), ("word/", "docx"), ("ppt/", "pptx"))
_MEMBER = re.compile(rb"PK(?:\x03\x04.{22}(..)..|\x01\x02.{24}(..).{16})", re.DOTALL)
"""Length of the bytes before a member's name: its header, or its entry in the directory."""
_MIMES = (
    (b"application/epub+zip", "epub"),
    (b"application/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"application/vnd.oasis.opendocument.text", "odt"),
    (b"application/vnd.oasis.opendocument.presentation", "odp"),
    (b"application/vnd.oasis.opendocument.graphics", "odg"),
)
"""Returns the type that a file declares in its first, uncompressed member."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_STREAMS = (
    ("EncryptedPackage", "xlsx"),
    ("WordDocument", "doc"),
    ("PowerPoint Document", "ppt"),
    ("Workbook", "xls"),
    ("__properties_version1.0", "msg"),
)
_LONGEST_COMPOUND = 16 << 20
_LANGUAGES = (
    "py pyw pyi js mjs ts tsx jsx c h cc cpp cxx hpp cs java kt scala go rs rb php pl lua r jl m swift hs sh bash zsh"
    " ps1 bat sql css scss tex bib f90 asm pas vb dart ex erl clj lisp scm ml yaml yml toml ini cfg"
)
TEXTS = frozenset(
    kind for kind in READERS if kind in ("csv", "tsv", "html", "eml", "mbox") or module_of(kind) == "text"
)
"""Kinds that are text."""
SUFFIXES: dict[str, str] = {
    **{kind: kind for kind in READERS if kind != "source"},
    **{"tab": "tsv", "markdown": "md", "ndjson": "jsonl", "geojson": "json", "htm": "html", "xhtml": "html"},
    **{"ent": "pdb", "mmcif": "cif", "text": "txt", "log": "txt", "jpg": "jpeg", "tif": "tiff", "aif": "aiff"},
    **{"m4b": "m4a", "wma": "wmv", "mpeg": "mpg", "tgz": "gz", "tbz2": "bz2", "txz": "xz"},
    **{"xsd": "xml", "svg": "xml"},
    **{"ott": "odt", "otp": "odp", "ots": "ods", "otg": "odg"},
    **{"xlsm": "xlsx", "xltx": "xlsx", "db": "sqlite", "sqlite3": "sqlite"},
}
"""The kind that the suffix of a name indicates."""
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
    for magic, kind in _MAGIC:
        if re.match(magic, head, re.DOTALL):
            return kind
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
    main = [kind for names, kind in _BRANDS if brands[0] in names]
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
    return (
        suffix not in (*_LANGUAGES.split(), "md")
        and re.match(rb"%PDF-\d\.\d\s[^\0]*?\b\d+ \d+ obj\b", head[at:]) is not None
    )


def _zipped(path: Path, head: bytes, suffix: str) -> str:
    names = _member_names(path, head)
    if "[Content_Types].xml" in names:
        for part, kind in _OFFICE:
            if any(name.startswith(part) for name in names):
                return kind
        return suffix if suffix in ("xlsx", "docx", "pptx") else "zip"
    for mime, kind in _MIMES:
        if head[30:].startswith(b"mimetype" + mime):
            return kind
    if suffix in ("odt", "ods", "odp", "odg") and {"content.xml", "META-INF/manifest.xml"} <= names:
        return suffix
    return "zip"


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
    there = (kind for stream, kind in _OLE_STREAMS if stream.encode("utf-16-le") in content)
    kind = next(there, suffix if suffix in ("xls", "doc", "ppt", "msg") else BINARY)
    return suffix if kind == "xlsx" and suffix in ("docx", "pptx", "xlsb") else kind


def _by_text(head: bytes, suffix: str) -> str:
    encoding = encoding_of(head, whole=len(head) < HEAD)
    if encoding is None:
        return ""
    text = encoding.decode(head).lstrip("\ufeff \t\r\n")
    named = "source" if suffix in _LANGUAGES.split() else SUFFIXES.get(suffix, "")
    named = named if named in TEXTS else ""
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
