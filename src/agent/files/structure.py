"""Describes the structure of text files: the shape of JSON, the elements of XML, the size of other texts."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from agent.files.contents import Source, first_of
from agent.files.previews import ListPreview
from mcp_tools.text import one_line

_MAX_ELEMENTS = 60
_MAX_ELEMENT_CHARS = 160
_MAX_DEPTH = 9  # of nested lists and objects in the description
_MAX_SHAPE_CHARS = 1_500
_MAX_KEYS = 30
_MAX_DISTINCT = 12  # distinct texts that are all listed
_MAX_WORD_CHARS = 30  # longer texts are not listed
_MAX_ENTRY_CHARS = 600
_MAX_INLINE_CHARS = 200  # longer values are shown as a separate part
_MAX_PARTS = 40


class Structure(NamedTuple):
    """A summary of a text, and its outline."""

    summary: str
    lost: str = ""
    """A sentence about damage, such as invalid JSON; empty if there is none."""
    outline: Sequence[str] = ()
    """Lines that describe the content, shown if the text is cut."""


def structure_of(source: Source, text: str) -> Structure:
    """Describe the structure of a text. Damage is reported in `lost`."""
    if source.kind in ("json", "jsonld"):
        try:
            return Structure(f"JSON: {_shape_that_fits([json.loads(text)])}")
        except RecursionError:
            return Structure("JSON, nested very deeply")
        except ValueError as error:
            return Structure("Invalid JSON", f"The file is not valid JSON: {error}.")
    if source.kind in ("jsonl", "xml"):
        return _json_lines(text) if source.kind == "jsonl" else _xml(text)
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    name = {"source": f"Source code ({source.path.suffix})", "md": "Markdown", "txt": "Text"}
    return Structure(f"{name.get(source.kind, source.kind.upper())}: {lines:,} lines, {len(text.split()):,} words")


def lists_of(kind: str, text: str) -> list[ListPreview]:
    """Return the lists in a JSON text, each with its beginning; none for other texts."""
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
    lost = f"Not valid JSON: line{'s' * (len(broken) > 1)} {first_of(broken, _MAX_DISTINCT)}." if broken else ""
    each = f", each {_shape_that_fits(values)}" if values else ""
    return Structure(f"JSON lines: {len(values) + len(broken):,} records{each}", lost)


def _xml(text: str) -> Structure:
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]  # it has no types
    from defusedxml.ElementTree import ParseError, fromstring  # type: ignore[import-untyped]  # it has no types

    try:
        # the text is decoded, so the declared encoding no longer applies
        root = fromstring(re.sub(r"\A\s*<\?xml[^>]*\?>", "", text))
    except DefusedXmlException as error:
        return Structure("XML", f"The file declares entities, which were not expanded ({type(error).__name__}).")
    except (ParseError, RecursionError) as error:
        return Structure("XML that is not well formed", f"The XML is not well formed: {error}.")
    counts, first = Counter[str](), dict[str, str]()
    waiting = [(_local_name(root.tag), root)]
    while waiting:
        path, element = waiting.pop()
        counts[path] += 1
        if path not in first:
            attributes = "".join(f' {_local_name(name)}="{value}"' for name, value in element.attrib.items())
            first[path] = one_line(f"<{_local_name(element.tag)}{attributes}>{element.text or ''}", _MAX_ELEMENT_CHARS)
        waiting += [(f"{path}/{_local_name(inner.tag)}", inner) for inner in reversed(element)]
    described = [f"- {path} × {counts[path]:,}: {one}" for path, one in list(first.items())[:_MAX_ELEMENTS]]
    more = [f"- and {len(first) - _MAX_ELEMENTS} more kinds"] if len(first) > _MAX_ELEMENTS else []
    summary = f"XML: root <{_local_name(root.tag)}>, {counts.total():,} elements of {len(counts):,} kinds"
    return Structure(summary, outline=["Elements:", *described, *more])


def _local_name(tag: Any) -> str:
    return str(tag).rpartition("}")[2]


def _shape_that_fits(values: Sequence[Any]) -> str:
    """Describe the shape of values to the greatest depth that fits."""
    shapes = (one_line(_shape(values, depth), 10 * _MAX_SHAPE_CHARS) for depth in range(_MAX_DEPTH, 1, -1))
    return one_line(
        next((shape for shape in shapes if len(shape) <= _MAX_SHAPE_CHARS), _shape(values, 2)), _MAX_SHAPE_CHARS
    )


def _shape(values: Sequence[Any], depth: int) -> str:
    """Describe the kinds of values in one position, with counts if there are several kinds."""
    by_kind = defaultdict[str, list[Any]](list)
    for value in values:
        kind = {dict: "object", list: "list", str: "text", bool: "true or false", type(None): "null"}
        by_kind[kind.get(type(value), "number")].append(value)
    described = {_description(kind, found, depth): len(found) for kind, found in by_kind.items()}
    if len(described) == 1:
        return next(iter(described))
    return " or ".join(f"{text} ({count:,})" for text, count in sorted(described.items(), key=lambda one: -one[1]))


def _description(kind: str, values: list[Any], depth: int) -> str:
    """Describe values of one kind: the range of numbers, a few distinct texts, entries or keys."""
    if kind == "object":
        return _object(values, depth)
    if kind == "list":
        sizes, entries = sorted(map(len, values)), [entry for one in values for entry in one]
        of = f"list of {sizes[0]:,}" + (f" to {sizes[-1]:,}" if sizes[-1] > sizes[0] else "")
        return f"{of}: {_shape(entries, depth - 1)}" if entries and depth else of
    if kind == "number" and len(values) > 1:
        return f"number {min(values)} to {max(values)}"
    counts = Counter(values)
    if (
        kind == "text"
        and len(counts) <= min(_MAX_DISTINCT, len(values) - 1)
        and all(len(one) <= _MAX_WORD_CHARS for one in counts)
    ):
        return f"text ({', '.join(f'{_dumped(one)}: {count:,}' for one, count in counts.items())})"
    return kind


def _object(values: list[dict[str, Any]], depth: int) -> str:
    keys = Counter(key for one in values for key in one)
    if not depth:
        return f"{{{len(keys)} keys}}"
    if len(keys) > _MAX_KEYS and all(isinstance(inner, dict | list) for one in values for inner in one.values()):
        named = ", ".join(map(_dumped, list(keys)[:3]))
        inner = [inner for one in values for inner in one.values()]
        return f"{{{len(keys):,} keys such as {named}: {_shape(inner, depth - 1)}}}"
    shown = []
    for key, count in list(keys.items())[:_MAX_KEYS]:
        some = f" (in {count:,})" if count < len(values) else ""
        shown.append(f"{key}: {_shape([one[key] for one in values if key in one], depth - 1)}{some}")
    more = f", and {len(keys) - _MAX_KEYS:,} more keys" if len(keys) > _MAX_KEYS else ""
    return f"{{{', '.join(shown)}{more}}}"


def _json_lists(value: Any) -> list[ListPreview]:
    """Return the large lists and objects in a value as parts; the small ones together are another part."""
    name = ""
    while isinstance(value, dict) and len(value) == 1:
        ((key, inner),) = value.items()
        if not isinstance(inner, dict | list):
            break
        name, value = f"{name}.{key}".lstrip("."), inner
    if not isinstance(value, dict):
        return [_list_preview(value, name)] if isinstance(value, list) else []
    large = {
        key: one for key, one in value.items() if isinstance(one, dict | list) and len(_dumped(one)) > _MAX_INLINE_CHARS
    }
    if not large or len(large) > _MAX_PARTS:
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
    return text if len(text) <= _MAX_ENTRY_CHARS else f"{text[:_MAX_ENTRY_CHARS]}… ({len(text):,} characters)"


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
