"""Text files of any kind: the text unchanged, in pages, with a summary of its structure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from agent.files.contents import Contents, FileProblem, ReadLimits, Section, Source
from agent.files.encoding import Encoding, encoding_of_file
from agent.files.previews import ROOM, PreviewText, preview_of_beginning, preview_of_lists, preview_of_text
from agent.files.structure import Structure, lists_of, structure_of
from mcp_tools.text import one_line

COUNTED = 32 << 20
"""Up to this many bytes, a file is read whole to find its structure and count its pages."""
_DATA = frozenset({"json", "jsonl", "jsonld", "xml"})
_LINE_END = 500  # characters that a page may take more, to end with a line
_DECLARED = re.compile(
    rb"""\A(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*encoding\s*=\s*["']|(?:.*\n)?.*#.*coding[:=][ \t]*)([-\w.]+)"""
)
_MARKED = re.compile(r"#{1,6} +\S")
_ALONE = re.compile(r"(?=.*[^\W\d_]{2})[^\W_].{1,78}[^\s.,;!?:]")
_HEADING = 60
_SPARSE = 0.2  # maximum share of headings in a text; above it, short separate lines are no headings


def text_encoding(source: Source) -> Encoding:
    """The encoding of a text file: by its byte order mark, its own declaration, or its bytes."""
    found = encoding_of_file(source.path)
    with source.path.open("rb") as file:
        declared = _DECLARED.match(file.read(400))
    if found is None:
        raise FileProblem("mismatch", f"{source.name} is not text: it contains control characters.")
    if found.mark or (found.name == "utf-8" and not found.mixed) or not declared:
        return found
    try:
        "".encode(declared[1].decode("ascii"))
    except (LookupError, UnicodeError):  # `undefined` refuses to write anything
        return found
    return replace(found, name=declared[1].decode("ascii"), mixed=False)


class TextFile(Contents):
    """A text file, page by page."""

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        self._path, self._encoding = source.path, text_encoding(source)
        super().__init__(source.kind, facts={"encoding": self._encoding.name})
        self._block = max(1, limits.section - _LINE_END)
        size = source.path.stat().st_size
        structure = Structure(f"{size:,} bytes of text")
        if size <= COUNTED:
            self.count = sum(1 for _ in self._blocks())
            with self._encoding.open(source.path) as stream:
                structure = structure_of(source, stream.read())
        pages = f"; {self.count} pages" if (self.count or 0) > 1 else ""
        self.summary = f"{structure.summary}; {self._encoding.told}{pages}"
        self.lost = [structure.lost] if structure.lost else []
        self.notes = self._encoding.notes
        self._outline = structure.outline

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yields the pages, starting with that number."""
        line = 1
        for number, block in enumerate(self._blocks(), 1):
            following = line + block.count("\n")
            if number >= first:
                last = following - block.endswith("\n")
                name = f"lines {line:,}-{last:,}" if last > line else f"line {line:,}"
                yield Section(name, block.rstrip("\n"), line)
            line = following

    def preview(self) -> PreviewText:
        """The preview; for long JSON, the beginning of each list in it."""
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
                    block += stream.readline(_LINE_END)
                yield block


def _headings(lines: list[str]) -> list[str]:
    """The headings of a text with line numbers: Markdown headings, or short lines between blank lines."""
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        alone = (number == 1 or not lines[number - 2].strip()) and not "".join(lines[number : number + 1]).strip("=-~ ")
        if _MARKED.match(line) or (alone and _ALONE.fullmatch(line.strip()) and not line.strip()[0].islower()):
            found.append(f"- {number}: {one_line(line.lstrip('# '), _HEADING)}")
    length = sum(map(len, lines))
    return ["Headings by line:", *found] if 0 < sum(map(len, found)) < length * _SPARSE else []
