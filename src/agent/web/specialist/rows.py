"""Rows of a table as a small model reads them: each value beside the name of its column."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent.web.specialist.terms import stems_of

_BETWEEN = " | "


def labelled(text: str, wanted: Collection[str] = ()) -> str:
    """A quotation whose rows say what each value is; one that is no table stays as it is.

    Args:
        text: Rows with ` | ` between the cells, the head first. A second row without a first cell is part of the head,
            and an empty cell of the head goes on with the one before it.
        wanted: Stems of a question's words: where some rows have more of them than others, only these are given.
    """
    rows = [[cell.strip() for cell in line.split(_BETWEEN.strip())] for line in text.splitlines()]
    if len(rows) < 2 or any(len(row) < 2 for row in rows):
        return text
    head, body = rows[0], rows[1:]
    if len(body) > 1 and not body[0][0]:
        head, body = _joined(head, body[0]), body[1:]
    fits = [len({stem for cell in row for stem in stems_of(cell)} & set(wanted)) for row in body]
    return "\n".join(_row(head, row) for row, fit in zip(body, fits, strict=True) if fit == max(fits))


def _joined(head: Sequence[str], below: Sequence[str]) -> list[str]:
    """Two rows of a head as one: `From Oxmere` over `first` and `last`."""
    names: list[str] = []
    above = ""
    for number, name in enumerate(below):
        above = (head[number] if number < len(head) else "") or above
        names.append(f"{above} {name}".strip())
    return names


def _row(head: Sequence[str], row: Sequence[str]) -> str:
    named = [f"{head[n]}: {cell}" if n < len(head) and head[n] else cell for n, cell in enumerate(row) if cell]
    return "; ".join(named)
