"""Whether a workbook holds more than values and dates, found out faster than openpyxl reads it."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

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


def is_marked(archive: zipfile.ZipFile, sheets: Iterable[zipfile.ZipInfo]) -> bool:
    """Whether there are comments, styles that say something, formulas, errors, links, merged or hidden cells."""
    names = archive.namelist()
    if any("comment" in name.lower() for name in names):
        return True
    if _STYLES in names and _is_styled(archive.read(_STYLES)):
        return True
    return any(_has_marks(archive, one) for one in sheets)


def mentions(archive: zipfile.ZipFile, part: zipfile.ZipInfo, marks: Iterable[bytes]) -> bool:
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
    return mentions(archive, part, [*(opened + tag for tag in _TAGS), *_ATTRIBUTES])


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
