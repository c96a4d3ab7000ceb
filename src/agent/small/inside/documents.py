"""What a text holds in order: tables in Markdown, lists under headings, lines of a label and a number."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

from agent.small.inside.tables import named_columns, typed

_ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?\s*)?$")
_CELL = re.compile(r"(?<!\\)\|")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)$")
_LABELLED = re.compile(r"\s*(\S[^:|]{0,60}?)\s*[:=]\s*([-+]?[$€£]?\s?\d[\d.,]*)\s*(\D{0,30}?)\s*$")
_MARKS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_FEWEST = 3
"""Items of a list, labelled lines, and tables of the same columns, from which on they are one table."""
_SHORT = 40
"""Characters of a line above a table that is its heading."""
PLACE = "place"
"""The attribute of a table that tells where in the text it is."""


def tables_in(text: str) -> list[tuple[str, Any]]:
    """The tables of a text, each with a label; those of the same columns are one when there are many."""
    lines = text.splitlines()
    return [*_joined(_markdown_tables(lines)), *_items(lines), *_labelled(lines)]


def around_tables(text: str) -> str:
    """A text without the lines that `tables_in` makes tables of; the text itself when it has none."""
    lines = text.splitlines()
    is_listed = sum(_ITEM.match(line) is not None for line in lines) >= _FEWEST
    labelled = {line for line, *_ in _labelled_lines(lines)}
    kept = [line for line in lines if not (_ROW.match(line) or (is_listed and _ITEM.match(line)) or line in labelled)]
    return re.sub(r"\n\s*\n+", "\n", "\n".join(kept)).strip() if len(kept) < len(lines) else text


def _markdown_tables(lines: list[str]) -> list[tuple[str, Any]]:
    """Each Markdown table with the line above it; its first row names the columns."""
    found: list[tuple[str, Any]] = []
    above, at = "", 0
    while at < len(lines):
        if at + 1 < len(lines) and _ROW.match(lines[at]) and _RULE.match(lines[at + 1]):
            end = next((k for k in range(at + 2, len(lines)) if not _ROW.match(lines[k])), len(lines))
            found.append((above, _table([_cells(lines[k]) for k in (at, *range(at + 2, end))])))
            at = end
            continue
        if lines[at].strip():
            heading = _HEADING.match(lines[at])
            above = _plain(heading[1] if heading else lines[at])
        at += 1
    return found


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [_plain(cell.replace("\\|", "|")) for cell in _CELL.split(inner)]


def _plain(text: str) -> str:
    return _MARKS.sub("", text).strip()


def _table(rows: list[list[str]]) -> Any:
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

    width = max(map(len, rows))
    head, *body = [row + [""] * (width - len(row)) for row in rows if row is rows[0] or any(row)]
    table = pd.DataFrame(body, columns=head, dtype=str)
    for number in range(width):
        table.isetitem(number, typed(table.iloc[:, number], "."))
    table.columns = [name or f"column_{number}" for number, name in enumerate(head, 1)]
    return named_columns(table)


def _joined(tables: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The tables with their labels, many of the same columns as one, with what stands above each as a column."""
    import pandas as pd

    kinds: dict[tuple[str, ...], list[tuple[str, Any]]] = {}
    for above, table in tables:
        kinds.setdefault(tuple(table.columns), []).append((above, table))
    joined: list[tuple[str, Any]] = []
    for columns, alike in kinds.items():
        if len(alike) >= _FEWEST:
            name = "above" if "above" not in columns else "above_it"
            parts = [table.assign(**{name: above}) for above, table in alike]
            joined.append(("table", pd.concat(parts, ignore_index=True)[[name, *columns]]))
            continue
        for above, table in alike:
            table.attrs[PLACE] = f"below {above!r}" if above else ""
            joined.append((above if 0 < len(above) <= _SHORT else "table", table))
    return joined


def _items(lines: list[str]) -> list[tuple[str, Any]]:
    import pandas as pd

    rows: list[dict[str, Any]] = []
    heading = ""
    for line in lines:
        if found := _HEADING.match(line):
            heading = _plain(found[1])
        elif found := _ITEM.match(line):
            rows.append({"heading": heading, "item": _plain(found[2]), "ticked": found[1]})
    if len(rows) < _FEWEST:
        return []
    table = pd.DataFrame(rows)
    has_boxes = table["ticked"].notna().any()
    table["ticked"] = [row["ticked"] in ("x", "X") for row in rows]
    table = table if has_boxes else table.drop(columns="ticked")
    table.attrs[PLACE] = "the items of lists in the text"
    return [("items", table)]


def _labelled(lines: list[str]) -> list[tuple[str, Any]]:
    """Lines such as `Soap: 25 boxes`, where several follow each other."""
    import pandas as pd

    rows = [row for _, *row in _labelled_lines(lines)]
    if not rows:
        return []
    table = pd.DataFrame(rows, columns=["label", "number", "unit"], dtype=str)
    table["number"] = typed(table["number"], ".")
    table = table if table["unit"].str.len().any() else table.drop(columns="unit")
    table.attrs[PLACE] = f"lines of the text such as {': '.join(rows[0][:2])!r}"
    return [("lines", table)]


def _labelled_lines(lines: list[str]) -> list[tuple[str, str, str, str]]:
    """Enough lines of a label and a number that follow each other: each with its label, number and unit."""
    found = [(line, None if _ITEM.match(line) or _ROW.match(line) else _LABELLED.match(line)) for line in lines]
    runs = [
        list(run)
        for is_one, run in groupby(filter(lambda one: one[0].strip(), found), lambda one: bool(one[1]))
        if is_one
    ]
    return [
        (line, _plain(match[1]), match[2], match[3])
        for run in runs
        if len(run) >= _FEWEST
        for line, match in run
        if match
    ]
