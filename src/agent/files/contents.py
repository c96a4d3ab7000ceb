"""What a reader makes of a file: sections of text, facts, files for programs, and what was lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent.files.previews import Part, sampled_part, text_part

if TYPE_CHECKING:
    from mcp_tools.tool import Json


_HEADINGS = re.compile(r"^#{1,3} +(\S.{0,80})", re.MULTILINE)
SECTION = 12_000
"""Characters of a page, unless told."""


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


class Contents(Protocol):
    """An opened file. What is large is read when a section is asked for, not before."""

    kind: str
    summary: str
    """One to five lines about the structure: sheets with rows, columns and header; pages; members; keys."""
    facts: dict[str, Json]
    """The same for programs: sheet sizes, page count, encoding, dialect, pixels, EXIF, seconds, speakers."""
    lost: list[str]
    """A sentence for each thing that the text does not show, or that was cut; grows while sections are read."""

    @property
    def count(self) -> int | None:
        """How many sections there are, where that is known without reading all."""
        ...

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The sections in order, from that number on, one in memory at a time."""
        ...

    def preview(self) -> list[Part]:
        """How each of its sheets, tables, lists or texts begins."""
        ...

    def save_data(self, folder: Path) -> list[Path]:
        """Writes what a program can use better than the file itself; empty where the file itself is best.

        A transcript for a sound, the text by pages for a PDF, the unpacked members for an archive.
        """
        ...

    def close(self) -> None:
        """Lets go of the file."""
        ...


class Reader(Protocol):
    """Reads files of some kinds."""

    kinds: frozenset[str]

    def open(self, source: Source, limits: ReadLimits) -> Contents:
        """Opens a file.

        Raises:
            FileProblem: It is empty, damaged, locked by a password, too large, or not what it says it is.
        """
        ...


@dataclass(slots=True)
class TextContents:
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

    @property
    def count(self) -> int | None:
        """How many sections there are."""
        return len(self.parts)

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The sections from that number on."""
        return islice(iter(self.parts), first - 1, None)

    def preview(self) -> list[Part]:
        """How the text begins and ends."""
        if not self.is_all:
            return [text_part(section.text, None, name=section.name) for section in self.parts]
        text = "\n\n".join(section.text for section in self.parts)
        return [sampled_part(text, self._outline())]

    def _outline(self) -> list[str]:
        """The headings of each page."""
        pages = [(number, _HEADINGS.findall(section.text)) for number, section in enumerate(self.parts, 1)]
        told = [f"- page {number}: {'; '.join(headings)}" for number, headings in pages if headings]
        return ["Headings:", *told] if told else []

    def save_data(self, folder: Path) -> list[Path]:
        """Writes the files for programs."""
        for name, content in self.data.items():
            (folder / name).write_bytes(content)
        return [folder / name for name in self.data]

    def close(self) -> None:
        """Nothing is open."""
