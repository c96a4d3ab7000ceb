"""The kinds of files: how each is recognised, which reader opens it, its limits, and the form that programs get.

To add a kind, write a function or class that takes a `Source` and `ReadLimits` and returns `Contents`, and add a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Literal

from agent.files.contents import Contents, FileProblem, ReadLimits, Source, damaged, too_large, without_package

BINARY = "binary"
"""Kind of a file that is not recognised."""
EMPTY = "empty"
"""Kind of a file of 0 bytes."""
Group = Literal["table", "data", "text", "archive", "document", "mail", "picture", "sound", "film", "other"]
ForPrograms = Literal[
    "the file",  # programs open it themselves
    "its text",  # the file is text; the embedded model's programs get it in a variable
    "a text copy",  # and each table as CSV
    "saved parts",  # files that the reader writes: pages, a transcript, frames
    "the file only",  # there is no reader
]


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file and how to read it.

    A file is recognised by its first bytes (`magic`), or by a mark inside a ZIP, OLE or MP4 container. Text is
    recognised by its form, then by the suffix of its name.
    """

    name: str
    suffixes: str = ""
    """Suffixes of file names without dots, separated by spaces."""
    magic: bytes = b""
    """Regular expression for the first bytes."""
    group: Group = "other"
    open: str = ""
    """The reader in this folder as `module:name`, imported when first needed; empty if there is none."""
    limits: ReadLimits = field(default_factory=ReadLimits)
    for_programs: ForPrograms = "the file only"
    is_text: bool = False
    packages: tuple[str, ...] = ()
    """Modules that the reader needs, checked by `alita doctor`."""
    extra: str = "files"
    """The extra of alita that installs them."""
    remedy: str = "Look at its bytes in a program."
    """Advice to the model if there is no reader."""
    zip_member: str = ""
    """Beginning of a member's name in an Office document."""
    mimetype: bytes = b""
    """Beginning of the type that a ZIP file declares in its first, uncompressed member."""
    ole_stream: str = ""
    brands: bytes = b""
    """Four-letter names of formats in the first box of a file built like MP4, separated by spaces."""


_SLOW = ReadLimits(seconds=300, memory=8 * 2**30)  # OCR reserves far more address space than it uses
_workbook = partial(
    FileKind,
    group="table",
    open="tables.workbook:open_values",
    limits=ReadLimits(seconds=30),  # the parser reads any intact file in 2 s, but hangs on some damaged ones
    for_programs="the file",
    packages=("python_calamine",),
)
_delimited = partial(
    FileKind, group="table", open="tables.delimited:DelimitedFile", for_programs="the file", is_text=True
)
_text = partial(FileKind, open="text:TextFile", is_text=True)
_archive = partial(FileKind, group="archive", open="archive:Archive", for_programs="the file")
_document = partial(FileKind, group="document", for_programs="a text copy")
_mail = partial(
    FileKind, group="mail", open="documents.mail:open_mail", for_programs="a text copy", is_text=True, packages=("bs4",)
)
_picture = partial(
    FileKind,
    group="picture",
    open="media.image:open_image",
    limits=_SLOW,
    for_programs="saved parts",
    packages=("PIL",),
)
_recording = partial(
    FileKind,
    limits=ReadLimits(seconds=1800, memory=8 * 2**30),
    for_programs="saved parts",
    packages=("av", "faster_whisper"),
    extra="audio",
)
_sound = partial(_recording, group="sound", open="media.audio:open_sound")
_film = partial(_recording, group="film", open="media.video:Film")
_UNPACK = "Convert the archive to zip."
_ARRAYS = "Read the file with pandas or numpy in a program, or convert it to csv."

# Rows are compared with a file from top to bottom, and the first match counts.
_ROWS = (
    FileKind(BINARY),
    FileKind(EMPTY),
    _delimited("csv", "csv"),
    _delimited("tsv", "tsv tab"),
    FileKind(
        "sqlite",
        "sqlite sqlite3 db",
        rb"SQLite format 3\0",
        group="table",
        open="tables.database:DatabaseContents",
        for_programs="the file",
    ),
    _workbook("xlsb", "xlsb", zip_member="xl/workbook.bin"),
    FileKind(
        "xlsx",
        "xlsx xlsm xltx",
        group="table",
        open="tables.workbook:open_workbook",
        for_programs="the file",
        packages=("openpyxl", "python_calamine"),
        zip_member="xl/",
        ole_stream="EncryptedPackage",
    ),
    _document(
        "docx",
        "docx",
        open="documents.docx:open_docx",
        packages=("docx",),
        zip_member="word/",
    ),
    _document(
        "pptx",
        "pptx",
        open="documents.pptx:open_pptx",
        packages=("pptx",),
        zip_member="ppt/",
    ),
    # these kinds come before xls, since they may contain workbooks
    FileKind("doc", remedy="Convert the file to docx or PDF.", ole_stream="WordDocument"),
    FileKind("ppt", remedy="Convert the file to pptx or PDF.", ole_stream="PowerPoint Document"),
    _workbook("xls", "xls", ole_stream="Workbook"),
    FileKind("msg", remedy="Save the message as eml.", ole_stream="__properties_version1.0"),
    _workbook("ods", "ods ots", mimetype=b"application/vnd.oasis.opendocument.spreadsheet"),
    _document(
        "odt",
        "odt ott",
        open="documents.opendocument:open_odt",
        mimetype=b"application/vnd.oasis.opendocument.text",
    ),
    _document(
        "odp",
        "odp otp",
        open="documents.opendocument:open_odp",
        mimetype=b"application/vnd.oasis.opendocument.presentation",
    ),
    _document(
        "odg",
        "odg otg",
        open="documents.opendocument:open_odp",
        mimetype=b"application/vnd.oasis.opendocument.graphics",
    ),
    _document("epub", "epub", open="documents.epub:open_epub", packages=("bs4",), mimetype=b"application/epub+zip"),
    FileKind(
        "pdf",
        "pdf",
        group="document",
        open="documents.pdf:open_pdf",
        limits=_SLOW,
        for_programs="saved parts",
        packages=("pypdfium2",),
    ),
    _document(
        "html",
        "html htm xhtml",
        open="documents.html:open_html",
        is_text=True,
        packages=("bs4", "markdownify"),
    ),
    _mail("eml", "eml"),
    _mail("mbox", "mbox"),
    _text("json", "json geojson", group="data", for_programs="the file"),
    _text("jsonl", "jsonl ndjson", group="table", for_programs="the file"),
    _text("jsonld", "jsonld", group="data", for_programs="the file"),
    _text("xml", "xml xsd svg", group="data", for_programs="its text"),
    _text("pdb", "pdb ent", group="table", for_programs="its text"),
    _text("cif", "cif mmcif", group="table", for_programs="its text"),
    _text("txt", "txt text log", group="text", for_programs="its text"),
    _text("md", "md markdown", group="text", for_programs="its text"),
    _text(
        "source",
        "py pyw pyi js mjs ts tsx jsx c h cc cpp cxx hpp cs java kt scala go rs rb php pl lua r jl m swift hs sh bash"
        " zsh ps1 bat sql css scss tex bib f90 asm pas vb dart ex erl clj lisp scm ml yaml yml toml ini cfg",
        group="text",
        for_programs="its text",
    ),
    _archive("zip", "zip"),
    _archive("gz", "gz tgz", rb"\x1f\x8b"),
    _archive("bz2", "bz2 tbz2", rb"BZh"),
    _archive("xz", "xz txz", rb"\xfd7zXZ\0"),
    _archive("tar", "tar", rb".{257}ustar"),
    FileKind("7z", magic=rb"7z\xbc\xaf\x27\x1c", remedy=_UNPACK),
    FileKind("rar", magic=rb"Rar!\x1a\x07", remedy=_UNPACK),
    FileKind("cab", magic=rb"MSCF\0", remedy=_UNPACK),
    FileKind("zst", magic=rb"\x28\xb5\x2f\xfd", remedy="Unpack the file, or compress it with gzip instead."),
    FileKind("lz4", magic=rb"\x04\x22\x4d\x18", remedy="Unpack the file, or compress it with gzip instead."),
    FileKind("parquet", magic=rb"PAR1", remedy=_ARRAYS),
    FileKind("arrow", magic=rb"ARROW1\0", remedy=_ARRAYS),
    FileKind("hdf5", magic=rb"\x89HDF\r\n\x1a\n", remedy=_ARRAYS),
    FileKind("npy", magic=rb"\x93NUMPY", remedy=_ARRAYS),
    FileKind("rtf", magic=rb"{\\rtf", remedy="Convert the file to docx or PDF."),
    FileKind("tnef", magic=rb"\x78\x9f\x3e\x22"),
    FileKind(
        "heic",
        brands=b"heic heix heim heis hevc hevx mif1 msf1",
        remedy="Convert this HEIC (HEIF) image to PNG or JPEG.",
    ),
    FileKind(
        "jxl",
        magic=rb"\0\0\0\x0cJXL \r\n\x87\n|\xff\x0a",
        remedy="Convert this JPEG XL image to PNG or JPEG.",
    ),
    FileKind(
        "midi",
        magic=rb"MThd\0\0\0\x06",
        remedy="A MIDI file contains notes, not recorded sound. Render it as wav, or parse it in a program.",
    ),
    _picture("png", "png", rb"\x89PNG\r\n\x1a\n"),
    _picture("jpeg", "jpeg jpg", rb"\xff\xd8\xff"),
    _picture("gif", "gif", rb"GIF8"),
    _picture("webp", "webp", rb"(RIFF|RF64).{4}WEBP"),
    _picture("bmp", "bmp", rb"BM.{4}\0{4}"),
    _picture("tiff", "tiff tif", rb"II[*+]\0|MM\0[*+]"),
    _picture("avif", "avif", brands=b"avif avis"),
    _picture("ico", "ico", rb"\0\0\x01\0[\x01-\x40]\0"),
    _picture("jp2", "jp2", rb"\0\0\0\x0cjP  \r\n\x87\n|\xff\x4f\xff\x51"),
    _picture("psd", "psd", rb"8BPS\0[\x01\x02]"),
    _sound("wav", "wav", rb"(RIFF|RF64).{4}WAVE"),
    _sound("m4a", "m4a m4b", brands=b"M4A  M4B "),
    _sound("flac", "flac", rb"fLaC"),
    _sound("ogg", "ogg", rb"OggS"),
    _sound("aac", "aac", rb"\xff[\xf0\xf1\xf8\xf9].."),
    _sound("aiff", "aiff aif", rb"FORM.{4}AIF[FC]"),
    _sound("amr", "amr", rb"#!AMR"),
    _film("mov", "mov", brands=b"qt  "),
    _film("mp4", "mp4"),
    _film("webm", "webm", rb"\x1a\x45\xdf\xa3.{0,56}webm"),
    _film("mkv", "mkv", rb"\x1a\x45\xdf\xa3"),
    _film("avi", "avi", rb"(RIFF|RF64).{4}AVI "),
    _film("wmv", "wmv wma", rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11"),
    _film("flv", "flv", rb"FLV\x01"),
    _film("mpg", "mpg mpeg", rb"\0\0\x01[\xba\xb3]"),
    # mp3 comes last, since two bytes are a weak sign
    _sound("mp3", "mp3", rb"ID3[\x02-\x04]|\xff[\xe2-\xe7\xea-\xef\xf2-\xf7\xfa-\xfd][\0-\xef]."),
)
KINDS = {row.name: row for row in _ROWS}
BY_SUFFIX = {suffix: row for row in _ROWS for suffix in row.suffixes.split()}


def kinds_in(*groups: Group) -> frozenset[str]:
    """Return the names of the kinds in these groups.

    >>> "png" in kinds_in("picture", "film")
    True
    """
    return frozenset(row.name for row in _ROWS if row.group in groups)


def packages_of(extra: str) -> tuple[str, ...]:
    """Return the modules that readers import from this extra of alita, without duplicates."""
    return tuple(dict.fromkeys(module for row in _ROWS if row.extra == extra for module in row.packages))


def is_readable(kind: str) -> bool:
    """Return True if the kind has a reader."""
    return kind in KINDS and bool(KINDS[kind].open)


def open_contents(source: Source, limits: ReadLimits) -> Contents:
    """Open a file with the reader for its kind.

    Raises:
        FileProblem: The file is damaged, locked by a password, or too large, or its kind has no reader.
    """
    if not is_readable(source.kind):
        raise FileProblem("unsupported", f"{source.name} is a {source.kind} file, which cannot be read.")
    module, _, name = KINDS[source.kind].open.partition(":")
    with as_file_problems(source.name, source.kind, limits):
        contents: Contents = getattr(import_module(f"agent.files.{module}"), name)(source, limits)
        return contents


@contextmanager
def open_nested(source: Source, limits: ReadLimits, lost: list[str]) -> Iterator[Contents]:
    """Open a file inside another one. Its losses and notes are added to `lost`, each prefixed with the file's name.

    Raises:
        FileProblem: See `open_contents`.
    """
    contents = open_contents(source, limits)
    try:
        with as_file_problems(source.name, source.kind, limits):
            yield contents
    finally:  # even if the caller stops reading early
        lost += [f"{source.name}: {one}" for one in (*contents.lost, *contents.notes)]
        contents.close()


@contextmanager
def as_file_problems(name: str, kind: str, limits: ReadLimits) -> Iterator[None]:
    """Turn any error of a third-party parser into a problem with the file.

    Raises:
        FileProblem: The parser failed.
    """
    try:
        yield
    except FileProblem:
        raise
    except MemoryError as error:
        raise too_large(name, limits) from error
    except ImportError as error:
        extra = KINDS[kind].extra if kind in KINDS else "files"
        raise without_package(error.name, extra, f"{kind} files cannot be read") from error
    except BaseException as error:
        # a panic in Rust becomes a PanicException, which does not inherit from Exception
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if isinstance(error, RecursionError) or "Excessive depth" in str(error):  # lxml's message
            raise damaged(name, kind, "it is nested too deeply") from error
        reason = getattr(error, "strerror", None) or error
        raise damaged(name, kind, f"{type(error).__name__}: {reason}".removesuffix(": ")) from error
