"""Reads everything in an OpenDocument spreadsheet except values: comments, objects, names, rules, changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zipfile import ZipFile

from agent.files.contents import Source
from agent.files.documents.elements import author_of, children, count_in, get, name_of
from agent.files.documents.opendocument import DocumentReading
from agent.files.tables.rows import column_letters


class Spreadsheet:
    """The objects of a spreadsheet."""

    def __init__(self, source: Source, archive: ZipFile) -> None:
        self._reading = DocumentReading(source, archive)
        self.rows = list(self._rows(self._reading.body("spreadsheet")))
        """The sheet or cell, the kind and the text of each object."""
        self.described = self._reading.described()
        self.lost = self._reading.lost()
        self.pictures = self._reading.drawings.pictures

    def _rows(self, body: Any) -> Iterator[tuple[str, str, str]]:
        reading = self._reading
        for sheet in children(body, "table:table"):
            place = f"sheet {get(sheet, 'name')}"
            for kind, text in self._objects(sheet):
                yield place, kind, text
        for name in body.iter("{*}named-range", "{*}named-expression"):
            target = get(name, "cell-range-address") or get(name, "expression")
            yield "workbook", "name", f"{get(name, 'name')} = {target}"
        for rule in body.iter("{*}content-validation"):
            condition = " ".join(reading.blocks(rule))
            yield "workbook", "validation", f"{get(rule, 'base-cell-address')}: {get(rule, 'condition')} {condition}"
        for pivot in body.iter("{*}data-pilot-table"):
            fields = [get(one, "source-field-name") for one in pivot.iter("{*}data-pilot-field")]
            yield "workbook", "pivot table", f"{get(pivot, 'name')}: {', '.join(filter(None, fields))}"
        for change in body.iter("{*}cell-content-change", "{*}insertion", "{*}deletion", "{*}movement"):
            before = " ".join("".join(p.itertext()) for p in change.iter("{*}p"))
            yield "workbook", "tracked change", f"{name_of(change)[6:]} by {author_of(change)} {before}".strip()
        yield from (("workbook", "header or footer", text) for text in reading.margins())

    def _objects(self, sheet: Any) -> Iterator[tuple[str, str]]:
        """Yield the kind and text of each object on a sheet, and its hidden rows and columns."""
        if get(sheet, "style-name") in {
            get(style, "name")
            for style in self._reading.content.iter("{*}style")
            if any(name_of(one) == "style:table-properties" and get(one, "display") == "false" for one in style)
        }:
            yield "visibility", "hidden"
        row = 0
        for line in sheet.iter("{*}table-row"):
            column = 0
            for cell in line:
                where = f"{column_letters(column + 1)}{row + 1}"
                for one in children(cell, "office:annotation"):
                    yield "comment", f"{where}: {self._reading.note(one)}"
                drawn = [one for one in cell if name_of(one).startswith(("draw:", "dr3d:"))]
                yield from (("object", f"{where}: {text}") for one in drawn for text in self._reading.drawn(one))
                for link in cell.iter("{*}a"):
                    yield "link", f"{where}: {''.join(link.itertext())} ({get(link, 'href')})"
                column += count_in(cell, "number-columns-repeated")
            if get(line, "visibility") in ("collapse", "filter"):
                yield "hidden row", str(row + 1)
            row += count_in(line, "number-rows-repeated")
        if any(get(one, "visibility") in ("collapse", "filter") for one in sheet.iter("{*}table-column")):
            yield "visibility", "some columns are hidden"
        for one in sheet:
            if name_of(one) in ("table:shapes", "office:forms"):
                yield from (("object", text) for text in self._reading.blocks([one]))
