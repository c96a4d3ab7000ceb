"""Rows as text: a Markdown table with row numbers, in pages of a fixed number of rows."""

from __future__ import annotations

from collections.abc import Sequence

FEWEST_ROWS = 10
CELL = 2_000
"""Characters of a cell that a page shows."""
_ROUND = (500, 250, 200, 100, 50, 25, 20, FEWEST_ROWS)


def rows_per_page(sample: Sequence[Sequence[str]], characters: int) -> int:
    """How many rows make a page of so many characters, judged by some rows."""
    width = max((sum(min(len(cell), CELL) + 3 for cell in row) + 8 for row in sample), default=1)
    mean = sum(sum(min(len(cell), CELL) + 3 for cell in row) + 8 for row in sample) / max(1, len(sample))
    fitting = 0.8 * characters / max(1.0, mean, width / 4)
    return next((rows for rows in _ROUND if rows <= fitting), FEWEST_ROWS)


def as_table(header: Sequence[str], rows: Sequence[tuple[int, Sequence[str]]], characters: int) -> tuple[str, int]:
    """A table with the number of each row in front, and how many cells were shortened to make it fit."""
    for most in (CELL, 400, 100, 30):
        lines = [line_of("", header, most), "|---" * (len(header) + 1) + "|"]
        lines += [line_of(number, row, most) for number, row in rows]
        text = "\n".join(lines)
        if len(text) <= characters:
            break
    return text, sum(len(cell) > most for _, row in rows for cell in row)


def letters(number: int) -> str:
    """The letters of a column, from 1."""
    name = ""
    while number:
        number, rest = divmod(number - 1, 26)
        name = chr(65 + rest) + name
    return name


def number_of_letters(name: str) -> int:
    """The number of a column, from its letters."""
    number = 0
    for letter in name:
        number = number * 26 + ord(letter) - 64
    return number


def first_of(cells: Sequence[str]) -> str:
    """The first ten cells, and how many more there are."""
    return ", ".join(cells[:10]) + (f" and {len(cells) - 10} more" if len(cells) > 10 else "")


def line_of(number: int | str, row: Sequence[str], most: int) -> str:
    """A row of a table, cells cut at so many characters."""
    joined = " | ".join(row)
    plain = len(joined) <= most and joined.count("|") == len(row) - 1 and "\n" not in joined and "\r" not in joined
    return f"| {number} | {joined if plain else ' | '.join([_cell(cell, most) for cell in row])} |"


def _cell(text: str, most: int) -> str:
    if len(text) > most:
        text = f"{text[:most]}… ({len(text):,} characters)"
    if "\n" in text or "\r" in text:
        text = "<br>".join(text.splitlines())
    return text.replace("|", "\\|") if "|" in text else text
