"""Tables, lists and labelled lines of texts, as programs get them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.material.attached import AttachedFile
from agent.small.loading import around_tables, load, tables_in, tell
from agent.small.program import holds_tables

PLAYS = "## Season {year}\n\n| Play | Visitors |\n| --- | --- |\n| **Coat** | {coat} |\n| Snow | {snow} |\n\n"


def names(text):
    return [label for label, _ in tables_in(text)]


def test_a_table_has_numbers_and_what_stands_above_it():
    [(label, table)] = tables_in(
        "# Shop\n\nPrices of May\n\n| Lamp | Price |\n|:--|--:|\n| Desk | 31.50 |\n| a \\| b | 8 |\n"
    )
    assert label == "Prices of May"
    assert list(table["Price"]) == [31.5, 8.0]
    assert list(table["Lamp"]) == ["Desk", "a | b"]
    assert table.attrs["place"] == "below 'Prices of May'"


def test_what_stands_around_tables_is_told_without_them():
    tables = "| Lamp | Price |\n|:--|--:|\n| Desk | 31 |\n\nA: 1\nB: 2\nC: 3\n\n- x\n- y\n- z\n"
    text = f"# Shop\n\nOn Mondays all is half.\n\n{tables}"
    assert around_tables(text) == "# Shop\nOn Mondays all is half."
    told = tell({"table": tables_in(text)[0][1], "text": text})
    assert told.endswith("Around the tables it says:\n# Shop\nOn Mondays all is half.")


@pytest.mark.parametrize("text", ["", "Dear Ann,\n\nall is well.\n", "- one\n- two\n", "A: 1\nB: 2\n"])
def test_a_text_without_tables_is_told_as_it_is(text):
    assert around_tables(text) == text


def test_many_tables_of_the_same_columns_are_one_and_two_are_two():
    seasons = [PLAYS.format(year=2019 + n, coat=800 + n, snow=300 + n) for n in range(4)]
    [(_, table)] = tables_in("".join(seasons))
    assert list(table.columns) == ["above", "Play", "Visitors"]
    assert table.groupby("Play")["Visitors"].sum().to_dict() == {"Coat": 3206, "Snow": 1206}
    assert table["above"].unique().tolist() == ["Season 2019", "Season 2020", "Season 2021", "Season 2022"]
    assert names("".join(seasons[:2])) == ["Season 2019", "Season 2020"]


def test_items_stand_under_their_heading_and_may_be_ticked():
    text = "# Move\n\n## Kitchen\n- [x] the pan\n- [ ] the pot\n\n## Garden\n1. [X] the rake\n"
    [(label, table)] = tables_in(text)
    assert label == "items"
    assert table.to_dict("records") == [
        {"heading": "Kitchen", "item": "the pan", "ticked": True},
        {"heading": "Kitchen", "item": "the pot", "ticked": False},
        {"heading": "Garden", "item": "the rake", "ticked": True},
    ]
    assert "'ticked': True (2 times) or False" in tell({"table": table})
    assert list(tables_in("- a\n- b\n* c\n")[0][1].columns) == ["heading", "item"]


def test_lines_of_a_label_and_a_number_are_a_table_from_three_on():
    note = "DELIVERY\nCandles: 78 boxes\nLamp oil: 29 boxes\nSoap: 1,025 boxes\nThank you\nPage: 2\n"
    [(label, table)] = tables_in(note)
    assert label == "lines"
    assert list(table["number"]) == [78, 29, 1025]
    assert names("A: 1\nB: 2\n") == []


@pytest.mark.parametrize(
    "text", ["", "plain words\nand more", "| no rule |\n| 1 |", "a | b\n-- | --\n", "- one\n- two\n"]
)
def test_other_texts_hold_none(text):
    assert tables_in(text) == []


@given(st.text(alphabet="|-: ab1#*[]x.\\n", max_size=200))
def test_no_text_breaks_it(text):
    for _, table in tables_in(text):
        assert len(set(table.columns)) == len(table.columns)


def test_programs_find_them_beside_the_text(tmp_path):
    path = tmp_path / "plays.md"
    path.write_text("".join(PLAYS.format(year=n, coat=n, snow=1) for n in (2019, 2021)))
    file = {"name": "plays.md", "path": str(path), "kind": "md", "text": str(path), "facts": {}}
    named = load([{**file, "tables": True}])
    assert list(named) == ["season_2019", "season_2021", "text"]
    assert "season_2019: DataFrame of 2 rows, below 'Season 2019', with the columns:" in tell(named)
    assert list(load([{**file, "tables": False}])) == ["text"]


@pytest.mark.parametrize(
    ("beginning", "holds"),
    [
        ("| a | b |\n| --- | --- |\n", True),
        ("- one\n\n- two\n- three\n", True),
        ("Oil: 29 boxes\nSoap: 25 boxes\nSalt: 3\n", True),
        ("- one\n- two\n", False),
        ("Words: and more\n", False),
    ],
)
def test_the_beginning_of_a_file_tells_whether_its_text_holds_any(beginning, holds):
    file: AttachedFile = {
        **{"name": "a.md", "path": "/a.md", "kind": "md", "size": 1, "summary": "", "beginning": beginning},
        **{"sections": 1, "facts": {}, "lost": [], "data": [], "problem": ""},
    }  # type: ignore[assignment]
    assert holds_tables(file) is holds
    assert holds_tables({**file, "kind": "png"}) is False


def test_lists_and_lines_keep_their_names_beside_the_text_and_its_pages(tmp_path):
    path = tmp_path / "note.pages.jsonl"
    path.write_text('{"text": "Dear all"}\n{"text": "Soap: 25 boxes\\nSalt: 3 boxes\\nOil: 2 boxes"}\n')
    file = {"name": "note.pdf", "path": "/note.pdf", "kind": "pdf", "text": str(path), "facts": {}}
    named = load([{**file, "tables": True}])
    assert list(named) == ["lines", "text", "pages"]
    assert "lines: DataFrame of 3 rows, lines of the text such as 'Soap: 25', with" in tell(named)
