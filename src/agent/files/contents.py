"""The contents of a file: sections, a preview, files for programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.errors import ModelFixableError
from agent.files.previews import ROOM, PreviewText, preview_of_beginning, preview_of_text
from mcp_tools.text import count_of

if TYPE_CHECKING:
    from mcp_tools.tool import Json

Reason = Literal[
    "missing",
    "empty",
    "truncated",
    "damaged",
    "encrypted",
    "mismatch",  # its name indicates another kind
    "too_large",
    "bomb",  # it unpacks to more than the limit
    "unsupported",
    "timeout",
    "range",  # there is no such page
]
SECTION = 12_000
"""Characters of a page, by default."""
_LONGEST_NAME = 120  # bytes
TABLES_FOLDER = "tables"
"""Folder of a document's tables as CSV, next to its text."""
TABLE_RULE = re.compile(r"\|[\s|:]*-[\s|:-]*")
"""The line below the head of a table."""
_PART = re.compile(r"## (?:.*, )?part \d+\b.*")
"""The name of a further section of one text."""
_HEADINGS = re.compile(r"^#{1,3} +(\S.{0,80})", re.MULTILINE)


_REMEDIES: dict[Reason, str] = {
    "missing": "Check its name and its folder.",
    "truncated": "A program can recover the intact parts.",
    "damaged": "It may be damaged or of another kind. Look at its bytes in a program.",
    "encrypted": "Its content is unreadable without the password.",
    "mismatch": "It may be damaged or encrypted. Look at its bytes in a program.",
    "too_large": "Read it in a program, in parts.",
    "bomb": "Do not open it unless you know who made it.",
    "timeout": "Read a part (page), or open it in a program.",
    "range": "Page numbers start at 1.",
}


class FileProblem(ModelFixableError):
    """A file cannot be read, or not as requested. The default remedy depends on the reason."""

    def __init__(self, reason: Reason, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message, remedy=_REMEDIES.get(reason, "") if remedy is None else remedy)
        self.reason: Reason = reason


def damaged(name: str, kind: str, why: object) -> FileProblem:
    """The problem of a file that its reader failed on."""
    said = " ".join(str(why).split())[:200].rstrip(".")
    return FileProblem("damaged", f"{name} cannot be read as {kind}: {said}.")


def too_large(name: str, limits: ReadLimits) -> FileProblem:
    """The problem of a file that needs more memory than the limit."""
    return FileProblem("too_large", f"{name} needs more than {limits.memory >> 20:,} MiB of memory to be read.")


def locked(name: str) -> FileProblem:
    """The problem of a file that needs a password."""
    return FileProblem("encrypted", f"{name} is locked by a password.")


def without_package(package: str | None, extra: str, use: str) -> FileProblem:
    """The problem when a package is not installed."""
    return FileProblem(
        "unsupported",
        f"The package {package} is not installed, so {use}.",
        remedy=f"`alita doctor` says how to install the extra [{extra}].",
    )


@dataclass(frozen=True, slots=True)
class Section:
    """A page, sheet, slide, chapter or member of a file."""

    name: str
    """For people: `page 3`, `sheet Costs, rows 1-500`, `slide 2`, `data/notes.txt`."""
    text: str
    """Markdown, or the plain text of a source."""
    line: int = 1
    """The number of its first line, if lines are numbered through the whole file."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits for one reading."""

    seconds: float = 120
    memory: int = 2 * 2**30
    """Bytes of address space that the reading process may add."""
    unpacked: int = 2**30
    """Bytes that an archive, or a compressed document, may unpack to."""
    members: int = 10_000
    """Members of an archive, including nested ones."""
    depth: int = 4
    """Nesting depth of archives."""
    section: int = SECTION
    """Characters of one section; readers divide what is longer."""


def short_name(name: str) -> str:
    """The name, cut so that something can be added to it within the limit of file systems; a short ending is kept."""
    ending = Path(name).suffix if len(Path(name).suffix.encode()) <= 12 else ""
    kept = name.removesuffix(ending).encode(errors="replace")[: _LONGEST_NAME - len(ending.encode())]
    return kept.decode(errors="ignore") + ending


@dataclass(slots=True)
class Source:
    """A file to be read."""

    path: Path
    kind: str
    """Its kind by content, `detection.kind_of`: `xlsx`, `pdf`, `csv`."""
    name: str = ""
    """The user's name for it; by default the last part of its path."""
    depth: int = 0
    """Number of archives around it."""

    def __post_init__(self) -> None:
        self.name = self.name or self.path.name


class Contents:
    """An opened file. Large content is read when a section is requested, not before.

    Args:
        kind: The kind of the file.
        summary: One to five lines about the structure: sheets with rows, columns and header; pages; members; keys.
        lost: A sentence for each thing that the text does not show, or that was cut; grows while sections are read.
        facts: Facts that programs need to open it: encoding, delimiter; an archive's files; the transcriber of speech.
        count: Number of sections, if known without reading all.
        data: Files that a program can use better than the file itself, by name.
    """

    is_only_text = True
    """False for files that are more than their text, such as pictures."""

    def __init__(
        self,
        kind: str,
        summary: str = "",
        lost: list[str] | None = None,
        *,
        facts: dict[str, Json] | None = None,
        count: int | None = None,
        data: Mapping[str, bytes] | None = None,
    ) -> None:
        self.kind, self.summary, self.count = kind, summary, count
        self.lost = [] if lost is None else lost
        self.notes: list[str] = []
        """Facts about the reading that are no loss: an encoding, an engine; also grows."""
        self.facts = facts or {}
        self.pictures: set[int] = set()
        """Numbers of the sections read so far that contain pictures or are scanned."""
        self._data = data or {}

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yields the sections in order, starting with that number; one is in memory at a time."""
        raise NotImplementedError

    def preview(self) -> PreviewText:
        """The preview: all sections if there is room, else the beginning of the first ones."""
        text = ""
        for section in self.sections():
            text += section.text if self.count == 1 else f"\n\n[{section.name}]\n{section.text}"
            if len(text) > ROOM:
                return preview_of_beginning(text.lstrip("\n"), f" of {self.count:,} pages")
        return PreviewText([text.lstrip("\n")], f"complete, {count_of(self.count or 0, 'page')}")

    def save_data(self, folder: Path) -> list[Path]:
        """Writes the files for programs: pictures, a transcript, the text by pages, unpacked members."""
        for name, content in self._data.items():
            (folder / name).write_bytes(content)
        return [folder / name for name in self._data]

    def close(self) -> None:
        """Closes the file."""


class TextContents(Contents):
    """Contents with their sections in memory."""

    def __init__(
        self,
        kind: str,
        summary: str,
        parts: list[Section],
        *,
        lost: list[str] | None = None,
        data: Mapping[str, bytes] | None = None,
        is_only_text: bool = True,
    ) -> None:
        super().__init__(kind, summary, lost, count=len(parts), data=data)
        self.parts, self.is_only_text = parts, is_only_text

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yields the sections, starting with that number."""
        return iter(self.parts[first - 1 :])

    def preview(self) -> PreviewText:
        """The preview: the beginning and the end of the text."""
        if not self.is_only_text:
            shown = preview_of_text("\n\n".join(f"## {section.name}\n{section.text}" for section in self.parts))
            return shown._replace(label=shown.label.removeprefix("complete"))
        text = "\n\n".join(section.text for section in self.parts)
        pages = [(number, _HEADINGS.findall(section.text)) for number, section in enumerate(self.parts, 1)]
        headings = [f"- page {number}: {'; '.join(found)}" for number, found in pages if found]
        return preview_of_text(text, ["Headings:", *headings] if headings else [])


def first_of(items: Sequence[str], most: int = 10, joint: str = ", ") -> str:
    """The first items, and how many more there are."""
    return joint.join(items[:most]) + (f" and {len(items) - most:,} more" if len(items) > most else "")


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of rows, the first of which is the header; shorter rows are padded."""
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    cells = [[*row, *[""] * (width - len(row))] for row in rows]
    lines = [
        "| " + " | ".join(cell.strip().replace("|", "\\|").replace("\n", "<br>") for cell in row) + " |"
        for row in cells
    ]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])


def tables_in(text: str) -> list[list[list[str]]]:
    """The rows of the Markdown tables in a text; parts of one table in several sections are joined."""
    found, lines = list[list[list[str]]](), text.split("\n")
    is_inside, start, end = False, 0, 0
    for number, (line, following) in enumerate(pairwise([*lines, ""])):
        is_rule = is_inside and number == start + 1
        if not line.startswith("|"):
            is_inside = False
        elif TABLE_RULE.fullmatch(following.rstrip()) and not is_inside:
            is_inside, start, head = True, number, _cells(line)
            between = [one for one in lines[end:number] if one]
            is_part = found and found[-1][0] == head and between and all(map(_PART.fullmatch, between))
            found += [] if is_part else [[head]]
        elif is_inside and not is_rule:
            found[-1].append(_cells(line))
        end = number + 1 if is_inside else end
    return found


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|").replace("<br>", "\n") for cell in re.split(r"(?<!\\)\|", inner)]


def in_sections(blocks: Iterable[str], limit: int, name: str = "") -> list[Section]:
    """Divides blocks of text into sections of at most `limit` characters, at headings where possible.

    If there are several, they are named `name, part 2: Heading`.
    """
    parts: list[list[str]] = [[]]
    size = 0
    for block in (piece for whole in blocks if whole.strip() for piece in pieces(whole, limit)):
        starts = size > limit // 2 and _HEADINGS.match(block)
        if parts[-1] and (size + len(block) > limit or starts):
            parts.append([])
            size = 0
        parts[-1].append(block)
        size += len(block) + 2
    texts = ["\n\n".join(part) for part in parts]
    if len(texts) == 1:
        return [Section(name or "text", texts[0])]
    before = f"{name}, " if name else ""
    headings = (f": {found[1]}" if (found := _HEADINGS.search(text)) else "" for text in texts)
    named = enumerate(zip(headings, texts, strict=True), 1)
    return [Section(f"{before}part {number}{heading}", text) for number, (heading, text) in named]


def _parts(line: str, limit: int) -> Iterator[str]:
    """Divides a long line between words, if it has any."""
    while len(line) > limit:
        end = line.rfind(" ", limit // 2, limit) + 1 or limit
        yield line[:end]
        line = line[end:]
    yield line


def pieces(block: str, limit: int) -> Iterator[str]:
    """Divides a long block between lines; the header of a table is repeated."""
    if len(block) <= limit:
        yield block
        return
    lines = block.split("\n")
    has_head = lines[0].startswith("|") and len(lines) > 1 and TABLE_RULE.fullmatch(lines[1].rstrip())
    head = lines[:2] if has_head and sum(map(len, lines[:2])) <= limit // 4 else []
    taken = sum(len(one) + 1 for one in head)
    piece, size = list(head), taken
    for line in (part for whole in lines[len(head) :] for part in _parts(whole, limit - taken)):
        if len(piece) > len(head) and size + len(line) > limit:
            yield "\n".join(piece)
            piece, size = list(head), taken
        piece.append(line)
        size += len(line) + 1
    yield "\n".join(piece)
