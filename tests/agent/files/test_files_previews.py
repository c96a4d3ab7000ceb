"""Previews: what is shown of a file is said, small files are whole, and no part takes the room of the others."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from pathlib import Path

import openpyxl
import pytest
from openpyxl.styles import PatternFill

from agent.calls.files import RecordedFiles
from agent.calls.recorder import Recorder
from agent.files.previews import ROOM, ListPreview
from agent.files.reading import preview
from agent.material.attached import files_text
from agent.store.journal import Journal

pytestmark = pytest.mark.usefixtures("in_process")

REGIONS = ["North", "South", "East", "West"]


def sales(path: Path, rows: int = 421) -> Path:
    lines = [f"2024-01-{1 + i % 28:02},{REGIONS[i % 4]},{i},{'' if i % 9 else f'checked by {i}'}" for i in range(rows)]
    path.write_text("day,region,units,note\n" + "\n".join(lines) + "\n")
    return path


async def test_of_a_long_table_the_first_rows_and_what_its_columns_hold(tmp_path: Path) -> None:
    seen = await preview(sales(tmp_path / "sales.csv"))
    lines = seen.text.splitlines()
    assert seen.label == "rows 1–10 of 421"
    assert lines[:3] == ["day,region,units,note", "2024-01-01,North,0,checked by 0", "2024-01-02,South,1,"]
    assert lines[11:] == [
        "Columns:",
        "- day: date 2024-01-01 to 2024-01-28; 28 different",
        "- region: text; 4 values: North (106), East (105), South (105), West (105)",
        "- units: number 0 to 420; all different",
        "- note: text; all different; 374 empty",
    ]


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["1,50", "1.200,00", "-3,25"] * 300, "number -3,25 to 1.200,00; 3 values: -3,25 (300), 1,50 (300)"),
        (["007", "008", "n/a"] * 300, "text; 3 values: 007 (300), 008 (300), n/a (300)"),
        (["1", "2", "many"] * 300, "number 1 to 2 (600) and text (300); 3 values"),
        ([""] * 900, "empty"),
        (["E200", "E201", "E1E9"] * 300, "text; 3 values: E1E9 (300)"),
        (["tea ", "tea", "oil"] * 300, 'text; 3 values: oil (300), tea (300), "tea " (300)'),
        (
            [*map(str, range(898)), "n/a", "-"],
            "number 0 to 897 (898) and text (2); all different; not number: n/a, -",
        ),
    ],
    ids=["comma", "zeros", "mixed", "empty", "codes", "blanks", "odd values"],
)
async def test_what_a_column_holds(cells: list[str], told: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("key;value;more\n" + "".join(f"k{i};{cell};{'x' * 9}\n" for i, cell in enumerate(cells)))
    assert f"- value: {told}" in (await preview(path)).text


async def test_each_sheet_gets_its_first_rows_and_the_colours_are_all_told_or_counted(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    orders = book.active
    assert orders is not None
    orders.title = "Orders"
    orders.append(["day", "region"])
    for i in range(400):
        orders.append([f"2024-01-{1 + i % 28:02}", REGIONS[i % 4]])
    for row in range(2, 60, 2):
        orders.cell(row, 1).fill = PatternFill("solid", fgColor="FFFF00")
    orders["B300"].fill = PatternFill("solid", fgColor="FF0000")
    rates = book.create_sheet("Rates")
    for row in (["region", "rate"], ["North", 0.1], ["South", 0.2]):
        rates.append(row)
    book.create_sheet("Nothing")
    book.save(tmp_path / "a.xlsx")
    seen = await preview(tmp_path / "a.xlsx")
    assert "## sheet Orders: rows 1–10 of 401\n|  | A | B |\n| 1 | day | region |\n" in seen.text
    assert "## sheet Rates: complete, 3 rows\n|  | A | B |\n| 1 | region | rate |" in seen.text
    assert "## sheet Nothing: no rows" in seen.text
    assert "- #FFFF00 (yellow): A2, A4, A6, A8, A10, A12, A14, A16, A18, A20 and 19 more" in seen.text
    assert "- #FF0000 (red): B300" in seen.text
    assert "- B region: text; 4 values: East (100)" in seen.text
    assert "Merged" not in seen.text
    assert seen.label == ""


async def test_a_database_shows_its_schema_once_and_rows_of_each_table(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "a.sqlite")
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, region TEXT)")
    connection.execute("CREATE TABLE rates (region TEXT, rate REAL)")
    connection.execute("CREATE VIEW big AS SELECT * FROM orders")
    connection.executemany(
        "INSERT INTO orders VALUES (?, ?)", [(i, f"{REGIONS[i % 4]} {'.' * 20}") for i in range(500)]
    )
    connection.execute("INSERT INTO rates VALUES ('North', 0.1)")
    connection.commit()
    connection.close()
    seen = await preview(tmp_path / "a.sqlite")
    told = f"{seen.summary}\n{seen.text}"
    assert told.count("id INTEGER PRIMARY KEY") == 1
    assert "## table orders: rows 1–10 of 500\nCREATE TABLE orders" in told
    assert "| 1 | North | 0.1 |" in told
    assert "## the rest of the schema: complete, 1 entry\nCREATE VIEW big" in told


async def test_json_tells_all_kinds_of_entries_and_shows_each_of_its_lists(tmp_path: Path) -> None:
    events = [{"type": "note", "text": "x" * 40} if i % 7 == 0 else {"type": "order", "id": i} for i in range(300)]
    data = {"version": 3, "events": [*events, "end"], "stock": {f"A{i}": {"left": i} for i in range(400)}}
    (tmp_path / "a.json").write_text(json.dumps(data, indent=1))
    seen = await preview(tmp_path / "a.json")
    assert 'events: list of 301: {type: text ("note": 43, "order": 257), text: text (in 43), ' in seen.summary
    assert "(300) or text (1)" in seen.summary
    assert 'stock: {400 keys such as "A0", "A1", "A2": {left: number 0 to 399}}' in seen.summary
    assert '## other keys: complete, 1 entry\n"version": 3' in seen.text
    assert '## events: entries 1–3 of 301\n{"type": "note", "text"' in seen.text
    assert '## stock: entries 1–3 of 400\n"A0": {"left": 0}' in seen.text


def rows(name: str, count: int, width: int = 20) -> ListPreview:
    return ListPreview([f"{n:03} {'.' * width}" for n in range(count)], count, name=name, head="head")


async def test_many_files_in_one_prompt_are_cut_fairly_and_it_is_said(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "journal.jsonl")
    files = RecordedFiles(tmp_path / "made", Recorder(journal))
    (tmp_path / "long.txt").write_text("word " * 1100)
    (tmp_path / "short.txt").write_text("Tea is 3.")
    seen = [await files.look(tmp_path / name, name) for name in ("long.txt", "short.txt")]
    await journal.aclose()
    text = files_text(seen, 1000)
    assert "of 5,500 characters left out …]" in text
    assert text.count("Shown: complete") == 1
    assert len(text) < 1600


async def test_xml_tells_each_kind_of_element_with_the_first_one(tmp_path: Path) -> None:
    parts = "".join(
        f'<part id="B{n}" kind="{"ab"[n % 2]}"><price>{n / 4}</price></part><!-- {"." * 40} -->' for n in range(200)
    )
    (tmp_path / "a.xml").write_text(f'<bom top="A0">{parts}<note>Odd one</note></bom>')
    seen = await preview(tmp_path / "a.xml")
    assert seen.summary.startswith("XML: root <bom>, 402 elements of 4 kinds")
    assert (
        '- bom × 1: <bom top="A0">\n'
        '- bom/part × 200: <part id="B0" kind="a">\n'
        "- bom/part/price × 200: <price>0.0\n"
        "- bom/note × 1: <note>Odd one"
    ) in seen.text
    assert seen.label.startswith("characters: ")


@pytest.mark.parametrize("marks", ["1. {}", "## {}", "{}\n-----"], ids=["numbered", "markdown", "underlined"])
async def test_a_long_text_shows_its_beginning_its_headings_with_their_lines_and_its_end(
    marks: str, tmp_path: Path
) -> None:
    names = ["Definitions", "Fees and payment", "Governing law"]
    parts = "".join(f"\n{marks.format(name)}\n\n{'The parties agree on this, and on that. ' * 90}\n" for name in names)
    (tmp_path / "contract.txt").write_text(f"Agreement of A and B.\n{parts}\nSigned on 3 May 2024 by Jane Roe.\n")
    seen = await preview(tmp_path / "contract.txt")
    beginning, headings, end = seen.text.split("\n[…]\n")
    assert beginning.startswith("Agreement of A and B.")
    found = [line.partition(": ") for line in headings.splitlines()[1:]]
    assert [name.removeprefix("1. ") for _, _, name in found] == names
    lines = (tmp_path / "contract.txt").read_text().split("\n")
    assert all(name in lines[int(number.strip("- ")) - 1] for number, _, name in found)
    assert end.endswith("Signed on 3 May 2024 by Jane Roe.")
    assert seen.label.startswith("characters: ")
    assert len(seen.text) <= 2_550


@pytest.mark.parametrize("name", ["a.csv", "a.xml", "a.json", "a.txt"])
@pytest.mark.parametrize("size", [ROOM - 200, ROOM + 1_500], ids=["whole", "cut"])
async def test_one_rule_says_which_files_are_shown_whole(name: str, size: int, tmp_path: Path) -> None:
    texts = {
        "a.csv": "n,word\n" + "".join(f"{n},word\n" for n in range(9000)),
        "a.xml": "<a>" + "<b>word</b>\n" * 9000,
        "a.json": "[" + '"word",\n' * 9000,
        "a.txt": "words and words\n" * 900,
    }
    ends = {"a.xml": "</a>", "a.json": '"end"]'}
    text = texts[name][: size - 20]
    text = text[: text.rfind("\n") + 1] if name != "a.txt" else text
    (tmp_path / name).write_text(text + ends.get(name, ""))
    seen = await preview(tmp_path / name)
    assert seen.label.startswith("complete") == (size < ROOM)


def archive_of(path: Path, names: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in names.items():
            archive.writestr(name, text)
    return path


async def test_every_member_of_an_archive_is_named_alone_or_in_its_series(tmp_path: Path) -> None:
    few = archive_of(tmp_path / "few.zip", {f"{letter}.txt": "x" for letter in "abcdefghijklmnopqrst"})
    seen = await preview(few)
    text, label = seen.text, seen.label
    assert [f"- {letter}.txt (txt, 1 bytes)" in text for letter in "abcdefghijklmnopqrst"] == [True] * 20
    assert label == "complete, 20 files"
    many = {f"logs/day-{n:03}.csv": "a,b\n1,2\n" for n in range(400)} | {
        "logs/odd one.csv": "a,b\n3,4\n",
        "README.md": "x",
    }
    seen = await preview(archive_of(tmp_path / "many.zip", many))
    assert seen.text.splitlines() == [
        "- logs/day-000.csv … logs/day-399.csv (400 files, csv, 3,200 bytes)",
        "- logs/odd one.csv (csv, 8 bytes)",
        "- README.md (md, 1 bytes)",
    ]
    assert seen.label == "names of 402 files"
