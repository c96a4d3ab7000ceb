"""PDF: pages by number, columns, scanned pages through OCR, notes, and files that are locked or cut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from agent.files.contents import FileProblem
from agent.files.reading import read
from support.contents import Open, text_of
from support.pdf_bytes import PdfBytes

ROWS = (("Item", "Qty", "Price"), ("Apples and pears", "3", "4.50"), ("Oranges", "12", ""), ("Figs", "", "7.25"))
PLACES = (72, 250, 400)
CELLS = [
    (PLACES[column], 700 - 20 * row, text)
    for row, cells in enumerate(ROWS)
    for column, text in enumerate(cells)
    if text
]
TABLE = (
    "Item                                Qty                            Price\n"
    "Apples and pears                    3                             4.50\n"
    "Oranges                             12\n"
    "Figs                                                               7.25"
)


def scan(*lines: str) -> Image.Image:
    picture = Image.new("RGB", (850, 1100), "white")
    for number, line in enumerate(lines):
        ImageDraw.Draw(picture).text((80, 90 + 80 * number), line, fill="black", font=ImageFont.load_default(36))
    return picture


def test_pages_are_numbered_and_given_from_any_one_on(open_file: Open) -> None:
    pdf = PdfBytes()
    for number in range(1, 6):
        pdf.page([(72, 700, f"This is the {number}th page.")])
    contents = open_file("pdf", pdf.titled("Five pages").outlined("The end", 5).make())
    assert contents.count == 5
    assert [(s.name, s.text) for s in contents.sections(4)] == [
        ("page 4", "This is the 4th page."),
        ("page 5", "This is the 5th page."),
    ]
    assert contents.summary == "PDF of 5 pages “Five pages”.\nOutline: The end (page 5)"
    assert contents.lost == []
    contents.close()


@pytest.mark.parametrize("order", ["by row", "by column"])
def test_a_table_keeps_its_columns_in_whatever_order_it_was_written(open_file: Open, order: str) -> None:
    cells = CELLS if order == "by row" else sorted(CELLS, key=lambda cell: cell[0])
    assert _columns(text_of(open_file("pdf", PdfBytes().page(cells).make()))) == _columns(TABLE)


def _columns(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]


def test_empty_cells_stay_below_their_heads(open_file: Open) -> None:
    lines = text_of(open_file("pdf", PdfBytes().page(CELLS).make())).splitlines()
    price = lines[0].index("Price")
    assert abs(lines[3].index("7.25") - price) <= 3
    assert len(lines[2]) < price


def test_two_columns_of_prose_are_not_mixed(open_file: Open) -> None:
    left = [(50, 700 - 14 * n, f"left line {n} of a long text that fills it") for n in range(8)]
    right = [(320, 700 - 14 * n, f"right line {n} of a long text that fills it") for n in range(8)]
    text = text_of(open_file("pdf", PdfBytes().page([*left, *right]).make()))
    assert text.index("left line 7") < text.index("right line 0")


def test_a_page_that_is_a_picture_is_read_by_ocr_and_says_so(open_file: Open) -> None:
    pdf = PdfBytes().page([(72, 700, "typed")]).page(picture=scan("Invoice 4711", "Total 99.50"))
    contents = open_file("pdf", pdf.make())
    assert [s.text for s in contents.sections()] == ["typed", "Invoice 4711\nTotal 99.50"]
    assert any("Page 2 is only a picture; its text was read by OCR, with 9" in one for one in contents.notes)


@pytest.mark.usefixtures("in_process")
async def test_reading_a_page_tells_of_its_pictures_and_opens_no_page_after_it(tmp_path: Path) -> None:
    pdf = PdfBytes().page([(72, 700, "see below")], picture=scan("x")).page(picture=scan("Total 99.50")).make()
    (tmp_path / "a.pdf").write_bytes(pdf)
    part = await read(tmp_path / "a.pdf")
    assert (part.pictures, part.more) == ([1], "Continue with page=2 of 2.")
    assert part.lost == ["Page 1 has a picture besides its text, which are not described here."]


def test_notes_fields_and_links_are_shown(open_file: Open) -> None:
    notes = [
        b"<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (check this) >>",
        b"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (https://example.org/x) >> >>",
        b"<< /Type /Annot /Subtype /Widget /FT /Tx /Rect [0 0 9 9] /T (age) /V (42) >>",
    ]
    text = text_of(open_file("pdf", PdfBytes().page([(72, 700, "form")], notes=notes).make()))
    assert text.splitlines() == ["form", "[note: check this]", "[link: https://example.org/x]", "[field age: 42]"]


def test_text_by_pages_and_attached_files_are_saved(open_file: Open, tmp_path: Path) -> None:
    pdf = PdfBytes().page([(72, 700, "one")]).page([(72, 700, "two")]).attach("../../data.csv", b"a,b\n1,2\n")
    contents = open_file("pdf", pdf.make(), name="report.pdf")
    folder = tmp_path / "out"
    folder.mkdir()
    saved = contents.save_data(folder)
    assert [path.parent for path in saved] == [folder, folder]
    assert [json.loads(line) for line in saved[0].read_text().splitlines()] == [
        {"page": 1, "text": "one"},
        {"page": 2, "text": "two"},
    ]
    assert saved[0].name == "report.pages.jsonl"
    assert saved[1].read_bytes() == b"a,b\n1,2\n"
    assert "data.csv" in contents.lost[0]


def test_locked_by_a_password(open_file: Open) -> None:
    with pytest.raises(FileProblem, match="protected by a password") as caught:
        open_file("pdf", PdfBytes().page([(72, 700, "secret")]).make(password=True))
    assert caught.value.reason == "encrypted"
    assert "without the password" in caught.value.remedy


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (PdfBytes().page([(72, 700, "x")]).make()[:60], "truncated"),
        (b"%PDF-1.4\n" + b"\x81\x02 noise" * 100, "truncated"),
        (b"%PDF-1.4\n" + b"\x81\x02 noise" * 100 + b"%%EOF", "damaged"),
        (PdfBytes().make(), "damaged"),
    ],
    ids=["cut", "noise without end", "noise", "no pages"],
)
def test_what_cannot_be_read(open_file: Open, content: bytes, reason: str) -> None:
    with pytest.raises(FileProblem) as caught:
        open_file("pdf", content, name="odd.pdf")
    assert caught.value.reason == reason
    assert "odd.pdf" in caught.value.message


def test_a_mended_file_that_was_cut_says_so(open_file: Open) -> None:
    whole = PdfBytes().page([(72, 700, "still here")]).make()
    contents = open_file("pdf", whole[: whole.index(b"startxref")])
    assert "still here" in text_of(contents)
    assert contents.lost == ["The file lacks the usual end of a PDF: pages may be missing."]
