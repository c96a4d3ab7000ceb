"""The parts of a workbook that are no cells, as a table: text boxes, charts, threads of comments, names, validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agent.files.documents.ooxml import Package, Part
from agent.files.documents.package import Drawings
from agent.files.tables.sheets import Sheet

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
MOST_XML = 32 << 20  # bytes of a sheet that is looked through for headers and rules
_Row = tuple[str, str, str]


class Objects(Sheet):
    """A table with a row for each object: its sheet, its kind, its text."""

    title = "objects of the workbook"

    def __init__(self, rows: Sequence[_Row]) -> None:
        self.column_names = ["of", "kind", "text"]
        self._rows, self.row_count = rows, len(rows)

    def rows(self, start: int = 0) -> Iterator[tuple[int, list[str]]]:
        """The objects, numbered from 1."""
        for number, row in enumerate(self._rows[start:], start + 1):
            yield number, list(row)


def objects_of(package: Package) -> Objects:
    """Everything with text that is no cell, by sheets."""
    try:
        book = package.main("xl/workbook.xml")
    except KeyError:
        return Objects([])
    package.main_name = ""  # what is wrong with its XML is for the reader of cells
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
        values = ", ".join(one.text or "" for one in link.root.iter("{*}v", "{*}val"))
        rows.append(("workbook", "link to another workbook", f"{targets}{f': {values}' if values else ''}"))
    for cache in book.parts("pivotCacheDefinition"):
        fields = [one.get("name", "") for one in cache.root.iter("{*}cacheField")]
        rows.append(("workbook", "fields of a pivot table", ", ".join(fields)))
    return Objects(rows)


def _of_sheet(package: Package, part: Part, people: dict[Any, str]) -> Iterator[tuple[str, str]]:
    if package.size(part.name) <= MOST_XML:
        for one in part.root.iter("{*}oddHeader", "{*}oddFooter", "{*}evenHeader", "{*}evenFooter", "{*}firstHeader",
                                  "{*}firstFooter"):  # fmt: skip
            yield _local(one), one.text or ""
        for one in part.root.iter("{*}dataValidation"):
            said = [one.get(key, "") for key in ("promptTitle", "prompt", "errorTitle", "error")]
            rule = [one.get("type", "any"), *("".join(f.itertext()) for f in one if _local(f).startswith("formula"))]
            where = one.get("sqref") or "".join(s.text or "" for s in one.iter("{*}sqref"))
            yield "validation", f"{where}: {' '.join(filter(None, [*rule, *said]))}"
    for drawing in part.parts("drawing"):
        yield from _drawn(drawing)
    for thread in part.parts("threadedComment"):
        for one in thread.root:
            by = people.get(one.get("personId"), "")
            yield "threaded comment", f"{one.get('ref')}: {''.join(one.itertext()).strip()}{f' ({by})' if by else ''}"
    for pivot in part.parts("pivotTable"):
        yield "pivot table", pivot.root.get("name", "")
    for drawing in part.parts("vmlDrawing"):
        words = " ".join("".join(drawing.root.itertext("{*}div", "{*}font")).split())
        if words:
            yield "form control", words


def _drawn(drawing: Part) -> Iterator[tuple[str, str]]:
    for one in drawing.root.iter("{*}sp", "{*}graphicFrame", "{*}pic", "{*}cxnSp"):
        described = next(one.iter("{*}cNvPr"), None)
        alt = (described.get("descr") or described.get("title") or "") if described is not None else ""
        paragraphs = ("".join(t.text or "" for t in p.iter("{*}t")) for p in one.iter("{*}p"))
        if words := "\n".join(text for text in paragraphs if text.strip()):
            yield "text box", words
        chart = next(one.iter("{*}chart"), None)
        if chart is not None:
            yield "chart", Drawings().chart(drawing, chart.get(f"{_R}id", ""))
        if next(one.iter("{*}relIds"), None) is not None:
            yield "diagram", Drawings().diagram(drawing, one)
        if alt:
            yield "alt text", alt


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]
