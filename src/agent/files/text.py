"""Reader of text files: the unchanged text in pages, and a summary of its structure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from agent.files.contents import Contents, FileProblem, ReadLimits, Section, Source
from agent.files.encoding import Encoding, encoding_of_file
from agent.files.previews import ROOM, PreviewText, preview_of_beginning, preview_of_lists, preview_of_text
from agent.files.structure import Structure, lists_of, structure_of
from mcp_tools.text import one_line

MAX_COUNTED_BYTES = 32 << 20
"""Maximum size of a file that is read in full. For larger files, the structure and the number of pages stay unknown."""
_DATA = frozenset({"json", "jsonl", "jsonld", "xml"})
_MAX_EXTRA_CHARS = 500  # by which a page may exceed its length to end with a whole line
_DECLARED = re.compile(
    rb"""\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*encoding\s*=\s*["']|(?:.*\n)?.*#.*coding[:=][ \t]*)([-\w.]+)"""
)
_MARKDOWN_HEADING = re.compile(r"#{1,6} +\S")
_SHORT_LINE = re.compile(r"(?=.*[^\W\d_]{2})[^\W_].{1,78}[^\s.,;!?:]")
_MAX_HEADING_CHARS = 60
_MAX_HEADING_SHARE = 0.2  # with more, short separate lines are not headings


def text_encoding(source: Source) -> Encoding:
    """Return the encoding of a text file, from its byte order mark, its declaration (as in XML) or its bytes.

    Raises:
        FileProblem: The file is not text.
    """
    found = encoding_of_file(source.path)
    with source.path.open("rb") as file:
        declared = _DECLARED.match(file.read(400))
    if found is None:
        raise FileProblem("mismatch", f"{source.name} is not text: it contains control characters.")
    if found.mark or (found.name == "utf-8" and not found.mixed) or not declared:
        return found
    try:
        "".encode(declared[1].decode("ascii"))
    except (LookupError, UnicodeError):  # the codec `undefined` always raises
        return found
    return replace(found, name=declared[1].decode("ascii"), mixed=False)


class TextFile(Contents):
    """The contents of a text file."""

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        self._path, self._encoding = source.path, text_encoding(source)
        super().__init__(source.kind, facts={"encoding": self._encoding.name})
        self._block = max(1, limits.section - _MAX_EXTRA_CHARS)
        size = source.path.stat().st_size
        structure = Structure(f"{size:,} bytes of text")
        if size <= MAX_COUNTED_BYTES:
            self.count = sum(1 for _ in self._blocks())
            with self._encoding.open(source.path) as stream:
                structure = structure_of(source, stream.read())
        pages = f"; {self.count} pages" if (self.count or 0) > 1 else ""
        self.summary = f"{structure.summary}; {self._encoding.codec_name}{pages}"
        self.lost = [structure.lost] if structure.lost else []
        self.notes = self._encoding.notes
        self._outline = structure.outline

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yield the pages from number `first`."""
        line = 1
        for number, block in enumerate(self._blocks(), 1):
            following = line + block.count("\n")
            if number >= first:
                last = following - block.endswith("\n")
                name = f"lines {line:,}-{last:,}" if last > line else f"line {line:,}"
                yield Section(name, block.rstrip("\n"), line)
            line = following

    def preview(self) -> PreviewText:
        """Return the preview. For long JSON, it shows the beginning of each list."""
        with self._encoding.open(self._path) as stream:
            text = stream.read(ROOM + 1)
            if len(text) > ROOM:
                if self.count is None:
                    return preview_of_beginning(text)
                text += stream.read()
                if lists := lists_of(self.kind, text):
                    return preview_of_lists(lists)
        text = text.rstrip("\n")
        if self.kind in (*_DATA, "source") or len(text) <= ROOM:
            return preview_of_text(text, self._outline)
        return preview_of_text(text, _headings(text.split("\n")))

    def _blocks(self) -> Iterator[str]:
        with self._encoding.open(self._path) as stream:
            while block := stream.read(self._block):
                if not block.endswith("\n"):
                    block += stream.readline(_MAX_EXTRA_CHARS)
                yield block


def _headings(lines: list[str]) -> list[str]:
    """Return the headings with line numbers: Markdown headings, and short lines between blank lines."""
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        alone = (number == 1 or not lines[number - 2].strip()) and not "".join(lines[number : number + 1]).strip("=-~ ")
        if _MARKDOWN_HEADING.match(line) or (
            alone and _SHORT_LINE.fullmatch(line.strip()) and not line.strip()[0].islower()
        ):
            found.append(f"- {number}: {one_line(line.lstrip('# '), _MAX_HEADING_CHARS)}")
    length = sum(map(len, lines))
    return ["Headings by line:", *found] if 0 < sum(map(len, found)) < length * _MAX_HEADING_SHARE else []
