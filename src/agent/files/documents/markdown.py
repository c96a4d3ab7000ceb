"""Markdown that readers write: tables, and texts divided into sections at their headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from agent.files.contents import Section

_HEADING = re.compile(r"(#{1,3}) +(\S.*)")


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
    for block in (piece for whole in blocks if whole.strip() for piece in _pieces(whole, limit)):
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


def _pieces(block: str, limit: int) -> Iterator[str]:
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
