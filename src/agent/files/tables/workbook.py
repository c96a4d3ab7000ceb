"""Workbooks: all that a sheet shows where the file is of a usual size, the values alone where it is large."""

from __future__ import annotations

import contextlib
import re
import zipfile
import zlib

from agent.files.contents import ReadLimits, Source
from agent.files.problem import FileProblem, name_of, parser_failed
from agent.files.tables.rows import first_of, number_of_letters
from agent.files.tables.sheets import PlainSheet, Sheet, WorkbookContents

FULL = 16 << 20
"""Bytes of sheets, unpacked, up to which everything is read; openpyxl takes seconds for them."""
_SMALL = 1 << 18
"""Bytes of sheets up to which nothing is gained by looking for what is in them."""
_MOST_PICTURES = 50
_RATIO = 200
"""How many times its size a workbook of more than 64 MiB may unpack to; what people make reaches a tenth of it."""
_WIDE = 1 << 20
"""Cells that merged cells and links may span together: openpyxl makes an object of each."""
_SPAN = re.compile(
    rb"<(?:[\w.-]{1,40}:)?(?:mergeCell|hyperlink)\s[^<>]{0,400}?\bref\s*=\s*[\"']\$?([A-Z]{1,3})\$?(\d{1,7})"
    rb":\$?([A-Z]{1,3})\$?(\d{1,7})[\"']"
)
_MARKED = re.compile(
    rb"<(?:[\w.-]{1,40}:)?(?:f[\s>]|mergeCell\s|conditionalFormatting|hyperlink\s)|\st=[\"']e[\"']|\shidden="
)
"""What of a sheet its values alone do not show: formulas, errors, links, merged or hidden cells."""
_STYLED = re.compile(
    rb"""patternType=["'](?!none|gray125)|gradientFill
    |<(?:[\w.-]{1,40}:)?color\s[^>]*(?:rgb=["']..(?!000000)|indexed=["'](?!(?:0|8|64|81)["'])|theme=["'](?!1["'])|tint=)
    |formatCode=["'](?!General["']|@["']|[^"']*(?:yy|mm|dd|hh|ss))
    |numFmtId=["'](?:[1-9]|1[0-3]|3[7-9]|4[0-4]|48)["']""",
    re.VERBOSE | re.IGNORECASE,
)
"""A fill, a colour that text has not anyway, or a format of numbers that is not one of dates."""
_QUOTED = re.compile(rb"&quot;.*?&quot;")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def open_workbook(source: Source, limits: ReadLimits) -> WorkbookContents:
    """Opens an xlsx file.

    Raises:
        FileProblem: It is encrypted, damaged, cut off, or unpacks to too much.
    """
    parts = _parts(source, limits)
    lost = _unshown(parts)
    contents = _with_marks(source, limits, parts, lost) or _plain(source, limits, lost)
    contents.pictures = _pictures(source, parts)
    if contents.pictures:
        named = ", ".join(f"[picture {name}]" for name in contents.pictures)
        contents.lost.append(f"Pictures that stand on its sheets, saved apart: {named}.")
    return contents


def open_values(source: Source, limits: ReadLimits) -> WorkbookContents:
    """Opens an xls, xlsb or ods file: its values.

    Raises:
        FileProblem: It is encrypted, damaged, or unpacks to too much.
    """
    if source.kind != "xls":
        _parts(source, limits)
    lost = [f"Of {source.kind} files only values are read, not formulas, colours, number formats, comments or errors."]
    return _plain(source, limits, lost)


def _with_marks(
    source: Source, limits: ReadLimits, parts: list[zipfile.ZipInfo], lost: list[str]
) -> WorkbookContents | None:
    """A workbook with all that its sheets show; None where its values are all that is there or can be read."""
    sheets = [one for one in parts if re.fullmatch(r"xl/worksheets/[^/]+\.xml", one.filename)]
    size = sum(one.file_size for one in sheets)
    if size > FULL:
        lost.append(
            "The workbook is large: only values are read, not formulas, colours, number formats, comments or error"
            " values (#DIV/0!), which are shown as empty. Use openpyxl with read_only=True for them."
        )
        return None
    texts, styles = list[bytes](), b""
    with contextlib.suppress(*_DAMAGE), zipfile.ZipFile(source.path) as archive:  # openpyxl says what is wrong
        texts = [archive.read(one) for one in sheets]
        styles = archive.read("xl/styles.xml") if "xl/styles.xml" in archive.namelist() else b""
    spanned = sum(
        (1 + abs(int(bottom) - int(top)))
        * (1 + abs(number_of_letters(right.decode()) - number_of_letters(left.decode())))
        for text in texts
        for left, top, right, bottom in _SPAN.findall(text)
    )
    if spanned > _WIDE:
        lost.append(
            f"Merged cells and links span {spanned:,} cells, so only values are read, not formulas, colours, number"
            " formats or comments. Use openpyxl with read_only=True for them."
        )
        return None
    has_marks = any("comment" in one.filename.lower() for one in parts) or _STYLED.search(_QUOTED.sub(b"", styles))
    if size > _SMALL and texts and not has_marks and not any(map(_MARKED.search, texts)):
        return None
    if any(b":conditionalFormattings" in text for text in texts):  # an extension, which openpyxl leaves out
        lost.append("What conditional formats of newer kinds colour is not shown.")
    try:
        return _full(source, limits, lost)
    except (SyntaxError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise parser_failed(name_of(source), source.kind, error) from error
    except Exception as error:  # noqa: BLE001 - openpyxl refuses much that other programs write and read
        lost.append(f"Only values could be read, not formulas, colours or comments ({type(error).__name__}).")
        return None


def _plain(source: Source, limits: ReadLimits, lost: list[str]) -> WorkbookContents:
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
        raise _encrypted(source) from error
    except CalamineError as error:
        raise FileProblem("damaged", f"{name_of(source)} cannot be read as {source.kind}: {error}.") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what a fault in Rust becomes; it is no Exception
            raise
        raise parser_failed(name_of(source), source.kind, error) from error
    return WorkbookContents(source.kind, sheets, lost, limits.section)


def _encrypted(source: Source) -> FileProblem:
    return FileProblem(
        "encrypted",
        f"{name_of(source)} is protected by a password.",
        remedy="Its content cannot be had without the password.",
    )


def _full(source: Source, limits: ReadLimits, lost: list[str]) -> WorkbookContents:
    from openpyxl.worksheet.worksheet import Worksheet  # type: ignore[import-untyped]  # it has no types

    from agent.files.tables.cells import FullSheet, load_with_values, theme_colours

    book = load_with_values(source.path)
    theme = theme_colours(book.loaded_theme)
    sheets = [FullSheet(sheet, theme) for sheet in book.worksheets if isinstance(sheet, Worksheet)]
    told = [f"Sheet {one.title} is a chart: it is not shown." for one in book.chartsheets]
    told += [one for sheet in sheets for one in sheet.lost()]
    told += [
        f"{sheet.title}: the formulas in {first_of(sheet.uncomputed)} have no saved value; they must be computed."
        for sheet in sheets
        if sheet.uncomputed
    ]
    if any(sheet.formulas > len(sheet.uncomputed) for sheet in sheets) and _asks_for_computing(source):
        told.append("The workbook asks for its formulas to be computed anew: their saved values may be out of date.")
    contents = WorkbookContents(source.kind, list[Sheet](sheets), [*lost, *told], limits.section)
    contents.facts["names"] = {name: defined.attr_text for name, defined in book.defined_names.items()}
    return contents


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
    name = name_of(source)
    with source.path.open("rb") as file:
        if file.read(4) == b"\xd0\xcf\x11\xe0":
            raise _encrypted(source)
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


def _pictures(source: Source, parts: list[zipfile.ZipInfo]) -> dict[str, bytes]:
    """The pictures of a workbook by the names to save them as."""
    media = [one for one in parts if one.filename.startswith("xl/media/")]
    found: dict[str, bytes] = {}
    with zipfile.ZipFile(source.path) as archive:
        for number, one in enumerate(media[:_MOST_PICTURES], 1):
            suffix = re.search(r"\.\w{1,5}\Z", one.filename)
            with contextlib.suppress(*_DAMAGE):
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
