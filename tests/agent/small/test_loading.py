"""How programs find attached files opened: tables with typed columns, trees, texts by pages."""

import json
import sqlite3

import openpyxl
import pytest

from agent.small.loading import load, tell


def opened(path, kind, *, text="", **facts):
    file = {"name": path.name, "path": str(path), "kind": kind, "text": text}
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
        (["1", ""], [1, None]),
        (["1-2", "3"], None),
        (["1,5", "2,25"], None),
        (["1,234,567", "8"], [1234567, 8]),
        (["5%", "5"], None),
        (["$5", "€5"], None),
        (["1 000", "2 500"], [1000, 2500]),
    ],
)
def test_columns_are_numbers_only_where_every_value_is_one(tmp_path, cells, numbers):
    path = tmp_path / "t.csv"
    path.write_text("a\tb\n" + "".join(f"{cell}\tx\n" for cell in cells))
    column = opened(path, "tsv", delimiter="\t", header=["a", "b"])["table"]["a"]
    found = [None if value != value else value for value in column]
    assert found == (numbers if numbers is not None else cells)


def test_a_sheet_begins_below_its_title_and_each_column_has_a_name_of_its_own(tmp_path):
    path = tmp_path / "garden.xlsx"
    book = openpyxl.Workbook()
    for row in (["Garden 2024"], [], ["Plant", "Price", "Price"], ["Rose", 12.5, 1], ["Iris", 4, 2]):
        book.active.append(row)
    book.save(path)
    table = opened(path, "xlsx")["table"]
    assert list(table.columns) == ["Plant", "Price", "Price_3"]
    assert table["Price"].sum() == 16.5


def test_lines_with_too_many_values_are_left_out_and_counted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4,5\n6,7\n8,9,10,11\n")
    told = tell(opened(path, "csv", header=["a", "b"]))
    assert "DataFrame of 2 rows" in told
    assert "Left out are 2 lines of the file" in told


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


def test_lists_of_flat_objects_are_tables(tmp_path):
    flat, deep = tmp_path / "flat.json", tmp_path / "deep.json"
    flat.write_text(json.dumps([{"a": 1}, {"a": 2}]))
    deep.write_text(json.dumps({"boats": [{"log": [1, 2]}]}))
    assert opened(flat, "json")["table"]["a"].sum() == 3
    assert opened(deep, "json")["data"]["boats"][0]["log"] == [1, 2]


def test_documents_are_a_text_and_its_pages(tmp_path):
    path = tmp_path / "report.pages.jsonl"
    path.write_text('{"page": 1, "text": "one"}\n{"page": 2, "text": "two"}\n')
    named = opened(tmp_path / "report.pdf", "pdf", text=str(path))
    assert (named["text"], named["pages"]) == ("one\ntwo", ["one", "two"])
    assert "pages: list of 2 str" in tell(named)
