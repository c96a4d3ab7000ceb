"""The contents of an opened file: sections, a preview and files for programs; and helpers for its Markdown."""

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
    "mismatch",  # the suffix promises a known kind, but the content is of no known kind
    "too_large",
    "bomb",  # unpacks to more than the limit
    "unsupported",
    "timeout",
    "range",  # no such page
]
SECTION = 12_000
"""Default length of a page, in characters."""
_MAX_NAME_BYTES = 120
TABLES_FOLDER = "tables"
"""Folder of a document's tables as CSV, next to its text."""
TABLE_RULE = re.compile(r"\|[\s|:]*-[\s|:-]*")
"""The line below the header of a Markdown table."""
_PART = re.compile(r"## (?:.*, )?part \d+\b.*")
"""Heading of the next section of a text that was divided."""
_HEADINGS = re.compile(r"^#{1,3} +(\S.{0,80})", re.MULTILINE)


_REMEDIES: dict[Reason, str] = {
    "missing": "Check the file's name and folder.",
    "truncated": "A program can recover the intact parts.",
    "damaged": "The file may be corrupt or of another type. Inspect its bytes in a program.",
    "encrypted": "The file cannot be read without the password.",
    "mismatch": "The file may be corrupt or encrypted. Inspect its bytes in a program.",
    "too_large": "Read the file in parts, in a program.",
    "bomb": "Do not open this file unless you trust its source.",
    "timeout": "Read a single page, or open the file in a program.",
    "range": "Page numbers start at 1.",
}


class FileProblem(ModelFixableError):
    """A file that cannot be read, or cannot be read as requested. The default remedy depends on the reason."""

    def __init__(self, reason: Reason, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message, remedy=_REMEDIES.get(reason, "") if remedy is None else remedy)
        self.reason: Reason = reason


def damaged(name: str, kind: str, why: object) -> FileProblem:
    """Return the problem for a failed reader, with the reason on one line."""
    reason = " ".join(str(why).split())[:200].rstrip(".")
    return FileProblem("damaged", f"{name} cannot be read as {kind}: {reason}.")


def too_large(name: str, limits: ReadLimits) -> FileProblem:
    """Return the problem for a file that cannot be read within the memory limit."""
    return FileProblem("too_large", f"Reading {name} needs more than {limits.memory >> 20:,} MiB of memory.")


def locked(name: str) -> FileProblem:
    """Return the problem for a file that needs a password."""
    return FileProblem("encrypted", f"{name} is protected by a password.")


def without_package(package: str | None, extra: str, use: str) -> FileProblem:
    """Return the problem for a missing package. `use` completes the sentence "so …"."""
    return FileProblem(
        "unsupported",
        f"The package {package} is not installed, so {use}.",
        remedy=f"`alita doctor` shows how to install the extra [{extra}].",
    )


@dataclass(frozen=True, slots=True)
class Section:
    """A page, sheet, slide, chapter or member of a file."""

    name: str
    """Name shown to users: `page 3`, `sheet Costs, rows 1-500`, `slide 2`, `data/notes.txt`."""
    text: str
    """Markdown, or the unchanged text of a text file."""
    line: int = 1
    """Number of its first line, for files with continuous line numbers."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits for reading one file."""

    seconds: float = 120
    memory: int = 2 * 2**30
    """Limit on the reading process's address space, in bytes."""
    unpacked: int = 2**30
    """Limit on the unpacked size of an archive or a document, in bytes."""
    members: int = 10_000
    """Maximum number of members in an archive, including those of nested archives."""
    depth: int = 4
    """Maximum nesting depth of archives."""
    section: int = SECTION
    """Length of a section in characters. Readers divide longer texts."""


def short_name(name: str) -> str:
    """Shorten a file name so that text can be added to it within the limit of file systems. A short suffix is kept."""
    ending = Path(name).suffix if len(Path(name).suffix.encode()) <= 12 else ""
    kept = name.removesuffix(ending).encode(errors="replace")[: _MAX_NAME_BYTES - len(ending.encode())]
    return kept.decode(errors="ignore") + ending


@dataclass(slots=True)
class Source:
    """A file to be read."""

    path: Path
    kind: str
    """The name of its kind, from `detection.kind_of`: `xlsx`, `pdf`, `csv`."""
    name: str = ""
    """The name shown to users; by default, the last part of the path."""
    depth: int = 0
    """Number of nested archives that contain it."""

    def __post_init__(self) -> None:
        self.name = self.name or self.path.name


class Contents:
    """An opened file. A section is read when it is requested.

    Args:
        kind: The kind of the file.
        summary: The structure in one to five lines: sheets with rows, columns and header; pages; members; keys.
        lost: A sentence about each thing that the text leaves out. The list grows while sections are read.
        facts: Facts that programs need: the encoding, the delimiter, the files in an archive, the speech engine.
        count: Number of sections; None if counting them would mean reading the whole file.
        data: Files that are easier for programs than the file itself, by name.
    """

    is_only_text = True
    """False if the text cannot replace the file, as with pictures."""

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
        """Other facts about the reading, such as the encoding. The list also grows while sections are read."""
        self.facts = facts or {}
        self.pictures: set[int] = set()
        """Numbers of the sections read so far that contain pictures or are scanned."""
        self._data = data or {}

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yield the sections in order from number `first`. Only one is in memory at a time."""
        raise NotImplementedError

    def preview(self) -> PreviewText:
        """Return all sections if they fit into a preview, else the beginning."""
        text = ""
        for section in self.sections():
            text += section.text if self.count == 1 else f"\n\n[{section.name}]\n{section.text}"
            if len(text) > ROOM:
                return preview_of_beginning(text.lstrip("\n"), f" of {self.count:,} pages")
        return PreviewText([text.lstrip("\n")], f"complete, {count_of(self.count or 0, 'page')}")

    def save_data(self, folder: Path) -> list[Path]:
        """Write the files for programs: pictures, a transcript, the text by pages, unpacked members."""
        for name, content in self._data.items():
            (folder / name).write_bytes(content)
        return [folder / name for name in self._data]

    def close(self) -> None:
        """Close the file."""


class TextContents(Contents):
    """Contents that hold all sections in memory."""

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
        """Yield the sections from number `first`."""
        return iter(self.parts[first - 1 :])

    def preview(self) -> PreviewText:
        """Return the text if it is short, else its beginning, its headings and its end."""
        if not self.is_only_text:
            shown = preview_of_text("\n\n".join(f"## {section.name}\n{section.text}" for section in self.parts))
            return shown._replace(label=shown.label.removeprefix("complete"))
        text = "\n\n".join(section.text for section in self.parts)
        pages = [(number, _HEADINGS.findall(section.text)) for number, section in enumerate(self.parts, 1)]
        headings = [f"- page {number}: {'; '.join(found)}" for number, found in pages if found]
        return preview_of_text(text, ["Headings:", *headings] if headings else [])


def first_of(items: Sequence[str], most: int = 10, joint: str = ", ") -> str:
    """Join the first items, and count the rest: `a, b and 3 more`."""
    return joint.join(items[:most]) + (f" and {len(items) - most:,} more" if len(items) > most else "")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table. The first row is the header; shorter rows are padded."""
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
    """Return the rows of each Markdown table in a text. Parts of a table in consecutive sections are joined."""
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
    """Combine blocks of text into sections of at most `limit` characters, divided at headings where possible.

    If there are several sections, they are named `name, part 2: Heading`.
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
    """Divide a long line, between words if possible."""
    while len(line) > limit:
        end = line.rfind(" ", limit // 2, limit) + 1 or limit
        yield line[:end]
        line = line[end:]
    yield line


def pieces(block: str, limit: int) -> Iterator[str]:
    """Divide a long block between lines. Each part of a table begins with its header."""
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
