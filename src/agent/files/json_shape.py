"""How JSON is built: one description of all that stands at the same place, and how its lists begin."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from agent.files.previews import FIRST, Part, others_told, part_of, text_part
from mcp_tools.text import one_line

_DEPTHS = (9, 7, 5, 4, 3, 2)
"""Lists and objects inside each other that are told of: as many as there is room for."""
_SHAPE = 1_500
"""Characters about how JSON is built."""
_KEYS = 30
"""Keys of an object that are told of."""
_FEW = 12
"""Different texts that are all named."""
_WORD = 30
"""Characters of a text that may be one of a few."""
_ENTRY = 600
"""Characters of an entry."""
_SHORT = 200
"""Characters of a value that needs no part of its own."""
_MOST_PARTS = 40
_FORMS = 3
"""Entries of other forms than the first ones that are shown."""
_DATE = re.compile(r"[12]\d{3}-[01]\d-[0-3]\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?")


def shape_told(values: Sequence[Any]) -> str:
    """How values are built, as deeply as there is room for."""
    shapes = (one_line(_shape(values, depth), 10 * _SHAPE) for depth in _DEPTHS)
    return one_line(next((shape for shape in shapes if len(shape) <= _SHAPE), _shape(values, _DEPTHS[-1])), _SHAPE)


def _shape(values: Sequence[Any], depth: int) -> str:
    """What kinds of values there are at one place, each with how often where they are several."""
    by_kind: dict[str, list[Any]] = {}
    for value in values:
        by_kind.setdefault(_kind(value), []).append(value)
    told = [(_told(kind, found, depth), len(found)) for kind, found in by_kind.items()]
    if len(told) == 1:
        return told[0][0]
    return " or ".join(f"{text} ({count:,})" for text, count in sorted(told, key=lambda one: -one[1]))


def json_parts(value: Any) -> list[Part]:
    """How the lists and objects of a value begin; none of a value that is neither."""
    name = ""
    while isinstance(value, dict) and len(value) == 1:
        ((key, inner),) = value.items()
        if not isinstance(inner, dict | list):
            break
        name, value = f"{name}.{key}".lstrip("."), inner
    if isinstance(value, list):
        return [_list_part(value, "entries", name)]
    if not isinstance(value, dict):
        return []
    large = {key: one for key, one in value.items() if isinstance(one, dict | list) and _is_long(one)}
    if not large or len(large) > _MOST_PARTS:
        return [part_of(_members(value), len(value), "entries", name=name)]
    small = {key: one for key, one in value.items() if key not in large}
    parts = [part_of(_members(small), len(small), "entries", name="other keys")] if small else []
    for key, one in large.items():
        inner = f"{name}.{key}".lstrip(".")
        if isinstance(one, list):
            parts.append(_list_part(one, "entries", inner))
        else:
            parts.append(part_of(_members(one), len(one), "entries", name=inner))
    return parts


def lines_part(text: str) -> Part:
    """How JSON lines begin."""
    values = []
    for line in text.splitlines():
        try:
            values += [json.loads(line)] if line.strip() else []
        except (ValueError, RecursionError):
            values.append(_Broken(line))
    return _list_part(values, "lines") if values else text_part(text, len(text))


class _Broken(str):
    """A line that is no JSON."""

    __slots__ = ()


def _list_part(values: list[Any], unit: Literal["entries", "lines"], name: str = "") -> Part:
    """How a list begins, and the first entries of other forms: with other keys, or of another kind."""
    forms: dict[Any, list[int]] = {}
    for number, value in enumerate(values, 1):
        form = frozenset(value) if isinstance(value, dict) else type(value).__name__
        forms.setdefault(form, []).append(number)
    name_of_one = "entry" if unit == "entries" else "line"
    told = others_told(forms, name_of_one, FIRST[unit], _FORMS, lambda number: _entry(values[number - 1]))
    return part_of(map(_entry, values), len(values), unit, name=name, columns=told)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    return {dict: "object", list: "list", str: "text", int: "number", float: "number"}.get(type(value), "null")


def _told(kind: str, values: list[Any], depth: int) -> str:
    if kind == "object":
        return _object(values, depth)
    if kind == "list":
        return _list(values, depth)
    if kind == "text" and len(values) > 1:
        counts = Counter(values)
        if len(counts) <= min(_FEW, len(values) - 1) and all(len(one) <= _WORD for one in counts):
            return f"text ({', '.join(f'{json.dumps(one, ensure_ascii=False)}: {n:,}' for one, n in counts.items())})"
        if all(map(_DATE.fullmatch, counts)):
            return f"date {min(counts)} to {max(counts)}"
        if len(counts) == 1:
            return "text, always the same"
        return f"text, {'all' if len(counts) == len(values) else f'{len(counts):,}'} different"
    if kind == "number" and len(values) > 1:
        return f"number {min(values)} to {max(values)}"
    return kind


def _object(values: list[dict[str, Any]], depth: int) -> str:
    keys = Counter(key for one in values for key in one)
    if not depth:
        return f"{{{len(keys)} keys}}"
    if len(keys) > _KEYS and all(isinstance(inner, dict | list) for one in values for inner in one.values()):
        named = ", ".join(json.dumps(key, ensure_ascii=False) for key in list(keys)[:3])
        return f"{{{len(keys):,} keys such as {named}: {_shape(_inner(values), depth - 1)}}}"
    shown = []
    for key in list(keys)[:_KEYS]:
        there = [one[key] for one in values if key in one]
        some = f" (in {len(there):,})" if len(there) < len(values) else ""
        shown.append(f"{key}: {_shape(there, depth - 1)}{some}")
    more = f", and {len(keys) - _KEYS:,} more keys" if len(keys) > _KEYS else ""
    return "{" + ", ".join(shown) + more + "}"


def _inner(values: list[dict[str, Any]]) -> list[Any]:
    return [inner for one in values for inner in one.values()]


def _list(values: list[list[Any]], depth: int) -> str:
    sizes = sorted({len(one) for one in values})
    of = f"list of {sizes[0]:,}" if len(sizes) == 1 else f"list of {sizes[0]:,} to {sizes[-1]:,}"
    entries = [entry for one in values for entry in one]
    return f"{of}: {_shape(entries, depth - 1)}" if entries and depth else of


def _is_long(value: Any) -> bool:
    return len(_dumped(value)) > _SHORT


def _members(value: dict[str, Any]) -> Iterator[str]:
    return (_cut(f"{_dumped(key)}: {_dumped(one)}") for key, one in value.items())


def _entry(value: Any) -> str:
    return _cut(_dumped(value))


def _cut(text: str) -> str:
    return text if len(text) <= _ENTRY else f"{text[:_ENTRY]}… ({len(text):,} characters)"


def _dumped(value: Any) -> str:
    return str(value) if isinstance(value, _Broken) else json.dumps(value, ensure_ascii=False)
