"""The structure of text files: the shape of JSON, the elements of XML, the size of other texts."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from agent.files.contents import Source, first_of
from agent.files.previews import ListPreview
from mcp_tools.text import one_line

_MOST_ELEMENTS = 60
_SAMPLE = 160  # characters of the first element of a kind
_DEEPEST = 9  # nested lists and objects that are described, if there is room
_SHAPE = 1_500  # characters about how JSON is built
_KEYS = 30
_FEW = 12  # different texts that are all named
_WORD = 30  # characters of a text that may be one of a few
_ENTRY = 600
_SHORT = 200  # characters of a value that gets no separate part
_MOST_PARTS = 40


class Structure(NamedTuple):
    """The structure of a text."""

    summary: str
    lost: str = ""
    """Its problem."""
    outline: Sequence[str] = ()
    """Lines that describe what it contains, shown if the text is cut."""


def structure_of(source: Source, text: str) -> Structure:
    """Describes the structure of a text of this kind; damage is reported in `lost`."""
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


def lists_of(kind: str, text: str) -> list[ListPreview]:
    """The lists in a long JSON text; none for other texts."""
    if kind == "jsonl":
        lines = [_cut(line) for line in text.splitlines() if line.strip()]
        return [ListPreview(lines, len(lines), "line")]
    if kind not in ("json", "jsonld"):
        return []
    try:
        return _json_lists(json.loads(text))
    except (ValueError, RecursionError):
        return []


def _json_lines(text: str) -> Structure:
    values, broken = list[Any](), list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError):
                broken.append(str(number))
    lost = f"Not valid JSON: line{'s' * (len(broken) > 1)} {first_of(broken, _FEW)}." if broken else ""
    each = f", each {_shape_told(values)}" if values else ""
    return Structure(f"JSON lines: {len(values) + len(broken):,} records{each}", lost)


def _xml(text: str) -> Structure:
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]  # it has no types
    from defusedxml.ElementTree import ParseError, fromstring  # type: ignore[import-untyped]  # it has no types

    try:
        # decoded text has no encoding, so its declaration is ignored
        root = fromstring(re.sub(r"\A\s*<\?xml[^>]*\?>", "", text))
    except DefusedXmlException as error:
        return Structure("XML", f"It declares entities, which were not expanded ({type(error).__name__}).")
    except (ParseError, RecursionError) as error:
        return Structure("XML that is not well formed", f"It is not well formed: {error}.")
    counts, first = Counter[str](), dict[str, str]()
    waiting = [(_local_name(root.tag), root)]
    while waiting:
        path, element = waiting.pop()
        counts[path] += 1
        if path not in first:
            attributes = "".join(f' {_local_name(name)}="{value}"' for name, value in element.attrib.items())
            first[path] = one_line(f"<{_local_name(element.tag)}{attributes}>{element.text or ''}", _SAMPLE)
        waiting += [(f"{path}/{_local_name(inner.tag)}", inner) for inner in reversed(element)]
    told = [f"- {path} × {counts[path]:,}: {one}" for path, one in list(first.items())[:_MOST_ELEMENTS]]
    more = [f"- and {len(first) - _MOST_ELEMENTS} more kinds"] if len(first) > _MOST_ELEMENTS else []
    summary = f"XML: root <{_local_name(root.tag)}>, {counts.total():,} elements of {len(counts):,} kinds"
    return Structure(summary, outline=["Elements:", *told, *more])


def _local_name(tag: Any) -> str:
    """A name without its namespace."""
    return str(tag).rpartition("}")[2]


def _shape_told(values: Sequence[Any]) -> str:
    """The shape of values, as deep as there is room for."""
    shapes = (one_line(_shape(values, depth), 10 * _SHAPE) for depth in range(_DEEPEST, 1, -1))
    return one_line(next((shape for shape in shapes if len(shape) <= _SHAPE), _shape(values, 2)), _SHAPE)


def _shape(values: Sequence[Any], depth: int) -> str:
    """The kinds of values at one place, with counts if there are several."""
    by_kind = defaultdict[str, list[Any]](list)
    for value in values:
        kind = {dict: "object", list: "list", str: "text", bool: "true or false", type(None): "null"}
        by_kind[kind.get(type(value), "number")].append(value)
    told = {_description(kind, found, depth): len(found) for kind, found in by_kind.items()}
    if len(told) == 1:
        return next(iter(told))
    return " or ".join(f"{text} ({count:,})" for text, count in sorted(told.items(), key=lambda one: -one[1]))


def _description(kind: str, values: list[Any], depth: int) -> str:
    """Describes values of one kind: the range of numbers, a few distinct texts, entries and keys."""
    if kind == "object":
        return _object(values, depth)
    if kind == "list":
        sizes, entries = sorted(map(len, values)), [entry for one in values for entry in one]
        of = f"list of {sizes[0]:,}" + (f" to {sizes[-1]:,}" if sizes[-1] > sizes[0] else "")
        return f"{of}: {_shape(entries, depth - 1)}" if entries and depth else of
    if kind == "number" and len(values) > 1:
        return f"number {min(values)} to {max(values)}"
    counts = Counter(values)
    if kind == "text" and len(counts) <= min(_FEW, len(values) - 1) and all(len(one) <= _WORD for one in counts):
        return f"text ({', '.join(f'{_dumped(one)}: {count:,}' for one, count in counts.items())})"
    return kind


def _object(values: list[dict[str, Any]], depth: int) -> str:
    keys = Counter(key for one in values for key in one)
    if not depth:
        return f"{{{len(keys)} keys}}"
    if len(keys) > _KEYS and all(isinstance(inner, dict | list) for one in values for inner in one.values()):
        named = ", ".join(map(_dumped, list(keys)[:3]))
        inner = [inner for one in values for inner in one.values()]
        return f"{{{len(keys):,} keys such as {named}: {_shape(inner, depth - 1)}}}"
    shown = []
    for key, count in list(keys.items())[:_KEYS]:
        some = f" (in {count:,})" if count < len(values) else ""
        shown.append(f"{key}: {_shape([one[key] for one in values if key in one], depth - 1)}{some}")
    more = f", and {len(keys) - _KEYS:,} more keys" if len(keys) > _KEYS else ""
    return f"{{{', '.join(shown)}{more}}}"


def _json_lists(value: Any) -> list[ListPreview]:
    """The lists and objects in a value."""
    name = ""
    while isinstance(value, dict) and len(value) == 1:
        ((key, inner),) = value.items()
        if not isinstance(inner, dict | list):
            break
        name, value = f"{name}.{key}".lstrip("."), inner
    if not isinstance(value, dict):
        return [_list_preview(value, name)] if isinstance(value, list) else []
    large = {key: one for key, one in value.items() if isinstance(one, dict | list) and len(_dumped(one)) > _SHORT}
    if not large or len(large) > _MOST_PARTS:
        return [_list_preview(value, name)]
    small = {key: one for key, one in value.items() if key not in large}
    others = [_list_preview(small, "other keys")] if small else []
    return [*others, *(_list_preview(one, f"{name}.{key}".lstrip(".")) for key, one in large.items())]


def _list_preview(value: list[Any] | dict[str, Any], name: str) -> ListPreview:
    entries: Iterable[str] = map(_dumped, value)
    if isinstance(value, dict):
        entries = (f"{_dumped(key)}: {_dumped(one)}" for key, one in value.items())
    return ListPreview(map(_cut, entries), len(value), "entry", name)


def _cut(text: str) -> str:
    return text if len(text) <= _ENTRY else f"{text[:_ENTRY]}… ({len(text):,} characters)"


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
