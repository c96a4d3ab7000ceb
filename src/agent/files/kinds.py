"""Detects the kind of a file by its content (its name only breaks ties) and the encoding of text."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import re
import struct
import unicodedata
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from agent.files.contents import READERS, FileProblem, module_of

SAMPLE = 256 * 1024
"""Bytes from which an encoding is detected."""
FALLBACK = "alita-cp1252"
"""Name of the error handler that reads stray bytes as Windows-1252, the commonest of the other encodings."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_PLAIN_CONTROLS = frozenset(b"\t\n\v\f\r\x1b")
_CONTROLS = bytes(byte for byte in range(32) if byte not in _PLAIN_CONTROLS) + b"\x7f"
_CLEANED = "alita_cleaned_"
_REMOVED = dict.fromkeys((0, 0x1A, 0xFEFF))
_MARKS_WITHIN = (b"\0", b"\x1a", codecs.BOM_UTF8)
_FEWEST_BESIDE_NUL = 0.7  # share of a text that is no NUL or end-of-file mark
_BEYOND_ASCII = bytes(range(128, 256))
_FEWEST_BEYOND_ASCII = 8  # bytes from which another encoding than Windows-1252 can be told
_ODD = frozenset(("Cc", "Cn", "Co", "Cs"))  # categories of characters that text hardly has
_MOST_STRAY = 0.1  # share of characters beyond ASCII that may be damaged in what still counts as UTF-8
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
_RECORDS = 0.7  # share of them that are JSON where all are meant to be
_TOKEN = 100  # characters at the end of a text that is cut off, which may be no whole token of JSON
_BLANKS = b" \t\r\n\f\0"
_OFFICE = (("xl/workbook.bin", "xlsb"), ("xl/", "xlsx"), ("word/", "docx"), ("ppt/", "pptx"))
_MEMBER = re.compile(rb"PK(?:\x03\x04.{22}(..)..|\x01\x02.{24}(..).{16})", re.DOTALL)
"""What stands before the name of a member, with the length of that: its own header, or its entry in the directory."""
_MIMES = (
    (b"application/epub+zip", "epub"),
    (b"application/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"application/vnd.oasis.opendocument.text", "odt"),
    (b"application/vnd.oasis.opendocument.presentation", "odp"),
    (b"application/vnd.oasis.opendocument.graphics", "odg"),
)
"""What a file says of itself in its first member, stored without a header of its own."""
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


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a text."""

    name: str
    """As Python calls it."""
    mark: int = 0
    """Bytes of the byte order mark at the beginning."""
    mixed: bool = False
    """Some bytes belong to another encoding, and are read as Windows-1252."""
    is_cleaned: bool = False
    """NUL, end-of-file and further byte order marks are removed from the text."""

    @property
    def notes(self) -> list[str]:
        """What a reader should report."""
        mixed = [f"Some bytes are not {self.name}: they were read as Windows-1252."] if self.mixed else []
        removed = "Removed from the text: NUL characters, end-of-file marks (0x1A) or byte order marks within it."
        return [*mixed, removed] if self.is_cleaned else mixed

    @property
    def told(self) -> str:
        """The name for programs; with it, a byte order mark does not become part of the text."""
        if not self.mark:
            return self.name
        return "utf-8-sig" if self.name == "utf-8" else self.name.removesuffix("-le").removesuffix("-be")

    def open(self, path: Path, newline: str | None = None) -> IO[str]:
        """The file as text, past its byte order mark."""
        file = path.open("rb")
        file.seek(self.mark)
        name = f"{_CLEANED}{self.name}" if self.is_cleaned else self.name
        return io.TextIOWrapper(file, encoding=name, errors=FALLBACK, newline=newline)

    def decode(self, data: bytes) -> str:
        """The bytes of a whole file as text."""
        text = data[self.mark :].decode(self.name, FALLBACK)
        return text.translate(_REMOVED) if self.is_cleaned else text


def encoding_of(sample: bytes, whole: bool = True) -> Encoding | None:
    """Detects the encoding of text; None if it is not text.

    Args:
        sample: The beginning of a file.
        whole: Whether this is all of it; else its last character may be cut.
    """
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Encoding(name, len(mark))
    if b"\0" in sample:
        if wide := _wide(sample):
            return Encoding(wide)
        rest = sample.translate(None, b"\0\x1a")
        is_text = len(rest) >= len(sample) * _FEWEST_BESIDE_NUL and len(rest) == len(rest.translate(None, _CONTROLS))
        found = encoding_of(rest, whole) if is_text else None
        return replace(found, is_cleaned=True) if found else None
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls > max(1, len(sample) // 200):
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, whole)
    except UnicodeDecodeError:
        pass
    else:
        return Encoding("utf-8", is_cleaned=any(mark in sample for mark in _MARKS_WITHIN))
    if _is_mostly_utf_8(sample):
        return Encoding("utf-8", mixed=True, is_cleaned=any(mark in sample for mark in _MARKS_WITHIN))
    from charset_normalizer import from_bytes

    likely = ["shift_jis", "cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp1251", "cp1250", "cp1252", "koi8_r"]
    best = from_bytes(sample[:20_000], cp_isolation=likely).best()
    name = best.encoding if best else "cp1252"
    return Encoding("cp932" if name == "shift_jis" else name)


def _wide(sample: bytes) -> str:
    """UTF-32 or UTF-16 without a mark: nearly all its characters are assigned, and its zero bytes belong to ASCII."""
    for name, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        with contextlib.suppress(UnicodeDecodeError):
            text = sample[: len(sample) // width * width].decode(name)
            odd = sum(
                unicodedata.category(character) in _ODD for character in text if character not in "\t\r\n\x1a\ufeff"
            )
            plain = sum(character < "\x7f" for character in text)
            hollow = sum(not ord(character) & 0xFF for character in text)
            if odd * 200 <= len(text) and plain * 20 >= len(text) and hollow * 25 <= len(text):
                return name
    return ""


def _is_mostly_utf_8(sample: bytes) -> bool:
    """Whether few characters beyond ASCII, or at most three of four lines with any, belong to another encoding."""
    text = sample.decode("utf-8", "replace")
    if text.count("\ufffd") <= sum(character > "\x7f" for character in text) * _MOST_STRAY:
        return True
    lines = [line for line in text.splitlines() if not line.isascii()]
    return sum("\ufffd" not in line for line in lines) * 4 >= len(lines)


def encoding_of_file(path: Path) -> Encoding | None:
    """Detects the encoding of a whole file: from its first bytes beyond ASCII, and checked to its end."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
        rest = file.read(SAMPLE)
        found = encoding_of(sample, whole=not rest)
        if found is None or found.name != "utf-8":
            return found
        is_plain, mixed, is_cleaned = sample.isascii(), found.mixed, found.is_cleaned
        decoder = codecs.getincrementaldecoder("utf-8")()
        with contextlib.suppress(UnicodeDecodeError):
            decoder.decode(sample)
        while rest:
            is_cleaned = is_cleaned or any(mark in rest for mark in _MARKS_WITHIN)
            if is_plain and not rest.isascii():
                first = next(at for at, byte in enumerate(rest) if byte > 127)
                begins = rest[rest.rfind(b"\n", 0, first) + 1 :]
                is_enough = len(begins) - len(begins.translate(None, _BEYOND_ASCII)) >= _FEWEST_BEYOND_ASCII
                later = encoding_of(begins.translate(None, b"\0"), whole=False) if is_enough else None
                if later and later.name != "utf-8":
                    return replace(later, is_cleaned=is_cleaned)
                is_plain = False
            try:
                decoder.decode(rest)
            except UnicodeDecodeError:
                mixed = True
                decoder.reset()
            rest = file.read(1 << 20)
    return replace(found, mixed=mixed, is_cleaned=is_cleaned)


def _stray(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    if error.encoding.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        return "\ufffd", error.end
    return bad.decode("cp1252", "replace"), error.end


def _cleaning_codec(name: str) -> codecs.CodecInfo | None:
    """The codec of a name that begins with `_CLEANED`: as the one named after that, with some characters removed."""
    if not name.startswith(_CLEANED):
        return None
    inner = codecs.lookup(name.removeprefix(_CLEANED))

    class Cleaning(codecs.IncrementalDecoder):
        def __init__(self, errors: str = "strict") -> None:
            super().__init__(errors)
            self._inner = inner.incrementaldecoder(errors)

        def decode(self, data: Any, final: bool = False) -> str:
            return self._inner.decode(data, final).translate(_REMOVED)

        def reset(self) -> None:
            self._inner.reset()

        def getstate(self) -> tuple[bytes, int]:
            return self._inner.getstate()

        def setstate(self, state: tuple[bytes, int]) -> None:
            self._inner.setstate(state)

    return codecs.CodecInfo(inner.encode, inner.decode, incrementaldecoder=Cleaning, name=name)


codecs.register(_cleaning_codec)
codecs.register_error(FALLBACK, _stray)


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
    """Whether it begins with a member of a tar without a mark: the sum of its header must be right."""
    field = head[148:156].strip(b" \0")
    return (
        len(head) >= 512
        and field.isdigit()
        and f"{sum(head[:148]) + 256 + sum(head[156:512]):o}" == (field.decode().lstrip("0"))
    )


def _is_pdf(head: bytes, suffix: str) -> bool:
    """Whether it is a PDF. Other bytes may come first; text that merely mentions PDF has no objects after that."""
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
    """The names in a zip file's directory, or, where it is cut off, of the members at its beginning."""
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
    """Whether it is a value; of one that is `cut` off, whether nothing is wrong before its end."""
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
