"""Databases: schema, rows in pages, nothing changed, and what damage looks like."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

import pytest

from agent.files.contents import FileProblem
from agent.files.reading import preview, read
from support.contents import Open, text_of

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop ?#1.db"
    database = sqlite3.connect(path)
    database.executescript(
        '''CREATE TABLE tea (id INTEGER PRIMARY KEY, code TEXT, price REAL, leaf BLOB);
        CREATE TABLE "odd ""name""" (a);
        CREATE VIEW dear AS SELECT * FROM tea WHERE price > 3;'''
    )
    database.executemany(
        "INSERT INTO tea (code, price, leaf) VALUES (?, ?, ?)",
        [(f"{i:05d}", i / 4 if i % 2 else None, bytes(range(40))) for i in range(1, 701)],
    )
    database.commit()
    database.close()
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def test_the_schema_comes_first_then_rows(shop: Path) -> None:
    before = digest(shop)
    seen = await preview(shop)
    assert seen.summary == 'SQLite database, 2 tables, 1 views: tea (700 rows), odd "name" (0 rows)'
    assert 'CREATE TABLE "odd ""name""" (a)' in seen.text
    second = await read(shop, page=2)
    assert second.where.endswith("(table tea, rows 1-100)")
    assert "| 1 | 1 | 00001 | 0.25 | x'000102030405060708090a0b0c0d0e0f'… (40 bytes) |" in second.text
    assert "| 2 | 2 | 00002 | NULL |" in second.text
    last = await read(shop, page=seen.sections or 0)
    assert last.where.endswith('(table odd "name")')
    assert any("views are not shown: dear" in one for one in seen.lost)
    assert (await read(shop, find="00699")).where == "1 line with '00699'"
    assert digest(shop) == before
    assert [one.name for one in shop.parent.iterdir()] == [shop.name]


@pytest.mark.parametrize("kept", [100, 5000])
async def test_damage_is_a_problem(kept: int, shop: Path) -> None:
    with pytest.raises(FileProblem, match="its end is missing") as raised:
        await read(cut_short(shop, kept))
    assert raised.value.reason == "truncated"


def cut_short(path: Path, kept: int) -> Path:
    path.write_bytes(path.read_bytes()[:kept])
    return path


async def test_a_view_without_end_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
    database.commit()
    database.close()
    assert "1 views" in (await preview(path)).summary


async def test_generated_odd_and_badly_typed_columns_are_all_shown(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    database = sqlite3.connect(path)
    database.executescript(
        """CREATE TABLE bill (item TEXT, net REAL, gross REAL GENERATED ALWAYS AS (net * 2), "a ""b"" |" INT) ;
        CREATE TABLE pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID;
        CREATE TABLE sqliteish (c);
        CREATE VIRTUAL TABLE words USING fts5(body);
        INSERT INTO bill VALUES ('bolt', 10, 3), ('nut', 'n/a', 5);
        INSERT INTO pairs VALUES (x'00ff', 1);
        INSERT INTO sqliteish VALUES ('there');
        INSERT INTO words VALUES ('green tea');"""
    )
    database.commit()
    database.close()
    text = (await preview(path)).text
    assert "| item | net | gross | a " in text
    assert "| 1 | bolt | 10.0 | 20.0 | 3 |" in text
    assert "- net is declared REAL, but holds other values in 1 row" in text
    for shown in ("x'00ff'", "there", "green tea"):
        assert shown in text


def test_texts_in_another_encoding_are_read_and_it_is_noted(open_file: Open, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES (CAST(? AS TEXT))", ("Café".encode("cp1252"),))
    connection.commit()
    connection.close()
    contents = open_file("sqlite", path)
    assert "Café" in text_of(contents)
    assert "read as Windows-1252" in " ".join(contents.notes)
