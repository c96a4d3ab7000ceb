"""Which reader reads which kind: loaded when a file of that kind comes, and not before."""

from __future__ import annotations

from importlib import import_module

from agent.files.contents import Reader
from agent.files.problem import FileProblem

_TEXTS = ("txt", "md", "json", "jsonl", "jsonld", "xml", "source", "pdb", "cif")
_IMAGES = ("png", "jpeg", "gif", "webp", "bmp", "tiff", "svg")
_SOUNDS = ("mp3", "wav", "m4a", "flac", "ogg", "aac")
_MOVIES = ("mov", "mp4", "webm", "mkv", "avi")

READERS: dict[str, str] = {
    **dict.fromkeys(("xlsx",), "tables.workbook:WorkbookReader"),
    **dict.fromkeys(("xls", "xlsb", "ods"), "tables.workbook:SheetsReader"),
    **dict.fromkeys(("csv", "tsv"), "tables.delimited:DelimitedReader"),
    "sqlite": "tables.database:DatabaseReader",
    **dict.fromkeys(_TEXTS, "text:TextReader"),
    **dict.fromkeys(("zip", "tar", "gz", "bz2", "xz"), "archive:ArchiveReader"),
    "pdf": "documents.pdf:PdfReader",
    "docx": "documents.docx:DocxReader",
    "pptx": "documents.pptx:PptxReader",
    "html": "documents.html:HtmlReader",
    "epub": "documents.epub:EpubReader",
    "eml": "documents.mail:MailReader",
    **dict.fromkeys(_IMAGES, "media.image:ImageReader"),
    **dict.fromkeys(_SOUNDS, "media.audio:AudioReader"),
    **dict.fromkeys(_MOVIES, "media.video:VideoReader"),
}
"""Kind → module of this folder and class."""


def reader_of(kind: str, place: str = "") -> Reader:
    """The reader of a kind.

    Args:
        kind: As `kinds.kind_of` says.
        place: Another reader than the registered one, `module:Class` with the whole name of its module.

    Raises:
        FileProblem: There is none.
    """
    if not place and kind not in READERS:
        raise FileProblem("unsupported", f"There is no reader for files of the kind {kind!r}.")
    module, _, name = (place or f"agent.files.{READERS[kind]}").partition(":")
    reader: Reader = getattr(import_module(module), name)()
    return reader
