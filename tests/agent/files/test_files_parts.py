# ruff: noqa: E501 - XML is easier to read on one line
"""No part of an office document vanishes: the text shows it, or a note names it."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from lxml import etree
from openpyxl import Workbook
from pptx import Presentation

from agent.files.contents import Contents
from support.contents import Open, text_of
from support.docx_bytes import docx_bytes, paragraph, rewritten

_M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def run(inner: str) -> str:
    return f"<w:r>{inner}</w:r>"


def word(marker: str) -> str:
    return run(f"<w:t>{marker}</w:t>")


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


def shown(contents: Contents) -> str:
    return "\n".join([contents.summary, text_of(contents), *contents.lost])


def with_member(package: bytes, name: str, content: str | bytes = "<a>x</a>") -> bytes:
    out = io.BytesIO(package)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(name, content)
    return out.getvalue()


def pptx_bytes() -> bytes:
    show = Presentation()
    show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = "hello"
    out = io.BytesIO()
    show.save(out)
    return out.getvalue()


def xlsx_bytes() -> bytes:
    book, out = Workbook(), io.BytesIO()
    book.active["A1"] = "hello"
    book.save(out)
    return out.getvalue()


MADE = {"docx": lambda: docx_bytes(paragraph("hello")), "pptx": pptx_bytes, "xlsx": xlsx_bytes}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("glossary/document.xml", "building blocks"),
        ("vbaProject.bin", "macros"),
        ("embeddings/book.xlsx", "embedded files"),
        ("media/image9.png", "pictures"),
        ("media/film.mp4", "audio and video"),
        ("activeX/activeX1.xml", "form controls"),
        ("diagrams/data9.xml", "diagrams"),
        ("unheardOf/part.xml", "other parts"),
    ],
)
def test_parts_that_nobody_reads_are_named(open_file: Open, kind: str, name: str, what: str) -> None:
    folder = {"docx": "word", "pptx": "ppt", "xlsx": "xl"}[kind]
    content = with_member(MADE[kind](), f"{folder}/{name}")
    contents = open_file(kind, content)
    assert f"{folder}/{name}" in " ".join(contents.lost) or (kind == "xlsx" and name.endswith("png"))
    assert what in " ".join(contents.lost).lower()


def strict(name: str, content: bytes) -> tuple[str, bytes]:
    return name, re.sub(rb"http://schemas\.openxmlformats\.org/(\w+)/2006/(?!content|metadata)(?=\w)", rb"http://purl.oclc.org/ooxml/\1/", content) if not name.startswith("[") and b"package/2006/relationships" not in content else re.sub(rb"http://schemas\.openxmlformats\.org/officeDocument/2006/relationships", rb"http://purl.oclc.org/ooxml/officeDocument/relationships", content)  # fmt: skip


def utf16(name: str, content: bytes) -> tuple[str, bytes]:
    if not name.endswith(".xml") or name.startswith("["):
        return name, content
    return name, etree.tostring(etree.fromstring(content), encoding="UTF-16", xml_declaration=True)


VARIANTS = {
    "strict": strict,
    "backslashes": lambda name, content: (name.replace("/", "\\"), content),
    "absolute targets": lambda name, content: (name, content.replace(b'Target="word', b'Target="/word')),
    "other case": lambda name, content: (name.upper() if name.startswith("word") else name, content),
    "UTF-16": utf16,
}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("change", VARIANTS.values(), ids=VARIANTS.keys())
def test_packages_as_other_programs_write_them(open_file: Open, kind: str, change: object) -> None:
    assert "hello" in text_of(open_file(kind, rewritten(MADE[kind](), change)))


def test_a_damaged_part_loses_only_itself(open_file: Open) -> None:
    contents = open_file("docx", docx_bytes(paragraph("hello"), comments="<w:comments"))
    assert text_of(contents) == "hello"
    assert "word/comments.xml is corrupt" in " ".join(contents.lost)


@pytest.mark.parametrize(
    ("font", "code", "shown"),
    [
        ("Wingdings", "F0FE", "☑"), ("Wingdings", "F0FD", "☒"), ("Wingdings", "F0A8", "☐"), ("Wingdings", "F0E0", "→"),
        ("Symbol", "F061", "α"), ("Symbol", "F0B7", "•"), ("Symbol", "F0B0", "°"), ("Symbol", "F0A3", "≤"),
        ("Wingdings 2", "F050", "✓"), ("Webdings", "F061", "✔"), ("Symbol", "F0F0", "[symbol F0F0 of Symbol]"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_text", [False, True], ids=["sym", "text"])
def test_characters_of_symbol_fonts(open_file: Open, font: str, code: str, shown: str, is_text: bool) -> None:
    text = f'<w:rPr><w:rFonts w:ascii="{font}"/></w:rPr><w:t>&#x{code};</w:t>'
    body = paragraph(run(text if is_text else f'<w:sym w:font="{font}" w:char="{code}"/>'))
    assert text_of(open_file("docx", docx_bytes(body))) == shown


def test_deleted_rows_and_cells_are_listed_and_not_shown(open_file: Open) -> None:
    gone = f'<w:tr><w:trPr><w:del w:author="Bob"/></w:trPr>{cell("Desks")}{cell("250")}</w:tr>'
    added = '<w:cellIns w:author="Ann"/>'
    kept = f"<w:tr>{cell('Lamps')}{cell('40', added)}</w:tr>"
    text = text_of(open_file("docx", docx_bytes(f"<w:tbl>{kept}{gone}</w:tbl>")))
    assert text.split("\n\n") == [
        "| Lamps | 40 |\n| --- | --- |",
        "## Tracked changes",
        "[cell inserted by Ann: 40]\n[row deleted by Bob: Desks | 250]",
    ]


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ("<m:sSup><m:e>{10}</m:e><m:sup>{2}</m:sup></m:sSup>", "10^(2)"),
        ("<m:f><m:num>{a}</m:num><m:den>{b}</m:den></m:f>", "(a)/(b)"),
        ("<m:rad><m:deg/><m:e>{x}</m:e></m:rad>", "√(x)"),
        ('<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{i}</m:sub><m:sup/><m:e>{x}</m:e></m:nary>', "∑_(i) x"),
        ("<m:d><m:e>{x}</m:e></m:d>", "(x)"),
    ],
    ids=["power", "fraction", "root", "sum", "brackets"],
)
def test_formulas_on_a_line(open_file: Open, formula: str, shown: str) -> None:
    filled = re.sub(r"\{(\w+)\}", r"<m:r><m:t>\1</m:t></m:r>", formula)
    assert text_of(open_file("docx", docx_bytes(paragraph(f"<m:oMath {_M}>{filled}</m:oMath>")))) == shown


def test_objects_of_a_workbook(open_file: Open) -> None:
    from openpyxl.chart import BarChart, Reference
    from openpyxl.workbook.defined_name import DefinedName
    from openpyxl.worksheet.datavalidation import DataValidation

    book, out = Workbook(), io.BytesIO()
    sheet = book.active
    sheet.append(["fruit", "count"])
    sheet.append(["MARKERfig", 3])
    chart = BarChart()
    chart.title = "MARKERtitle"
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=2), titles_from_data=True)
    sheet.add_chart(chart, "D2")
    rule = DataValidation(type="list", formula1='"MARKERchoice,b"', prompt="MARKERprompt")
    rule.add("A9")
    sheet.add_data_validation(rule)
    sheet.oddHeader.center.text = "MARKERheader"
    book.defined_names["MARKERname"] = DefinedName("MARKERname", attr_text="Sheet!$B$2")
    book.create_sheet("MARKERsecret").sheet_state = "veryHidden"
    book.save(out)
    text = shown(open_file("xlsx", out.getvalue()))
    for what in ("fig", "title", "choice", "prompt", "header", "name", "secret"):
        assert f"MARKER{what}" in text
