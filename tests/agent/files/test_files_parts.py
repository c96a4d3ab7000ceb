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
from support.docx_bytes import R, W, docx_bytes, paragraph, rewritten

_M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
_MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
_V = 'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office"'


def run(inner: str) -> str:
    return f"<w:r>{inner}</w:r>"


def word(marker: str) -> str:
    return run(f"<w:t>{marker}</w:t>")


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


def field(code: str, data: str = "", result: str = "") -> str:
    separate = '<w:fldChar w:fldCharType="separate"/>'
    between = run(separate) + word(result) if result else ""
    begin = f'<w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar>'
    end = '<w:fldChar w:fldCharType="end"/>'
    return run(begin) + run(f"<w:instrText>{code}</w:instrText>") + between + run(end)


DOCX = {
    "body": paragraph("MARKER"),
    "a content control": f"<w:sdt><w:sdtContent>{paragraph('MARKER')}</w:sdtContent></w:sdt>",
    "an unknown container": f"<w:future>{paragraph('MARKER')}</w:future>",
    "a container of runs": paragraph(f"<w:future>{word('MARKER')}</w:future>"),
    "a choice": paragraph(run(f"<mc:AlternateContent {_MC}><mc:Choice><w:t>MARKER</w:t></mc:Choice></mc:AlternateContent>")),
    "a fallback": paragraph(
        run(f"<mc:AlternateContent {_MC}><mc:Choice/><mc:Fallback><w:t>MARKER</w:t></mc:Fallback></mc:AlternateContent>")
    ),
    "a text box": paragraph(run(f"<w:drawing><w:txbxContent>{paragraph('MARKER')}</w:txbxContent></w:drawing>")),
    "a watermark": paragraph(run(f'<w:pict {_V}><v:shape><v:textpath string="MARKER"/></v:shape></w:pict>')),
    "alt text": paragraph(run('<w:drawing><x:docPr xmlns:x="x" descr="MARKER"/></w:drawing>')),
    "an embedded object": paragraph(run(f'<w:object {_V}><o:OLEObject ProgID="MARKER" {R} r:id="none"/></w:object>')),
    "a form control": paragraph(run(f'<w:object><w:control w:name="MARKER" {R} r:id="none"/></w:object>')),
    "a chosen entry": paragraph(
        field("FORMDROPDOWN", '<w:ddList><w:result w:val="1"/><w:listEntry w:val="a"/><w:listEntry w:val="MARKER"/></w:ddList>')
    ),
    "another entry": paragraph(field("FORMDROPDOWN", '<w:ddList><w:listEntry w:val="a"/><w:listEntry w:val="MARKER"/></w:ddList>')),
    "an entry of a content control": paragraph(
        f'<w:sdt><w:sdtPr><w:comboBox><w:listItem w:displayText="MARKER" w:value="1"/></w:comboBox></w:sdtPr>'
        f"<w:sdtContent>{word('other')}</w:sdtContent></w:sdt>"
    ),
    "a text field": paragraph(field("FORMTEXT", "<w:textInput/>", "MARKER")),
    "the address of a link": paragraph(field(' HYPERLINK "https://example.org/MARKER" ', "", "here")),
    "ruby": paragraph(run(f"<w:ruby><w:rt>{word('MARKER')}</w:rt><w:rubyBase>{word('b')}</w:rubyBase></w:ruby>")),
    "a formula": paragraph(f"<m:oMath {_M}><m:f><m:num><m:r><m:t>MARKER</m:t></m:r></m:num></m:f></m:oMath>"),
    "hidden text": paragraph(run("<w:rPr><w:vanish/></w:rPr><w:t>MARKER</w:t>")),
    "a deleted run": paragraph(f'<w:del w:author="A">{run("<w:delText>MARKER</w:delText>")}</w:del>'),
    "a moved run": paragraph(f'<w:moveFrom w:author="A">{word("MARKER")}</w:moveFrom>'),
    "a deleted block": f'<w:del w:author="A">{paragraph("MARKER")}</w:del>',
    "a deleted row": f'<w:tbl><w:tr><w:trPr><w:del w:author="A"/></w:trPr>{cell("MARKER")}</w:tr></w:tbl>',
    "an inserted row": f'<w:tbl><w:tr><w:trPr><w:ins w:author="A"/></w:trPr>{cell("MARKER")}</w:tr></w:tbl>',
    "a deleted cell": "<w:tbl><w:tr>" + cell("x") + cell("MARKER", '<w:cellDel w:author="A"/>') + "</w:tr></w:tbl>",
    "a paragraph whose end is deleted": '<w:p><w:pPr><w:rPr><w:del w:author="A"/></w:rPr></w:pPr>' + word("MARKER") + "</w:p>",
    "a symbol that is not known": paragraph(run('<w:sym w:font="MARKER" w:char="F0AA"/>')),
}  # fmt: skip


def shown(contents: Contents) -> str:
    return "\n".join([contents.summary, text_of(contents), *contents.lost])


@pytest.mark.parametrize("body", DOCX.values(), ids=DOCX.keys())
def test_what_stands_in_a_document(open_file: Open, body: str) -> None:
    assert "MARKER" in shown(open_file("docx", docx_bytes(body)))


@pytest.mark.parametrize(
    ("name", "item"),
    [("header", ""), ("footer", ""), ("footnotes", "footnote"), ("endnotes", "endnote"), ("comments", "comment")],
)
def test_parts_of_a_document(open_file: Open, name: str, item: str) -> None:
    """Notes and comments that the text does not refer to are shown too."""
    root = {"header": "hdr", "footer": "ftr"}.get(name, name)
    inner = f'<w:{item} w:id="1">{paragraph("MARKER")}</w:{item}>' if item else paragraph("MARKER")
    part = f"<w:{root} {W}>{inner}</w:{root}>"
    assert "MARKER" in text_of(open_file("docx", docx_bytes(paragraph("text"), **{name: part})))


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
        ("media/film.mp4", "sounds and films"),
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
    assert "word/comments.xml is damaged" in " ".join(contents.lost)


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


@pytest.mark.parametrize(
    ("state", "shown"),
    [("<w:checked/>", "☒"), ('<w:checked w:val="0"/>', "☐"), ('<w:default w:val="1"/>', "☒"), ("", "☐")],
)
def test_legacy_check_boxes(open_file: Open, state: str, shown: str) -> None:
    body = paragraph(field("FORMCHECKBOX", f"<w:checkBox>{state}</w:checkBox>") + word(" yes"))
    assert text_of(open_file("docx", docx_bytes(body))) == f"{shown} yes"


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


def test_a_shape_of_slides_in_several_versions(open_file: Open) -> None:
    mc = b'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    shape = b"<mc:AlternateContent %s><mc:Choice><p:sp><p:txBody><a:p><a:r><a:t>MARKER</a:t></a:r></a:p></p:txBody></p:sp></mc:Choice></mc:AlternateContent>"

    def with_shape(name: str, content: bytes) -> tuple[str, bytes]:
        return name, content.replace(
            b"</p:spTree>", shape % mc + b"</p:spTree>"
        ) if "slides/slide1" in name else content

    assert text_of(open_file("pptx", rewritten(pptx_bytes(), with_shape))).count("MARKER") == 1


def test_an_attachment_of_outlook_is_named_by_its_kind(open_file: Open) -> None:
    from email.message import EmailMessage

    mail = EmailMessage()
    mail["From"], mail["Subject"] = "ann@example.org", "x"
    mail.set_content("see attached")
    content = b"\x78\x9f\x3e\x22" + bytes(60)
    mail.add_attachment(content, maintype="application", subtype="ms-tnef", filename="winmail.dat")
    assert "winmail.dat is a file of kind tnef" in " ".join(open_file("eml", bytes(mail)).lost)
