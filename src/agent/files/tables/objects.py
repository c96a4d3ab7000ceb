"""Everything in a workbook except cells, as a table: text boxes, charts, comment threads, names, validation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from agent.files.contents import first_of
from agent.files.documents.ooxml import Package, Part, transitional
from agent.files.documents.package import Drawings
from agent.files.tables.sheets import Sheet

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
MAX_XML_BYTES = 32 << 20  # larger sheets are not searched for headers and rules
_MAX_LINKED_VALUES = 100  # of another workbook
_MAX_PIVOT_VALUES = 20  # of one field
_CELLS = re.compile(rb"(?s)<((?:\w+:)?)sheetData[ >].*</\1sheetData>")
_NUMBER = re.compile(r"-?[\d.]*|true|false")
_IGNORED_ATTRIBUTES = ("dxfId", "headerRowDxfId", "dataDxfId", "priority", "count", "customListSort")
_VML_TITLES = ("alt", "{urn:schemas-microsoft-com:office:office}title")
_KINDS = {
    **dict.fromkeys(("oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter"), ""),
    "dataValidation": "validation",
    "hyperlink": "link",
    "cfRule": "conditional format",
    "filterColumn": "filter",
    "scenario": "",
    "protectedRange": "protected range",
}
"""Elements of a sheet other than cells, each with the name of its kind; if empty, the name of the element is used."""
_Row = tuple[str, str, str]


class Objects(Sheet):
    """A table with a row for each object: sheet, kind and text."""

    title = "objects of the workbook"

    def __init__(self, rows: Sequence[_Row]) -> None:
        self.column_names = ["of", "kind", "text"]
        self._rows, self.row_count = rows, len(rows)

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Yield the objects, numbered from 1."""
        for number, row in enumerate(self._rows[start:], start + 1):
            yield number, list(row)


def objects_of(package: Package) -> Objects:
    """Return all parts with text other than cells, sheet by sheet."""
    try:
        book = package.main("xl/workbook.xml")
    except KeyError:
        return Objects([])
    package.main_name = ""  # faults in its XML are reported by the reader of cells
    rows: list[_Row] = []
    if not book.name.endswith(".xml"):
        return Objects(rows)
    people = {one.get("id"): one.get("displayName", "") for part in book.parts("person") for one in part.root}
    for sheet in book.root.iter("{*}sheet"):
        part = book.related(sheet.get(f"{_R}id"))
        if part is not None:
            named = f"sheet {sheet.get('name')}"
            rows += [(named, "visibility", "very hidden")] if sheet.get("state") == "veryHidden" else []
            rows += [(named, *row) for row in _of_sheet(package, part, people)]
    for name in book.root.iter("{*}definedName"):
        if not name.get("name", "").startswith("_xlnm._FilterDatabase"):
            comment = f" ({name.get('comment')})" if name.get("comment") else ""
            rows.append(("workbook", "name", f"{name.get('name')} = {name.text or ''}{comment}"))
    for link in book.parts("externalLink"):
        targets = ", ".join(one.target for one in link.relations.values())
        names = [one.get("val") or one.get("name", "") for one in link.root.iter("{*}sheetName", "{*}definedName")]
        names += [one.text or "" for one in link.root.iter("{*}v", "{*}val")]
        rows.append(
            (
                "workbook",
                "link to another workbook",
                f"{targets}{f': {first_of(names, _MAX_LINKED_VALUES)}' if names else ''}",
            )
        )
    for cache in book.parts("pivotCacheDefinition"):
        source = ", ".join(word for one in cache.root.iter("{*}worksheetSource") for word in _words(one))
        fields = [_field(one) for one in cache.root.iter("{*}cacheField")]
        by = cache.root.get("refreshedBy", "")
        description = (
            f"{', '.join(fields)}{f'; source {source}' if source else ''}{f'; refreshed by {by}' if by else ''}"
        )
        rows.append(("workbook", "fields of a pivot table", description))
    return Objects(rows)


def _field(field: Any) -> str:
    """Return a field of a pivot table with its distinct values."""
    items = [one.get("v", "") for one in field.iter("{*}s")]
    return f"{field.get('name', '')}{f' ({first_of(items, _MAX_PIVOT_VALUES)})' if items else ''}"


def _of_sheet(package: Package, part: Part, people: dict[Any, str]) -> Iterator[tuple[str, str]]:
    if package.size(part.name) <= MAX_XML_BYTES:
        for one in transitional(_CELLS.sub(b"", part.content)).iter(*(f"{{*}}{name}" for name in _KINDS)):
            places = [node.get(key) for node in (one, one.getparent()) for key in ("ref", "sqref")]
            places += [place.text for node in (one, one.getparent()) for place in node.iterfind("{*}sqref")]
            where = next(filter(None, places), "")
            if said := " ".join(word for word in dict.fromkeys(_words(one)) if word != where):
                yield _KINDS[_local(one)] or _local(one), f"{where}: {said}" if where else said
    for drawing in part.parts("drawing"):
        yield from _drawn(drawing)
    for thread in part.parts("threadedComment"):
        for one in thread.root:
            by = people.get(one.get("personId"), "")
            yield "threaded comment", f"{one.get('ref')}: {''.join(one.itertext()).strip()}{f' ({by})' if by else ''}"
    for listed in part.parts("table"):
        yield "table", " ".join(_words(listed.root))
    for pivot in part.parts("pivotTable"):
        shown = [pivot.root.get("name", ""), *(one.get("name", "") for one in pivot.root.iter("{*}dataField"))]
        yield "pivot table", ", ".join(filter(None, [*shown, pivot.root.get("dataCaption", "")]))
    for drawing in part.parts("vmlDrawing"):
        texts = drawing.root.itertext("{*}div", "{*}font", "{*}FmlaMacro", "{*}FmlaRange", "{*}FmlaLink")
        titles = [value for one in drawing.root.iter() for key, value in one.items() if key in _VML_TITLES]
        if words := " ".join(" ".join([*texts, *titles]).split()):
            yield "form control", words


def _words(element: Any) -> Iterator[str]:
    """Return the texts and attributes of an element and its descendants, without numbers and identifiers."""
    for one in element.iter("*"):
        for name, value in one.items():
            if not name.startswith("{") and name not in _IGNORED_ATTRIBUTES and not _NUMBER.fullmatch(value):
                yield value
        if _local(one) != "sqref" and (one.text or "").strip():
            yield one.text


def _drawn(drawing: Part) -> Iterator[tuple[str, str]]:
    for one in drawing.root.iter("{*}sp", "{*}graphicFrame", "{*}pic", "{*}cxnSp"):
        paragraphs = ("".join(t.text or "" for t in p.iter("{*}t")) for p in one.iter("{*}p"))
        if words := "\n".join(text for text in paragraphs if text.strip()):
            yield "text box", f"{words} [={one.get('textlink')}]" if one.get("textlink") else words
        chart = next(one.iter("{*}chart"), None)
        if chart is not None:
            yield "chart", Drawings().chart(drawing, chart.get(f"{_R}id", ""))
        if next(one.iter("{*}relIds"), None) is not None:
            yield "diagram", Drawings().diagram(drawing, one)
    for one in drawing.root.iter("{*}cNvPr"):
        yield from (("alt text", one.get(key, "")) for key in ("title", "descr") if one.get(key))
        for link in one.iter("{*}hlinkClick", "{*}hlinkHover"):
            details = (drawing.address(link.get(f"{_R}id")), link.get("tooltip", ""))
            yield "link of a shape", " ".join(filter(None, details))


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
