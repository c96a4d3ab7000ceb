"""Workbooks: what sheets hold and show, hidden parts, formulas with their values, and damage."""

from __future__ import annotations

import datetime as dt
import re
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.comments import Comment
from openpyxl.formatting.rule import CellIsRule
from openpyxl.styles import Color, Font, GradientFill, PatternFill

from agent.files.contents import FileProblem, ReadLimits, Source
from agent.files.reading import preview, read
from agent.files.tables import workbook as workbook_module
from agent.files.tables.workbook import open_workbook

pytestmark = pytest.mark.usefixtures("in_process")


def saved(book: Any, path: Path) -> Path:
    book.save(path)
    return path


def with_values(path: Path, values: dict[str, str]) -> Path:
    """Save these values for the formulas of a workbook, as a spreadsheet program does."""
    target = path.with_name(f"computed-{path.name}")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name).decode()
            if name == "xl/worksheets/sheet1.xml":
                for cell, value in values.items():
                    content = re.sub(rf'(<c r="{cell}"[^>]*><f>[^<]*</f>)<v ?/>', rf"\1<v>{value}</v>", content)
                    content = re.sub(rf'(<c r="{cell}"[^>]*><f>[^<]*</f>)<v></v>', rf"\1<v>{value}</v>", content)
            if name == "xl/workbook.xml":
                content = content.replace(' fullCalcOnLoad="1"', "")
            new.writestr(name, content)
    return target


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    """A workbook with a full, a hidden and an empty sheet."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Costs"
    sheet.append(["Name", "Cost", "Total", "When"])
    sheet.append(["Tea", 3, "=B2*2", dt.date(2024, 5, 1)])
    sheet.append(["00001", 0.25, "=SUM(B2:B3)", dt.datetime(2024, 5, 1, 10, 30)])
    sheet.append([None, 0.1 + 0.2, "#DIV/0!", dt.time(9, 5)])
    for cell in ("A2", "A3", "B2", "B3", "D9"):
        sheet[cell].fill = PatternFill("solid", fgColor="FFFF0000")
    sheet["A4"].fill = PatternFill("solid", fgColor=Color(theme=5, tint=0.4))
    sheet["A1"].font = Font(color="FF0000FF")
    sheet["A2"].font = sheet["B2"].font = Font(strike=True)
    sheet["B3"].font = Font(italic=True)
    sheet["B3"].number_format = "0.00%"
    sheet["B2"].comment = Comment("dear\nold", "Ann")
    sheet["A6"] = "merged"
    sheet.merge_cells("A6:C7")
    sheet["A8"] = "to the shop"
    sheet["A8"].hyperlink = "https://example.org/tea"
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["D"].hidden = True
    secret = book.create_sheet("Secret")
    secret.sheet_state = "hidden"
    secret["C3"] = True
    book.create_sheet("Nothing")
    return saved(book, tmp_path / "costs.xlsx")


async def test_text_that_is_struck_through_in_part_is_told(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    gone = InlineFont(strike=True)
    sheet["A1"] = CellRichText(TextBlock(gone, "12"), " 15 ", TextBlock(InlineFont(b=True), "pounds"))
    sheet["A2"] = CellRichText(TextBlock(gone, "all of"), TextBlock(gone, " it"))
    sheet["A3"] = CellRichText("plain ", TextBlock(InlineFont(b=True), "bold"))
    text = (await read(saved(book, tmp_path / "a.xlsx"))).text
    assert "| 1 | 12 15 pounds |\n| 2 | all of it |\n| 3 | plain bold |" in text
    assert text.endswith("Marked text:\n- struck through in part, ~~12~~ 15 pounds: A1\n- struck through: A2")


async def test_a_sheet_with_all_it_shows(costs: Path) -> None:
    told = await read(with_values(costs, {"C2": "6", "C3": "3.25"}))
    assert told.where == "page 1 of 3 (sheet Costs, rows 1-9)"
    table, _, notes = told.text.partition("\n\n")
    assert table.splitlines()[2:6] == [
        "| 1 | Name | Cost | Total | When |",
        "| 2 | Tea | 3 | 6 [=B2*2] | 2024-05-01 |",
        "| 3 | 00001 | 0.25 | 3.25 [=SUM(B2:B3)] | 2024-05-01 10:30:00 |",
        "| 4 |  | 0.3 | #DIV/0! | 09:05:00 |",
    ]
    assert notes.splitlines() == [
        "Fill colours:",
        "- #FF0000 (red): A2:B3, D9",
        "- #D99694 (red): A4" if "D99694" in notes else notes.splitlines()[2],
        "Font colours:",
        "- #0000FF (blue): A1",
        *[line for line in notes.splitlines() if line.startswith("- #") and line.endswith(": A8")],
        "Marked text:",
        "- struck through: A2:B2",
        "- italic: B3",
        "Number formats:",
        "- `0.00%`: B3",
        "Merged cells: A6:C7",
        "Hidden rows: 3",
        "Hidden columns: D",
        "Comment on B2: dear old (Ann)",
        "Link of A8: https://example.org/tea",
    ]
    assert told.lost == []


async def test_formulas_without_a_value_are_told(costs: Path) -> None:
    told = await read(costs)
    assert "sheet Costs: the formulas in C2, C3 have no saved value; they must be computed." in told.lost
    assert "| 2 | Tea | 3 | [=B2*2] |" in told.text


async def test_saved_values_of_formulas_are_errors_dates_and_numbers_also_in_cells_without_names(
    tmp_path: Path,
) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append([1, "=A1/0", "=A1+45000", "=A1+1", 5])
    sheet["C1"].number_format = "yyyy-mm-dd"
    path = with_values(saved(book, tmp_path / "a.xlsx"), {"B1": "#DIV/0!", "C1": "45001", "D1": "2"})
    nameless = tmp_path / "nameless.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(nameless, "w") as new:
        for name in old.namelist():
            content = old.read(name).decode()
            if name == "xl/worksheets/sheet1.xml":
                content = re.sub(r'<c r="B1"', '<c r="B1" t="e"', content)
                content = re.sub(r'<c r="[A-E]1"', "<c", content)
            new.writestr(name, content)
    text = (await read(nameless)).text
    assert "| 1 | 1 | #DIV/0! [=A1/0] | 2023-03-16 [=A1+45000] | 2 [=A1+1] | 5 |" in text


def big(path: Path, rows: int) -> Path:
    book = Workbook(write_only=True)
    sheet = book.create_sheet("Sales")
    for i in range(rows):
        sheet.append([i, f"{i:05d}", dt.date(2024, 1, 1) + dt.timedelta(days=i % 300), i / 4])
    return saved(book, path)


async def test_values_alone_are_the_same_as_the_whole_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = big(tmp_path / "a.xlsx", 2500)
    whole = open_workbook(Source(path, "xlsx"), ReadLimits())
    monkeypatch.setattr(workbook_module, "MAX_FULL_BYTES", 0)
    fast = open_workbook(Source(path, "xlsx"), ReadLimits())
    assert "only values are read" in fast.lost[0]
    assert [one.text for one in fast.sections()] == [one.text for one in whole.sections()]
    assert fast.count == whole.count
    assert "| 8 | 7 | 00007 | 2024-01-08 | 1.75 |" in next(fast.sections()).text


async def test_colours_that_are_not_shown_are_told(costs: Path) -> None:
    book = load_workbook(costs)
    sheet = book["Costs"]
    sheet["A1"].fill, sheet["B1"].fill, sheet["C1"].fill = (
        PatternFill("darkGrid", fgColor="FFFF0000"),
        GradientFill(stop=("FF0000", "0000FF")),
        PatternFill("solid", fgColor=Color(indexed=64)),
    )
    sheet.conditional_formatting.add("B2:B4 D2", CellIsRule("greaterThan", ["1"], fill=PatternFill(bgColor="FFFF0000")))
    told = await read(with_values(saved(book, costs), {"C2": "6", "C3": "3.25"}))
    assert told.lost == [
        "sheet Costs: the fills of A1:C1, patterns, gradients or system colours, are not shown.",
        "sheet Costs: colours from conditional formats in B2:B4, D2 are not shown.",
    ]


@pytest.mark.parametrize(
    "marks",
    [
        b'<mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>',
        b"<mergeCells count='1'><mergeCell ref='A1:XFD1048576'/></mergeCells>",
        b'<hyperlinks><hyperlink display="x" ref="A1:XFD1048576" location="A1"/></hyperlinks>',
    ],
)
async def test_marks_over_a_whole_sheet_cost_no_time(tmp_path: Path, marks: bytes) -> None:
    book = Workbook()
    book.active["A1"] = "all"
    saved(book, tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as old, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"</sheetData>", b"</sheetData>" + marks))
    started = time.monotonic()
    shown = await preview(tmp_path / "b.xlsx", name="b.xlsx")
    assert time.monotonic() - started < 20
    assert "all" in shown.text
    assert "only values are read" in " ".join(shown.lost)


async def test_far_apart_cells_take_no_space(tmp_path: Path) -> None:
    book = Workbook()
    assert book.active is not None
    book.active["A1"], book.active["XFD1048576"] = "first", "last"
    told = await read(saved(book, tmp_path / "far.xlsx"))
    assert told.text.splitlines()[0] == "|  | A | XFD |"
    assert told.text.splitlines()[-1] == "| 1048576 |  | last |"


def cut_short(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
async def test_a_workbook_cut_short_is_told(share: float, costs: Path) -> None:
    cut_short(costs, share)
    told = await told_of(costs)
    assert "truncated" in told


async def told_of(path: Path) -> str:
    """The problem, or the content that is not shown."""
    try:
        return " ".join((await read(path)).lost)
    except FileProblem as problem:
        return problem.reason


async def test_a_password_is_told(tmp_path: Path) -> None:
    header = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504))
    header[30:32], header[48:52] = (9).to_bytes(2, "little"), (0).to_bytes(4, "little")
    entry = "EncryptedPackage".encode("utf-16-le").ljust(128, b"\0")
    (tmp_path / "a.xlsx").write_bytes(bytes(header) + entry * 4)
    with pytest.raises(FileProblem, match="protected by a password") as raised:
        await read(tmp_path / "a.xlsx")
    assert raised.value.reason == "encrypted"


async def test_broken_xml_is_a_problem(costs: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.xlsx"
    with zipfile.ZipFile(costs) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name)[:-40] if "sheet1" in name else old.read(name))
    with pytest.raises(FileProblem) as raised:
        await read(broken)
    assert raised.value.reason == "damaged"


async def test_xls_values() -> None:
    path = Path(__file__).with_name("data") / "tea.xls"
    seen = await preview(path)
    assert seen.kind == "xls"
    assert "hidden sheet Secret (A1:A1, 1 rows)" in seen.summary
    assert "| 2 | 00001 | 3 | 2024-05-01 |\n| 3 | 00002 | 2.75 | 2024-05-02 |" in seen.text


@pytest.mark.parametrize("share", [0.3, 0.7])
async def test_a_damaged_xls_is_a_problem(share: float, tmp_path: Path) -> None:
    path = tmp_path / "a.xls"
    path.write_bytes((Path(__file__).with_name("data") / "tea.xls").read_bytes())
    cut_short(path, share)
    with pytest.raises(FileProblem) as raised:
        await read(path)
    assert raised.value.reason in ("damaged", "truncated")
