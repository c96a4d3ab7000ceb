"""Breaking text into rows, so that it never begins where a prompt begins."""

from __future__ import annotations

from rich.cells import cell_len

from mcp_tools.text import printable


def rows_of(text: str, width: int, *, head: str = "  ", indent: str = "  ") -> list[str]:
    """Rows of at most `width` columns.

    Args:
        text: Anything; what could steer a terminal is taken out.
        width: Columns of the terminal.
        head: What the first row begins with.
        indent: What every further row begins with.
    """
    rows: list[str] = []
    for line in printable(text).expandtabs(4).split("\n"):
        rest = line
        while True:
            start = indent if rows else head
            row, rest = _split(rest, max(width - cell_len(start), 8))
            rows.append((start + row).rstrip())
            if not rest:
                break
    return rows


def _split(text: str, room: int) -> tuple[str, str]:
    """What fits, broken at a blank where there is one, and the rest."""
    if cell_len(text) <= room:
        return text, ""
    fits, used = 0, 0
    for character in text:
        used += cell_len(character)
        if used > room:
            break
        fits += 1
    blank = text.rfind(" ", 1, fits + 1)
    if blank > fits // 2:
        return text[:blank], text[blank + 1 :]
    return text[: max(fits, 1)], text[max(fits, 1) :]
