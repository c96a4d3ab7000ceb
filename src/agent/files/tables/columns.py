"""What the columns of a table hold: kinds of values, how many are empty, which are odd, and all where they are few."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

_FEW = 12
"""Different values of a column that are all named."""
_CELLS = 300_000
"""Cells that are looked at."""
_AT_ONCE = 1000
"""Rows that are held at once."""
_MOST = 60
"""Columns that are told of."""
_WIDTH = 40
"""Characters of a value or a name."""
_EXAMPLES = 4
"""Values that are named of those that are not like the rest."""
_LIKE_THE_REST = 0.8
"""Share of the values of one form from which on the others are odd."""
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?(?:(?:0|[1-9]\d*|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?|,\d+)")
_DATE = re.compile(r"[12]\d{3}-[01]\d-[0-3]\d(?:[ T][0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?")
_RUN = re.compile(r"(\d+)|([^\W\d_]+)|\s+")


def looked_at(columns: int) -> int:
    """How many rows of a table with so many columns are looked at."""
    return max(1000, _CELLS // max(1, columns))


def columns_told(
    names: Sequence[str], rows: Iterable[Sequence[str]], *, total: int | None, decimal: str = "."
) -> list[str]:
    """A line for each column, below a line that says over how many rows.

    Args:
        names: Of the columns.
        rows: The rows, without a header; at most as many as are `looked_at`. They are not kept.
        total: How many rows there are.
        decimal: The mark before decimals.
    """
    columns: list[Counter[str]] = [Counter() for _ in names]
    count, each = 0, iter(rows)
    while some := list(islice(each, _AT_ONCE)):
        count += len(some)
        for index, values in enumerate(columns):
            values.update(row[index] if index < len(row) else "" for row in some)
    if not count or not names:
        return []
    over = "" if count == total else f" (in the first {count:,} rows)"
    lines = [
        f"- {_short(name) or f'column {number}'}: {values_told(values, decimal)}"
        for number, (name, values) in enumerate(zip(names[:_MOST], columns, strict=False), 1)
    ]
    more = [f"- and {len(names) - _MOST} more columns"] if len(names) > _MOST else []
    return [f"Columns{over}:", *lines, *more]


def values_told(values: Mapping[str, int], decimal: str = ".") -> str:
    """What some values are: of which kind, from where to where, which of them where they are few, and which are odd.

    Args:
        values: How often there is each.
        decimal: The mark before decimals.
    """
    empty = sum(count for value, count in values.items() if not value.strip())
    there = {value: count for value, count in values.items() if value.strip()}
    if not there:
        return "empty"
    total = sum(there.values())
    kinds: dict[str, list[str]] = {}
    for value in there:
        kinds.setdefault(_kind(value, decimal), []).append(value)
    counts = {kind: sum(there[value] for value in found) for kind, found in kinds.items()}
    told = " and ".join(
        f"{kind}{_range(kind, kinds[kind], decimal)}{f' ({counts[kind]:,})' if len(kinds) > 1 else ''}"
        for kind in sorted(kinds, key=lambda one: -counts[one])
    )
    if len(there) <= _FEW and len(there) < total:
        counted = sorted(there.items(), key=lambda one: (-one[1], one[0]))
        told += f"; {len(there)} value{'s' * (len(there) != 1)}: " + ", ".join(
            f"{_short(value)} ({count:,})" for value, count in counted
        )
    else:
        told += "; all different" if len(there) == total > 1 else f"; {len(there):,} different"
        told += _odd(there, kinds, counts, total) + _variants(there, kinds, decimal)
    return told + (f"; {empty:,} empty" if empty else "")


def _odd(there: Mapping[str, int], kinds: Mapping[str, list[str]], counts: Mapping[str, int], total: int) -> str:
    """Values of another kind than most, or of another form where they are of one kind."""
    if len(kinds) > 1:
        usual = max(counts, key=lambda kind: counts[kind])
        odd = [value for kind, found in kinds.items() if kind != usual for value in found]
        return f"; not {usual}: {_examples(odd, there)}"
    if "text" not in kinds:
        return ""
    forms = {value: _form(value) for value in there}
    sizes = Counter[str]()
    for value, form in forms.items():
        sizes[form] += there[value]
    form, size = sizes.most_common(1)[0]
    if size == total or size < _LIKE_THE_REST * total:
        return ""
    return f"; {total - size:,} not like {form}: {_examples((one for one in there if forms[one] != form), there)}"


def _variants(there: Mapping[str, int], kinds: Mapping[str, list[str]], decimal: str) -> str:
    """Values that programs take for different ones, or for text, though people do not."""
    numbers, mark = kinds.get("number", []), "." if decimal == "," else ","
    grouped = [value for value in numbers if mark in value]
    told = f"; with thousands separators: {_examples(grouped, there)}" if 0 < len(grouped) < len(numbers) else ""
    spelled: dict[str, list[str]] = {}
    for value in kinds.get("text", []):
        spelled.setdefault(" ".join(value.split()).casefold(), []).append(value)
    same = [" = ".join(map(_short, values[:3])) for values in spelled.values() if len(values) > 1]
    more = ", …" if len(same) > _EXAMPLES else ""
    return told + (f"; same but for case or blanks: {', '.join(same[:_EXAMPLES])}{more}" if same else "")


def _examples(values: Iterable[str], there: Mapping[str, int]) -> str:
    """The commonest of some values."""
    by_count = sorted(values, key=lambda value: -there[value])
    named = [f"{_short(value)}{f' ({there[value]:,})' if there[value] > 1 else ''}" for value in by_count[:_EXAMPLES]]
    return ", ".join(named) + (", …" if len(by_count) > _EXAMPLES else "")


def _form(value: str) -> str:
    """A value with 9 for digits and A for letters, however many: `A9-9`."""
    return _RUN.sub(lambda run: "9" if run[1] else "A" if run[2] else " ", value[:_WIDTH])


def _kind(value: str, decimal: str) -> str:
    value = value.strip()
    if (_WITH_COMMA if decimal == "," else _NUMBER).fullmatch(value):
        return "number"
    return "date" if _DATE.fullmatch(value) else "text"


def _range(kind: str, values: Sequence[str], decimal: str) -> str:
    if kind == "text" or len(values) < 2:
        return ""
    if kind == "date":
        return f" {min(values).strip()} to {max(values).strip()}"
    numbers = {_as_float(value, decimal): value.strip() for value in values}
    return f" {numbers[min(numbers)]} to {numbers[max(numbers)]}"


def _as_float(value: str, decimal: str) -> float:
    return float(value.replace(".", "").replace(",", ".") if decimal == "," else value.replace(",", ""))


def _short(value: str) -> str:
    """A value on one line, in quotes where blanks stand around it."""
    plain = " ".join(value.split())
    plain = plain if len(plain) <= _WIDTH else f"{plain[: _WIDTH - 1]}…"
    before, after = " " * (value[:1].isspace()), " " * (value[-1:].isspace())
    return f'"{before}{plain}{after}"' if before or after else plain
