"""Gap records: found, merged, counted, reviewed, moved; what is malformed or hostile is told and harms nothing."""

from __future__ import annotations

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import StorageError
from agent.learning.gap_records import GapRecord, GapRecords
from support.command import Terminal

SUBTOTALS = GapRecord(
    "table",
    "totals are asked for and the sheet holds subtotals",
    "subtotal rows are added up with the others",
    "leave out rows that are totals",
)
NAMES = GapRecord(
    "lookup",
    "a person has a common name",
    "facts of another person of the same name are taken",
    "verify who is meant before anything else",
)


@pytest.fixture
def records(tmp_path: Path) -> GapRecords:
    return GapRecords(tmp_path / "gaps.sqlite")


LOOKUP = replace(SUBTOTALS, kind="lookup")


@pytest.mark.parametrize(
    ("question", "kind", "record", "fits"),
    [
        ("hello", "lookup", LOOKUP, False),
        ("Who wrote Hamlet?", "lookup", LOOKUP, False),
        ("How tall is the tower of the town hall?", "lookup", LOOKUP, False),
        ("What is the total of the subtotals in the sheet?", "lookup", LOOKUP, True),
        ("What is the total of sales?", "table", SUBTOTALS, True),
        ("Which region sold the most coffee?", "table", SUBTOTALS, False),
        ("Is this the common name of that person?", "lookup", NAMES, True),
        ("Which year was it?", "lookup", NAMES, False),
        ("What goes wrong when the pump stops?", "lookup", NAMES, False),
    ],
)
def test_a_record_fits_by_its_words_and_not_by_a_coarse_kind(records, question, kind, record, fits):
    kept = records.add(record, "another question")
    assert records.find(question, kind) == ([kept] if fits else [])


def test_a_rejected_record_is_neither_shown_nor_written_again(records):
    name = records.add(SUBTOTALS, "a").id
    records.change(name, status="rejected")
    assert records.add(SUBTOTALS, "c").status == "rejected"
    assert records.find("What is the total?", "table") == []
    records.change(name, status="approved")
    assert len(records.find("What is the total?", "table", reviewed=True)) == 1


def test_several_writers_lose_nothing(tmp_path, monkeypatch):
    # writers do not queue: on a busy disk one of them may be passed over for long
    monkeypatch.setattr("agent.learning.gap_records._BUSY_SECONDS", 120.0)

    def write(number: int) -> None:
        own = GapRecords(tmp_path / "gaps.sqlite")
        for n in range(10):
            own.add(GapRecord("lookup", f"s{number} {n}", f"pattern{number}x{n} word{number}{n}", "advice"), str(n))
        own.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(GapRecords(tmp_path / "gaps.sqlite").all()) == 40


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be read as one" * 20, b"later"])
def test_a_file_that_cannot_be_used_is_told(tmp_path, content):
    path = tmp_path / "gaps.sqlite"
    if content == b"later":
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 99")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(StorageError, match="cannot be used"):
        GapRecords(path).all()
    assert path.read_bytes() == before


def test_the_command_shows_reviews_and_moves_them(tmp_path):
    terminal = Terminal(tmp_path)
    lines = [
        json.dumps(
            {
                "kind": "table",
                "situation": "s",
                "pattern": "totals are counted twice",
                "advice": "a",
                "status": "approved",
            }
        ),
        json.dumps({"kind": "lookup", "situation": "t", "pattern": "names are mixed up", "advice": "b"}),
        "nonsense",
        json.dumps({"kind": "lookup"}),
    ]
    taken = terminal.call("gaps", "import", "-", "--json", stdin="\n".join(lines))
    assert taken.code == 0
    first, second = taken.json["records"]
    assert [problem.split(":")[0] for problem in taken.json["problems"]] == ["line 3", "line 4"]
    assert terminal.call("gaps", "show", first, "--json").json["status"] == "new"  # whoever wrote it
    assert terminal.call("gaps", "approve", first[:6]).code == 0
    assert terminal.call("gaps", "reject", second).code == 0
    assert terminal.call("gaps", "edit", first, "--advice", "leave them out").code == 0
    listed = terminal.call("gaps", "list")
    assert "approved" in listed.out
    assert "names are mixed up" in listed.out
    assert "of 0 questions" in terminal.call("gaps", "stats").out
    exported = terminal.call("gaps", "export")
    assert {json.loads(line)["advice"] for line in exported.out.splitlines()} == {"leave them out", "b"}
    assert terminal.call("gaps", "import", "-", stdin=exported.out).code == 0
    assert terminal.call("gaps", "export").out == exported.out  # taken twice, a record counts once
    elsewhere = Terminal(tmp_path / "elsewhere")
    assert elsewhere.call("gaps", "import", "-", stdin=exported.out).code == 0
    statuses = {row["pattern"]: row["status"] for row in elsewhere.call("gaps", "list", "--json").json}
    assert statuses == {"totals are counted twice": "new", "names are mixed up": "rejected"}
    wrong = terminal.call("gaps", "show", "zzz")
    assert (wrong.code, "no gap record 'zzz'" in wrong.err) == (2, True)
