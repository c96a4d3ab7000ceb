"""Workbooks: all that a sheet shows where the file is of a usual size, the values alone where it is large."""

from __future__ import annotations

import contextlib
import re
import zipfile
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from agent.files.contents import ReadLimits, Source
from agent.files.problem import FileProblem, parser_failed
from agent.files.tables.rows import first_of, number_of_letters
from agent.files.tables.sheets import PlainSheet, Sheet, WorkbookContents

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from agent.files.tables.cells import FullSheet

FULL = 16 << 20
"""Bytes of sheets, unpacked, up to which everything is read; openpyxl takes seconds for them."""
SMALL = 1 << 18
"""Bytes of sheets up to which nothing is gained by looking for what is in them."""
_MOST_PICTURES = 50
_SUFFIX = re.compile(r"\.\w{1,5}\Z")
_RATIO = 200
"""How many times its size a workbook of more than 64 MiB may unpack to; what people make reaches a tenth of it."""
_WIDE = 1 << 20
"""Cells that merged cells and links may span together: openpyxl makes an object of each."""
_SPAN = re.compile(
    rb"<(?:[\w.-]{1,40}:)?(?:mergeCell|hyperlink)\s[^<>]{0,400}?\bref\s*=\s*[\"']\$?([A-Z]{1,3})\$?(\d{1,7})"
    rb":\$?([A-Z]{1,3})\$?(\d{1,7})[\"']"
)
_OLE = b"\xd0\xcf\x11\xe0"
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_TAGS = (b"f>", b"f ", b"mergeCell ", b"conditionalFormatting", b"hyperlink ")
_ATTRIBUTES = (b' t="e"', b" t='e'", b" hidden=")
_ROOT = re.compile(rb"<([\w.-]+:)?worksheet[\s>]")
_STYLES = "xl/styles.xml"
_PLAIN_FORMATS = frozenset({"0", *map(str, range(14, 23)), "45", "46", "47", "49"})
_UNFORMATTED = frozenset({"General", "@"})
_DATE = re.compile("yy|mm|dd|hh|ss")
_QUOTED = re.compile(r'"[^"]*"')
_TEXT_COLOURS = frozenset({"0", "8", *map(str, range(64, 82)), "32767"})
"""The numbers of black, and of the colour that text has anyway."""


class WorkbookReader:
    """Reads xlsx files."""

    kinds = frozenset({"xlsx"})

    def open(self, source: Source, limits: ReadLimits) -> WorkbookContents:
        """Opens a workbook.

        Raises:
            FileProblem: It is encrypted, damaged, cut off, or unpacks to too much.
        """
        parts = _parts(source, limits)
        contents = self._opened(source, limits, parts)
        contents.pictures = _pictures(source, parts)
        if contents.pictures:
            named = ", ".join(f"[picture {name}]" for name in contents.pictures)
            contents.lost.append(f"Pictures that stand on its sheets, saved apart: {named}.")
        return contents

    def _opened(self, source: Source, limits: ReadLimits, parts: list[zipfile.ZipInfo]) -> WorkbookContents:
        name = source.name or source.path.name
        sheets = [one for one in parts if _SHEET.fullmatch(one.filename)]
        size = sum(one.file_size for one in sheets)
        lost = _unshown(parts)
        spanned = _spanned(source, sheets) if size <= FULL else 0
        if spanned > _WIDE:
            lost.append(
                f"Merged cells and links span {spanned:,} cells, so only values are read, not formulas, colours, number"
                " formats or comments. Use openpyxl with read_only=True for them."
            )
        elif size <= FULL and (size <= SMALL or _is_marked(source, sheets)):
            try:
                return _full(source, limits, [*lost, *_newer_formats(source, sheets)])
            except (SyntaxError, zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise parser_failed(name, source.kind, error) from error
            except Exception as error:  # noqa: BLE001 - openpyxl refuses much that other programs write and read
                lost.append(f"Only values could be read, not formulas, colours or comments ({type(error).__name__}).")
        if size > FULL:
            lost.append(
                "The workbook is large: only values are read, not formulas, colours, number formats, comments or error"
                " values (#DIV/0!), which are shown as empty. Use openpyxl with read_only=True for them."
            )
        return plain(source, limits, lost, name)


class SheetsReader:
    """Reads xls, xlsb and ods files: their values."""

    kinds = frozenset({"xls", "xlsb", "ods"})

    def open(self, source: Source, limits: ReadLimits) -> WorkbookContents:
        """Opens a workbook.

        Raises:
            FileProblem: It is encrypted, damaged, or unpacks to too much.
        """
        if source.kind != "xls":
            _parts(source, limits)
        lost = [
            f"Of {source.kind} files only values are read, not formulas, colours, number formats, comments or errors."
        ]
        return plain(source, limits, lost, source.name or source.path.name)


def plain(source: Source, limits: ReadLimits, lost: list[str], name: str) -> WorkbookContents:
    """A workbook's values.

    Raises:
        FileProblem: It is encrypted or damaged.
    """
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError, SheetVisibleEnum

    sheets: list[Sheet] = []
    try:
        book = CalamineWorkbook.from_path(source.path)
        for data in book.sheets_metadata:
            hidden = data.visible != SheetVisibleEnum.Visible
            if str(data.typ).endswith("WorkSheet"):
                sheets.append(PlainSheet(book.get_sheet_by_name(data.name), hidden))
            else:
                lost.append(f"Sheet {data.name} is no table of cells: it is not shown.")
    except PasswordError as error:
        raise encrypted(name) from error
    except CalamineError as error:
        raise FileProblem("damaged", f"{name} cannot be read as {source.kind}: {error}.") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a fault in Rust becomes; it is no Exception
            raise
        raise parser_failed(name, source.kind, error) from error
    return WorkbookContents(source.kind, sheets, lost, limits.section)


def encrypted(name: str) -> FileProblem:
    """A password is needed."""
    return FileProblem(
        "encrypted", f"{name} is protected by a password.", remedy="Its content cannot be had without the password."
    )


def _full(source: Source, limits: ReadLimits, lost: list[str]) -> WorkbookContents:
    from openpyxl.worksheet.worksheet import Worksheet  # type: ignore[import-untyped]  # it has no types

    from agent.files.tables.cells import FullSheet, load_with_values, theme_colours

    book = load_with_values(source.path)
    theme = theme_colours(book.loaded_theme)
    sheets = [FullSheet(sheet, theme) for sheet in book.worksheets if isinstance(sheet, Worksheet)]
    lost += [f"Sheet {one.title} is a chart: it is not shown." for one in book.chartsheets]
    lost += [one for sheet in sheets for one in sheet.lost()]
    lost += _about_formulas(sheets, source)
    contents = WorkbookContents(source.kind, list[Sheet](sheets), lost, limits.section)
    names = {name: defined.attr_text for name, defined in book.defined_names.items()}
    contents.facts["names"] = names
    return contents


def _about_formulas(sheets: list[FullSheet], source: Source) -> list[str]:
    lost = []
    for sheet in sheets:
        if cells := sheet.uncomputed:
            lost.append(f"{sheet.title}: the formulas in {first_of(cells)} have no saved value; they must be computed.")
    if any(sheet.formulas > len(sheet.uncomputed) for sheet in sheets) and _asks_for_computing(source):
        lost.append("The workbook asks for its formulas to be computed anew: their saved values may be out of date.")
    return lost


def _asks_for_computing(source: Source) -> bool:
    """Whether it says so itself: openpyxl says so of every workbook."""
    with zipfile.ZipFile(source.path) as archive:
        found = re.search(rb"<(?:\w+:)?calcPr[^>]*>", archive.read("xl/workbook.xml"))
    return found is not None and any(mark in found[0] for mark in (b'fullCalcOnLoad="1"', b'calcMode="manual"'))


def _parts(source: Source, limits: ReadLimits) -> list[zipfile.ZipInfo]:
    """The parts of a packed workbook.

    Raises:
        FileProblem: It is encrypted, cut off, or unpacks to too much.
    """
    name = source.name or source.path.name
    with source.path.open("rb") as file:
        if file.read(4) == _OLE:
            raise encrypted(name)
    try:
        with zipfile.ZipFile(source.path) as archive:
            parts = archive.infolist()
    except zipfile.BadZipFile as error:
        raise FileProblem(
            "truncated",
            f"{name} is cut off or damaged: {error}.",
            remedy="What is whole in it can be recovered in a program.",
        ) from error
    total = sum(one.file_size for one in parts)
    packed = source.path.stat().st_size
    if total > limits.unpacked or (total > 64 << 20 and total > packed * _RATIO):
        raise FileProblem("bomb", f"{name} has {packed:,} bytes and would unpack to {total:,}: it is not read.")
    return parts


def _spanned(source: Source, sheets: list[zipfile.ZipInfo]) -> int:
    """How many cells merged cells and links span."""
    with zipfile.ZipFile(source.path) as archive:
        try:
            spans = [span for sheet in sheets for span in _SPAN.findall(archive.read(sheet))]
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            return 0  # whoever reads it says what is wrong
    return sum(
        (1 + abs(int(bottom) - int(top))) * (1 + abs(_column(right) - _column(left)))
        for left, top, right, bottom in spans
    )


def _column(name: bytes) -> int:
    return number_of_letters(name.decode())


def _newer_formats(source: Source, sheets: list[zipfile.ZipInfo]) -> list[str]:
    """Of the conditional formats that openpyxl leaves out, as they are an extension of the format."""
    with zipfile.ZipFile(source.path) as archive:
        found = any(_mentions(archive, one, [b":conditionalFormattings"]) for one in sheets)
    return ["What conditional formats of newer kinds colour is not shown."] if found else []


def _pictures(source: Source, parts: list[zipfile.ZipInfo]) -> dict[str, bytes]:
    """The pictures of a workbook by the names to save them as."""
    media = [one for one in parts if one.filename.startswith("xl/media/")]
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(source.path) as archive:
        for number, one in enumerate(media[:_MOST_PICTURES], 1):
            suffix = _SUFFIX.search(one.filename)
            with contextlib.suppress(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
                found[f"picture-{number}{suffix[0].lower() if suffix else ''}"] = archive.read(one)
    return found


def _unshown(parts: list[zipfile.ZipInfo]) -> list[str]:
    """What is in the workbook, and in no cell."""
    names = [one.filename for one in parts]
    counts = {
        "charts": sum(name.startswith("xl/charts/chart") for name in names),
        "pivot tables": sum(name.startswith("xl/pivotTables/pivot") for name in names),
        "macros": sum(name.endswith("vbaProject.bin") for name in names),
    }
    found = [f"{count} {what}" for what, count in counts.items() if count]
    return [f"Not shown: {', '.join(found)}."] if found else []


def _is_marked(source: Source, sheets: Iterable[zipfile.ZipInfo]) -> bool:
    """Whether there are comments, styles that say something, formulas, errors, links, merged or hidden cells."""
    with zipfile.ZipFile(source.path) as archive:
        names = archive.namelist()
        return (
            any("comment" in name.lower() for name in names)
            or (_STYLES in names and _is_styled(archive.read(_STYLES)))
            or any(_has_marks(archive, one) for one in sheets)
        )


def _mentions(archive: zipfile.ZipFile, part: zipfile.ZipInfo, marks: Iterable[bytes]) -> bool:
    """Whether a part has one of these in it, at most 64 bytes long."""
    with archive.open(part) as stream:
        tail = b""
        while chunk := stream.read(1 << 20):
            block = tail + chunk
            if any(mark in block for mark in marks):
                return True
            tail = block[-64:]
    return False


def _has_marks(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    with archive.open(part) as stream:
        root = _ROOT.search(stream.read(1 << 16))
    if not root:
        return True
    opened = b"<" + (root[1] or b"")  # some programs write `<x:f>`
    return _mentions(archive, part, [*(opened + tag for tag in _TAGS), *_ATTRIBUTES])


def _is_styled(styles: bytes) -> bool:
    """Whether a cell's style has a fill, a colour of its text, or a format of numbers that is not one of dates."""
    from defusedxml.ElementTree import fromstring  # type: ignore[import-untyped]  # it has no types

    try:
        root = fromstring(styles)
    except (SyntaxError, ValueError):
        return True  # openpyxl says what is wrong
    used = _entries(root, "cellXfs")
    fonts, fills = _entries(root, "fonts"), _entries(root, "fills")
    codes = {one.get("numFmtId", ""): one.get("formatCode", "") for one in _entries(root, "numFmts")}
    return (
        any(_is_coloured(one) for one in _chosen(fonts, used, "fontId"))
        or any(_is_filled(one) for one in _chosen(fills, used, "fillId"))
        or not all(_is_plain_format(number, codes) for number in {one.get("numFmtId", "0") for one in used})
    )


def _entries(root: Element, name: str) -> list[Element]:
    return [entry for group in root if _local(group) == name for entry in group]


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _chosen(entries: list[Element], used: list[Element], by: str) -> list[Element]:
    """Those that the styles of cells name by their place."""
    numbers = {one.get(by, "0") for one in used}
    return [entry for number, entry in enumerate(entries) if str(number) in numbers]


def _is_coloured(font: Element) -> bool:
    """Whether the text has another colour than black or the one that it has anyway."""
    for colour in (one for one in font if _local(one) == "color"):
        if rgb := colour.get("rgb"):
            return rgb[-6:] != "000000"
        if "indexed" in colour.attrib:
            return colour.get("indexed") not in _TEXT_COLOURS
        if "theme" in colour.attrib:
            return colour.get("theme") != "1" or bool(colour.get("tint", "0").strip("0."))
    return False


def _is_filled(fill: Element) -> bool:
    kinds = [one.get("patternType", "none") if _local(one) == "patternFill" else "gradient" for one in fill]
    return any(kind != "none" for kind in kinds)


def _is_plain_format(number: str, codes: dict[str, str]) -> bool:
    if number in codes:
        return codes[number] in _UNFORMATTED or bool(_DATE.search(_QUOTED.sub("", codes[number])))
    return number in _PLAIN_FORMATS
