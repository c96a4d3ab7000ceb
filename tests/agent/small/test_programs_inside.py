"""How programs find attached files opened: tables with typed columns, trees, texts by pages."""

import json
import sqlite3

import openpyxl
import pandas as pd
import pytest

from agent.small.loading import load, named_columns, tell


def opened(path, kind, *, text="", tables=False, **facts):
    file = {"name": path.name, "path": str(path), "kind": kind, "text": text, "tables": tables}
    return load([{**file, "facts": facts}])


def test_a_table_with_decimal_commas_has_numbers_dates_and_codes(tmp_path):
    path = tmp_path / "pay.csv"
    path.write_text("id;name;pay;since\n007;Ann;1.200,50;2024-01-05\n012;Bo;950,00;2024-02-01\n")
    table = opened(path, "csv", delimiter=";", decimal=",", header=["id", "name", "pay", "since"])["table"]
    assert list(table["pay"]) == [1200.5, 950.0]
    assert list(table["id"]) == ["007", "012"]
    assert list(table["since"].dt.month) == [1, 2]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["$1,200", "$35"], [1200, 35]),
        (["12%", "8%"], [12, 8]),
        (["(5)", "7"], [-5, 7]),
        (["1", ""], [1, None]),
        (["1-2", "3"], None),
        (["12.5.1", "3"], None),
        (["1,5", "2,25"], None),
        (["1,234,567", "8"], [1234567, 8]),
        (["12,34", "8"], None),
        (["5%", "5"], None),
        (["$5", "€5"], None),
        (["-$5", "2"], [-5, 2]),
        (["1 000", "2 500"], [1000, 2500]),
        (["12 5", "3"], None),
    ],
)
def test_columns_are_numbers_only_where_every_value_is_one(tmp_path, cells, numbers):
    path = tmp_path / "t.csv"
    path.write_text("a\tb\n" + "".join(f"{cell}\tx\n" for cell in cells))
    column = opened(path, "tsv", delimiter="\t", header=["a", "b"])["table"]["a"]
    found = [None if value != value else value for value in column]
    assert found == (numbers if numbers is not None else cells)


def test_each_column_has_a_name_of_its_own():
    table = named_columns(pd.DataFrame([[1, 2, 3, 4]], columns=["a", "a_3", "a", None]))
    assert list(table.columns) == ["a", "a_3", "a_3_3", "column_4"]
    assert "'a_3_3': number from 3 to 3" in tell({"table": table})


def test_a_sheet_begins_below_its_title_and_ends_above_its_total(tmp_path):
    path = tmp_path / "garden.xlsx"
    book = openpyxl.Workbook()
    for row in (["Garden 2024"], [], ["Plant", "Price"], ["Rose", 12.5], ["Iris", 4], ["Fern", 7], ["Total", 23.5]):
        book.active.append(row)
    book.save(path)
    named = opened(path, "xlsx")
    assert named["table"]["Price"].sum() == 23.5
    told = tell(named)
    assert "table: DataFrame of 3 rows" in told
    assert "A last row of totals is left out" in told
    assert "Above its header stands: ['Garden 2024']" in told


def test_lines_with_too_many_values_are_left_out_and_counted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4,5\n6,7\n8,9,10,11\n")
    told = tell(opened(path, "csv", header=["a", "b"]))
    assert "DataFrame of 2 rows" in told
    assert "Left out are 2 lines of the file" in told


@pytest.mark.parametrize(("state", "told"), [("visible", False), ("hidden", True), ("veryHidden", True)])
def test_a_hidden_sheet_is_told_as_hidden(tmp_path, state, told):
    path = tmp_path / "teas.xlsx"
    book = openpyxl.Workbook()
    old = book.create_sheet("Old")
    for sheet, price in ((book.active, 4), (old, 3)):
        for row in (["Tea", "Price"], ["green", price], ["black", price + 1]):
            sheet.append(row)
    old.sheet_state = state
    book.save(path)
    text = tell(opened(path, "xlsx"))
    assert ("old: DataFrame of 2 rows, on a hidden sheet, with the columns:" in text) is told
    assert text.count("hidden") == told


def test_databases_and_several_files_give_a_variable_for_each_table(tmp_path):
    path, other = tmp_path / "trips.db", tmp_path / "Drivers 2.csv"
    with sqlite3.connect(path) as connection:
        connection.execute("create table trips(driver text, km real)")
        connection.execute("insert into trips values('Ida', 12.5)")
    other.write_text("name,age\nIda,40\n")
    facts = {"delimiter": ",", "header": ["name", "age"]}
    named = load(
        [
            {"name": "trips.db", "path": str(path), "kind": "sqlite", "text": "", "facts": {}},
            {"name": "Drivers 2.csv", "path": str(other), "kind": "csv", "text": "", "facts": facts},
        ]
    )
    assert list(named) == ["trips", "drivers_2"]
    assert "'age': number from 40 to 40" in tell(named)


def test_trees_are_tables_where_they_are_flat(tmp_path):
    flat, deep, xml = tmp_path / "flat.json", tmp_path / "deep.json", tmp_path / "shop.xml"
    flat.write_text(json.dumps([{"a": 1}, {"a": 2}]))
    deep.write_text(json.dumps({"boats": [{"log": [1, 2]}]}))
    xml.write_text("<shop><item sku='a'><price>3.50</price></item><item sku='b'><price>9</price></item></shop>")
    assert opened(flat, "json")["table"]["a"].sum() == 3
    assert opened(deep, "json")["data"]["boats"][0]["log"] == [1, 2]
    assert opened(xml, "xml")["table"]["price"].sum() == 12.5


def test_documents_are_a_text_and_its_pages(tmp_path):
    path = tmp_path / "report.pages.jsonl"
    path.write_text('{"page": 1, "text": "one"}\n{"page": 2, "text": "two"}\n')
    named = opened(tmp_path / "report.pdf", "pdf", text=str(path))
    assert (named["text"], named["pages"]) == ("one\ntwo", ["one", "two"])
    assert "pages: list of 2 str" in tell(named)
