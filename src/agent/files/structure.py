"""How the text of a file is built, by its kind: JSON and XML by their places, programs by their names."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from agent.files.contents import Source
from agent.files.previews import Part, part_of, text_part
from agent.files.tables.rows import values_told
from mcp_tools.text import one_line

_MOST_ELEMENTS = 60
_SAMPLE = 160  # characters of the first element of a kind
_LONGEST = 200  # characters of a text that is a value; more is prose
_DEPTHS = (9, 7, 5, 4, 3, 2)  # lists and objects inside each other that are told of: as many as there is room for
_SHAPE = 1_500  # characters about how JSON is built
_KEYS = 30
_FEW = 12  # different texts that are all named
_WORD = 30  # characters of a text that may be one of a few
_ENTRY = 600
_SHORT = 200  # characters of a value that needs no part of its own
_MOST_PARTS = 40
_DATE = re.compile(r"[12]\d{3}-[01]\d-[0-3]\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?")


class Structure(NamedTuple):
    """How a text is built."""

    summary: str
    lost: str = ""
    """What is wrong with it."""
    outline: Sequence[str] = ()
    """What it is made of, for whoever does not see all of it."""


def structure_of(source: Source, text: str) -> Structure:
    """How a text of this kind is built; damage is told, and the text stays readable."""
    if source.kind in ("json", "jsonld"):
        try:
            return Structure(f"JSON: {_shape_told([json.loads(text)])}")
        except RecursionError:
            return Structure("JSON, nested very deeply")
        except ValueError as error:
            return Structure("JSON that is not valid", f"It is not valid JSON: {error}.")
    if source.kind in ("jsonl", "xml"):
        return _json_lines(text) if source.kind == "jsonl" else _xml(text)
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    name = {"source": f"Source code ({source.path.suffix})", "md": "Markdown", "txt": "Text"}
    return Structure(f"{name.get(source.kind, source.kind.upper())}: {lines:,} lines, {len(text.split()):,} words")


def parts_of(kind: str, text: str) -> list[Part]:
    """How the lists of a long text begin; none where it has no such parts."""
    if kind == "jsonl":
        values = [value for _, value in _records(text)]
        return [_list_part(values, "lines") if values else text_part(text, len(text))]
    if kind not in ("json", "jsonld"):
        return []
    try:
        return _json_parts(json.loads(text))
    except (ValueError, RecursionError):
        return []


def _json_lines(text: str) -> Structure:
    records = _records(text)
    broken = [number for number, value in records if isinstance(value, _Broken)]
    values = [value for _, value in records if not isinstance(value, _Broken)]
    some = ", ".join(map(str, broken[:_FEW])) + (f" and {len(broken) - _FEW:,} more" if len(broken) > _FEW else "")
    lost = f"Not valid JSON: line{'s' if len(broken) > 1 else ''} {some}." if broken else ""
    return Structure(
        f"JSON lines: {len(records):,} records" + (f", each {_shape_told(values)}" if values else ""), lost
    )


def _xml(text: str) -> Structure:
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]  # it has no types
    from defusedxml.ElementTree import ParseError, fromstring  # type: ignore[import-untyped]  # it has no types

    try:
        # as text it has no encoding any more, whatever its declaration says
        root = fromstring(re.sub(r"\A\s*<\?xml[^>]*\?>", "", text))
    except DefusedXmlException as error:
        return Structure("XML", f"It declares entities, which were not expanded ({type(error).__name__}).")
    except (ParseError, RecursionError) as error:
        return Structure("XML that is not well formed", f"It is not well formed: {error}.")
    found: dict[str, _Elements] = {}
    waiting = [(_local_name(root.tag), root)]
    while waiting:
        path, element = waiting.pop()
        found.setdefault(path, _Elements()).add(element)
        waiting += [(f"{path}/{_local_name(inner.tag)}", inner) for inner in reversed(element)]
    total = sum(one.count for one in found.values())
    told = [f"- {path} × {one.count:,}: {one.told()}" for path, one in list(found.items())[:_MOST_ELEMENTS]]
    more = [f"- and {len(found) - _MOST_ELEMENTS} more kinds"] if len(found) > _MOST_ELEMENTS else []
    summary = f"XML: root <{next(iter(found))}>, {total:,} elements of {len(found):,} kinds"
    return Structure(summary, outline=["Elements:", *told, *more])


class _Elements:
    """The elements with one path: how many, the first one, the values of their attributes and of their text."""

    def __init__(self) -> None:
        self.count, self._sample = 0, ""
        self._values: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, element: Any) -> None:
        """Takes one more."""
        self.count += 1
        text = (element.text or "").strip()
        if not self._sample:
            attributes = "".join(f' {_local_name(name)}="{value}"' for name, value in element.attrib.items())
            self._sample = one_line(f"<{_local_name(element.tag)}{attributes}>{text}", _SAMPLE)
        for name, value in element.attrib.items():
            self._values[f"@{_local_name(name)}"][value] += 1
        if text:
            self._values["text"][text[: _LONGEST + 1]] += 1

    def told(self) -> str:
        """What they hold."""
        parts = [self._sample]
        for name, values in self._values.items() if self.count > 1 else ():
            is_prose = name == "text" and any(len(value) > _LONGEST for value in values)
            some = f" (in {values.total():,})" if values.total() < self.count else ""
            parts.append(f"{name}: {'prose' if is_prose else values_told(values)}{some}")
        return "; ".join(parts)


def _local_name(tag: Any) -> str:
    """A name without its namespace."""
    return str(tag).rpartition("}")[2]


def _shape_told(values: Sequence[Any]) -> str:
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


def _json_parts(value: Any) -> list[Part]:
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
    large = {key: one for key, one in value.items() if isinstance(one, dict | list) and len(_dumped(one)) > _SHORT}
    if not large or len(large) > _MOST_PARTS:
        return [_object_part(value, name)]
    small = {key: one for key, one in value.items() if key not in large}
    parts = [_object_part(small, "other keys")] if small else []
    for key, one in large.items():
        inner = f"{name}.{key}".lstrip(".")
        parts.append(_list_part(one, "entries", inner) if isinstance(one, list) else _object_part(one, inner))
    return parts


class _Broken(str):
    """A line that is no JSON."""

    __slots__ = ()


def _records(text: str) -> list[tuple[int, Any]]:
    """The values of JSON lines with the numbers of their lines."""
    found: list[tuple[int, Any]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append((number, json.loads(line)))
            except (ValueError, RecursionError):
                found.append((number, _Broken(line)))
    return found


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
        inner = [inner for one in values for inner in one.values()]
        return f"{{{len(keys):,} keys such as {named}: {_shape(inner, depth - 1)}}}"
    shown = []
    for key in list(keys)[:_KEYS]:
        there = [one[key] for one in values if key in one]
        some = f" (in {len(there):,})" if len(there) < len(values) else ""
        shown.append(f"{key}: {_shape(there, depth - 1)}{some}")
    more = f", and {len(keys) - _KEYS:,} more keys" if len(keys) > _KEYS else ""
    return "{" + ", ".join(shown) + more + "}"


def _list(values: list[list[Any]], depth: int) -> str:
    sizes = sorted({len(one) for one in values})
    of = f"list of {sizes[0]:,}" if len(sizes) == 1 else f"list of {sizes[0]:,} to {sizes[-1]:,}"
    entries = [entry for one in values for entry in one]
    return f"{of}: {_shape(entries, depth - 1)}" if entries and depth else of


def _list_part(values: list[Any], unit: Literal["entries", "lines"], name: str = "") -> Part:
    return part_of((_cut(_dumped(value)) for value in values), len(values), unit, name=name)


def _object_part(value: dict[str, Any], name: str) -> Part:
    entries = (_cut(f"{_dumped(key)}: {_dumped(one)}") for key, one in value.items())
    return part_of(entries, len(value), "entries", name=name)


def _cut(text: str) -> str:
    return text if len(text) <= _ENTRY else f"{text[:_ENTRY]}… ({len(text):,} characters)"


def _dumped(value: Any) -> str:
    return str(value) if isinstance(value, _Broken) else json.dumps(value, ensure_ascii=False)
