"""What a reader makes of a file (sections, facts, files for programs), and which reader reads which kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from agent.files.previews import Part, pages_part, sampled_part, text_part

if TYPE_CHECKING:
    from mcp_tools.tool import Json

from typing import TYPE_CHECKING, Literal

from agent.errors import ModelFixableError

Reason = Literal[
    "missing",
    "empty",
    "truncated",
    "damaged",
    "encrypted",
    "mismatch",  # its name promises another kind
    "too_large",
    "bomb",  # it unpacks to more than it should
    "unsupported",
    "timeout",
    "range",  # a page that is not there
]


class FileProblem(ModelFixableError):
    """A file cannot be read, or not in the way that was asked for.

    Args:
        reason: What kind of problem it is.
        message: What happened, with the name of the file.
        remedy: What to do next.
    """

    def __init__(self, reason: Reason, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.reason: Reason = reason


def too_large(name: str, limits: ReadLimits) -> FileProblem:
    """Reading needs more memory than it may take."""
    return FileProblem(
        "too_large",
        f"{name} needs more than {limits.memory >> 20:,} MiB of memory to be read.",
        remedy="Compute with it in a program that takes it in parts.",
    )


def parser_failed(name: str, kind: str, error: BaseException) -> FileProblem:
    """A parser failed at a file in a way of its own."""
    said = " ".join(str(error).split())[:200]
    return FileProblem(
        "damaged",
        f"{name} cannot be read as {kind}: {type(error).__name__}{': ' if said else ''}{said}",
        remedy="It may be damaged. Look at its bytes in a program.",
    )


def name_of(source: Source) -> str:
    """How messages call the file."""
    return source.name or source.path.name


def beginning(source: Source, size: int = 1024) -> bytes:
    """The first bytes of a file.

    Raises:
        FileProblem: It is missing, cannot be opened, or has no bytes.
    """
    try:
        with source.path.open("rb") as file:
            head = file.read(size)
    except OSError as error:
        raise FileProblem(
            "missing", f"{name_of(source)} cannot be opened: {error.strerror or error}.", remedy="Check its name."
        ) from None
    if not head:
        raise FileProblem("empty", f"{name_of(source)} is empty: it has no bytes.", remedy="There is nothing to read.")
    return head


def damaged(source: Source, what: str, why: object = "") -> FileProblem:
    """The problem of a file whose content does not hold together."""
    said = f": {why}" if str(why) else ""
    return FileProblem(
        "damaged",
        f"{name_of(source)} cannot be read as {what}{said}.",
        remedy="It may be damaged or of another kind. Look at its bytes in a program.",
    )


def locked(source: Source) -> FileProblem:
    """The problem of a file that needs a password."""
    return FileProblem(
        "encrypted",
        f"{name_of(source)} is locked by a password.",
        remedy="Its content cannot be had without the password.",
    )


def without_package(package: str, extra: str, use: str) -> FileProblem:
    """The problem of a machine that lacks a package."""
    return FileProblem(
        "unsupported",
        f"The package {package} is not installed, so {use}.",
        remedy=f"Install it with: pip install 'alita[{extra}]'",
    )


_HEADINGS = re.compile(r"^#{1,3} +(\S.{0,80})", re.MULTILINE)
SECTION = 12_000
"""Characters of a page, unless told."""
READERS: dict[str, str] = {
    "xlsx": "tables.workbook:open_workbook",
    **dict.fromkeys(("xls", "xlsb", "ods"), "tables.workbook:open_values"),
    **dict.fromkeys(("csv", "tsv"), "tables.delimited:DelimitedFile"),
    "sqlite": "tables.database:Database",
    **dict.fromkeys(("txt", "md", "json", "jsonl", "jsonld", "xml", "source", "pdb", "cif"), "text:TextFile"),
    **dict.fromkeys(("zip", "tar", "gz", "bz2", "xz"), "archive:Archive"),
    "pdf": "documents.pdf:open_pdf",
    "docx": "documents.docx:open_docx",
    "pptx": "documents.pptx:open_pptx",
    "html": "documents.html:open_html",
    "epub": "documents.html:open_epub",
    "eml": "documents.mail:open_mail",
    **dict.fromkeys(("png", "jpeg", "gif", "webp", "bmp", "tiff", "svg"), "media.image:open_image"),
    **dict.fromkeys(("mp3", "wav", "m4a", "flac", "ogg", "aac"), "media.audio:open_sound"),
    **dict.fromkeys(("mov", "mp4", "webm", "mkv", "avi"), "media.video:Film"),
}
"""Kind → module of this folder, and the function or class that opens a file, loaded when one of that kind comes."""
_HEADING = re.compile(r"(#{1,3}) +(\S.*)")


@dataclass(frozen=True, slots=True)
class Section:
    """A part that the file itself knows by a name."""

    name: str
    """As people say it: `page 3`, `sheet Costs, rows 1-500`, `slide 2`, `data/notes.txt`."""
    text: str
    """Markdown, or the plain text of a source."""
    line: int = 1
    """The number of its first line, where the lines of the whole are counted."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much a reader may take in."""

    seconds: float = 120
    memory: int = 2 * 2**30
    """Bytes of address space that the reading process may add."""
    unpacked: int = 2**30
    """Bytes that an archive, or a compressed document, may grow to."""
    members: int = 10_000
    """Entries of an archive, nested ones among them."""
    depth: int = 4
    """Archives within archives."""
    section: int = SECTION
    """Characters of one section; a longer one is divided by its reader. What `read` shows at once, unless told."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to be read."""

    path: Path
    kind: str
    """Its kind by content, `kinds.kind_of`: `xlsx`, `pdf`, `csv`."""
    name: str = ""
    """How the user calls it; the path's last part unless told."""
    depth: int = 0
    """Archives around it."""


class Contents:
    """An opened file. What is large is read when a section is asked for, not before."""

    kind: str
    summary: str
    """One to five lines about the structure: sheets with rows, columns and header; pages; members; keys."""
    facts: dict[str, Json]
    """The same for programs: sheet sizes, page count, encoding, dialect, pixels, EXIF, seconds, speakers."""
    lost: list[str]
    """A sentence for each thing that the text does not show, or that was cut; grows while sections are read."""
    count: int | None
    """How many sections there are, where that is known without reading all."""

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The sections in order, from that number on, one in memory at a time."""
        raise NotImplementedError

    def preview(self) -> list[Part]:
        """How each of its sheets, tables, lists or texts begins."""
        return [pages_part(self)]

    def save_data(self, folder: Path) -> list[Path]:
        """Writes what a program can use better than the file itself; empty where the file itself is best.

        A transcript for a sound, the text by pages for a PDF, the unpacked members for an archive.
        """
        return []

    def close(self) -> None:
        """Lets go of the file."""


@dataclass(slots=True)
class TextContents(Contents):
    """Contents that fit into memory: the sections are there already."""

    kind: str
    summary: str
    parts: list[Section]
    facts: dict[str, Json] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    data: dict[str, bytes] = field(default_factory=dict)
    """Files for programs, by name."""
    is_all: bool = True
    """Whether there is nothing to it but text, as there is to a picture."""

    def __post_init__(self) -> None:
        self.count = len(self.parts)

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The sections from that number on."""
        return iter(self.parts[first - 1 :])

    def preview(self) -> list[Part]:
        """How the text begins and ends."""
        if not self.is_all:
            return [text_part(section.text, None, name=section.name) for section in self.parts]
        text = "\n\n".join(section.text for section in self.parts)
        pages = [(number, _HEADINGS.findall(section.text)) for number, section in enumerate(self.parts, 1)]
        headings = [f"- page {number}: {'; '.join(found)}" for number, found in pages if found]
        return [sampled_part(text, ["Headings:", *headings] if headings else [])]

    def save_data(self, folder: Path) -> list[Path]:
        """Writes the files for programs."""
        for name, content in self.data.items():
            (folder / name).write_bytes(content)
        return [folder / name for name in self.data]


def module_of(kind: str) -> str:
    """The module that reads a kind: `pdf`, `audio`; empty where there is none."""
    return READERS.get(kind, "").partition(":")[0].rpartition(".")[2]


def open_contents(source: Source, limits: ReadLimits) -> Contents:
    """Opens a file.

    Raises:
        FileProblem: It is empty, damaged, locked by a password, too large, or not what it says it is.
    """
    if source.kind not in READERS:
        raise FileProblem("unsupported", f"There is no reader for files of the kind {source.kind!r}.")
    module, _, name = READERS[source.kind].partition(":")
    contents: Contents = getattr(import_module(f"agent.files.{module}"), name)(source, limits)
    return contents


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as a table whose first row is its head; shorter rows are filled up."""
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    lines = [_row([*row, *[""] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def in_sections(blocks: Iterable[str], limit: int, name: str = "") -> list[Section]:
    """Blocks of text as sections of at most `limit` characters, begun at headings where possible.

    Args:
        blocks: Paragraphs, headings, tables.
        limit: Characters of a section.
        name: What the whole is called; its sections are `name, part 2: Heading`.
    """
    parts: list[list[str]] = [[]]
    size = 0
    for block in (piece for whole in blocks if whole.strip() for piece in pieces(whole, limit)):
        starts = size > limit // 2 and _HEADING.match(block)
        if parts[-1] and (size + len(block) > limit or starts):
            parts.append([])
            size = 0
        parts[-1].append(block)
        size += len(block) + 2
    if len(parts) == 1:
        return [Section(name or "text", "\n\n".join(parts[0]))]
    before = f"{name}, " if name else ""
    return [Section(f"{before}part {number}{_headed(part)}", "\n\n".join(part)) for number, part in enumerate(parts, 1)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.strip().replace("|", "\\|").replace("\n", "<br>") for cell in cells) + " |"


def _headed(part: list[str]) -> str:
    found = next((match for block in part if (match := _HEADING.match(block))), None)
    return f": {found[2].splitlines()[0][:80]}" if found else ""


def pieces(block: str, limit: int) -> Iterator[str]:
    """A block that is too long, divided between lines; a table's head is repeated."""
    if len(block) <= limit:
        yield block
        return
    lines = [line[start : start + limit] for line in block.split("\n") for start in range(0, max(len(line), 1), limit)]
    head = lines[:2] if lines[0].startswith("|") and lines[1:2] and lines[1].startswith("| ---") else []
    if sum(map(len, head)) > limit // 4:
        head = []
    piece: list[str] = []
    size = 0
    for line in lines:
        if piece and size + len(line) + 1 > limit:
            yield "\n".join(piece)
            piece, size = list(head), sum(len(one) + 1 for one in head)
        piece.append(line)
        size += len(line) + 1
    yield "\n".join(piece)
