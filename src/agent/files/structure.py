"""What the text of a file tells about its structure, by its kind."""

from __future__ import annotations

import ast
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent.files.contents import Source
from agent.files.json_shape import json_parts, lines_part, shape_told
from agent.files.previews import Part
from agent.files.tables.columns import values_told
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from mcp_tools.tool import Json

_SHOWN = 12
"""Names that a summary lists."""
_MOST_ELEMENTS = 60
"""Kinds of elements that are told of."""
_MOST_VALUES = 50_000
"""Different values of one attribute that are counted."""
_SAMPLE = 160
"""Characters of the first element of a kind."""
_LONGEST = 200
"""Characters of a text that is a value; more is prose."""


@dataclass(slots=True)
class Structure:
    """How a text is built."""

    summary: str
    facts: dict[str, Json] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    outline: list[str] = field(default_factory=list)
    """What it is made of, for whoever does not see all of it."""


def structure_of(source: Source, text: str) -> Structure:
    """How a text of this kind is built; damage is told, and the text stays readable."""
    suffix = source.path.suffix.lower().lstrip(".")
    if source.kind == "source":
        return _program(text, suffix)
    return _KINDS.get(source.kind, _plain)(text)


def parts_of(kind: str, text: str) -> list[Part]:
    """How the lists of a long text begin; none where it has no such parts."""
    if kind == "jsonl":
        return [lines_part(text)]
    if kind not in ("json", "jsonld"):
        return []
    try:
        return json_parts(json.loads(text))
    except (ValueError, RecursionError):
        return []


def _plain(text: str) -> Structure:
    lines, words = _lines(text), len(text.split())
    return Structure(f"Text: {lines:,} lines, {words:,} words", {"lines": lines, "words": words})


def _markdown(text: str) -> Structure:
    headings = re.findall(r"^#{1,6} +(.+?) *#*$", text, re.M)
    lines = _lines(text)
    summary = f"Markdown: {lines:,} lines, {len(headings):,} headings"
    return Structure(summary, {"lines": lines, "headings": headings[:100]})


def _json(text: str) -> Structure:
    try:
        value = json.loads(text)
    except RecursionError:
        return Structure("JSON, nested very deeply", {"valid": True})
    except ValueError as error:
        return Structure("JSON that is not valid", {"valid": False}, [f"It is not valid JSON: {error}."])
    shape = shape_told([value])
    return Structure(f"JSON: {shape}", {"valid": True, "shape": shape})


def _json_lines(text: str) -> Structure:
    records, broken, values = 0, [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        records += 1
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            broken.append(number)
    keys = Counter(key for value in values if isinstance(value, dict) for key in value)
    lost = [f"Not valid JSON: line{'s' if len(broken) > 1 else ''} {_listed(broken)}."] if broken else []
    return Structure(
        f"JSON lines: {records:,} records" + (f", each {shape_told(values)}" if values else ""),
        {"records": records, "keys": {name: keys[name] for name in list(keys)[:100]}, "broken_lines": broken[:100]},
        lost,
    )


def _xml(text: str) -> Structure:
    from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]  # it has no types
    from defusedxml.ElementTree import ParseError  # type: ignore[import-untyped]  # it has no types

    try:
        found = _elements_of(text)
    except DefusedXmlException as error:
        return Structure(
            "XML", {"valid": None}, [f"It declares entities, which were not expanded ({type(error).__name__})."]
        )
    except ParseError as error:
        return Structure("XML that is not well formed", {"valid": False}, [f"It is not well formed: {error}."])
    names = Counter[str]()
    for path, elements in found.items():
        names[path.rpartition("/")[2]] += elements.count
    root = next(iter(found))
    return Structure(
        f"XML: root <{root}>, {names.total():,} elements of {len(found):,} kinds",
        {"valid": True, "root": root, "elements": dict(names.most_common(100))},
        outline=_elements_told(found),
    )


def _program(text: str, suffix: str) -> Structure:
    lines = _lines(text)
    facts: dict[str, Json] = {"lines": lines, "language": suffix}
    if suffix not in ("py", "pyw", "pyi", ""):
        return Structure(f"Source code (.{suffix}): {lines:,} lines", facts)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        lost = [] if not suffix else [f"It is not valid Python 3: {error}."]
        return Structure(f"Source code: {lines:,} lines", facts, lost)
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    return Structure(
        f"Python: {lines:,} lines; defines: {_listed(names)}", {**facts, "language": "py", "defines": names}
    )


def _molecule(text: str) -> Structure:
    rows = text.splitlines()
    atoms = [row for row in rows if row.startswith(("ATOM", "HETATM"))]
    chains = sorted({row[21:22].strip() for row in atoms} - {""})
    residues = {(row[21:22], row[22:27]) for row in atoms}
    title = " ".join(row[10:].strip() for row in rows if row.startswith("TITLE"))
    models = sum(row.startswith("MODEL ") for row in rows)
    facts: dict[str, Json] = {"atoms": len(atoms), "chains": chains, "residues": len(residues), "title": title}
    facts["models"] = max(1, models)
    said = f"PDB: {title or 'no title'}; {len(atoms):,} atoms, {len(residues):,} residues, chains {_listed(chains)}"
    return Structure(said + (f", {models} models" if models > 1 else ""), facts)


def _crystal(text: str) -> Structure:
    blocks = re.findall(r"^data_(\S+)", text, re.M | re.I)
    categories = list(dict.fromkeys(re.findall(r"^\s*_([A-Za-z]\w*)", text, re.M)))
    atoms = len(re.findall(r"^(?:ATOM|HETATM)\s", text, re.M))
    facts: dict[str, Json] = {"blocks": blocks[:100], "categories": categories[:200], "atoms": atoms}
    said = f"CIF: {len(blocks)} blocks ({_listed(blocks)}); categories: {_listed(categories)}"
    return Structure(said + (f"; {atoms:,} atoms" if atoms else ""), facts)


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def _listed(names: list[Any]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(str(name) for name in names[:_SHOWN]) + more


_KINDS: dict[str, Callable[[str], Structure]] = {
    "md": _markdown,
    "json": _json,
    "jsonld": _json,
    "jsonl": _json_lines,
    "xml": _xml,
    "pdb": _molecule,
    "cif": _crystal,
}


@dataclass(slots=True)
class _Elements:
    """The elements with one path."""

    count: int = 0
    sample: str = ""
    values: dict[str, Counter[str]] = field(default_factory=dict)
    """Of each attribute, `@name`, and of the text, an empty name."""
    has_prose: bool = False

    def add(self, element: Any) -> None:
        """One more, at its end."""
        self.count += 1
        for name, value in element.attrib.items():
            self._count(f"@{_local_name(name)}", value)
        if text := (element.text or "").strip():
            self.has_prose |= len(text) > _LONGEST
            self._count("", text[:_LONGEST])
        if not self.sample:
            attributes = "".join(f' {_local_name(name)}="{value}"' for name, value in element.attrib.items())
            self.sample = one_line(f"<{_local_name(element.tag)}{attributes}>{text}", _SAMPLE)

    def told(self) -> str:
        """What they hold."""
        parts = [
            f"{name or 'text'}: {'prose' if not name and self.has_prose else values_told(counted)}"
            + (f" (in {there:,})" if (there := counted.total()) < self.count else "")
            for name, counted in self.values.items()
        ]
        return "; ".join([self.sample, *parts]) if self.count > 1 else self.sample

    def _count(self, name: str, value: str) -> None:
        values = self.values.setdefault(name, Counter())
        if len(values) < _MOST_VALUES or value in values:
            values[value] += 1


def _elements_of(text: str) -> dict[str, _Elements]:
    """The elements of an XML text by their paths: `bom/part/price`.

    Raises:
        DefusedXmlException: It declares entities.
        ParseError: It is not well formed; what comes before is lost, too.
    """
    from defusedxml.ElementTree import iterparse

    found: dict[str, _Elements] = {}
    path: list[str] = []
    # as text it has no encoding any more, whatever its declaration says
    body = re.sub(r"\A\s*<\?xml[^>]*\?>", "", text)
    for event, element in iterparse(io.BytesIO(body.encode("utf-8", "replace")), events=("start", "end")):
        if event == "start":
            path.append(_local_name(element.tag))
            found.setdefault("/".join(path), _Elements())
        else:
            found["/".join(path)].add(element)
            path.pop()
            element.clear()
    return found


def _elements_told(found: dict[str, _Elements]) -> list[str]:
    """A line for each kind of element, in the order of the first ones."""
    lines = [f"- {path} × {one.count:,}: {one.told()}" for path, one in list(found.items())[:_MOST_ELEMENTS]]
    more = [f"- and {len(found) - _MOST_ELEMENTS} more kinds"] if len(found) > _MOST_ELEMENTS else []
    return ["Elements:", *lines, *more]


def _local_name(tag: Any) -> str:
    """A name without its namespace."""
    return str(tag).rpartition("}")[2]
