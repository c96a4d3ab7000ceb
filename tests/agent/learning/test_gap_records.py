"""Gap records: found, merged, counted, reviewed, moved; what is malformed or hostile is told and harms nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.errors import StorageError
from agent.learning.gap_records import GapRecord, GapRecords, known_records, question_hash
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
def records(settings: Settings) -> Iterator[GapRecords]:
    found = GapRecords(settings)
    yield found
    found.close()


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


def test_several_writers_lose_nothing(settings, monkeypatch):
    # writers do not queue, so on a busy disk one of them may wait long
    monkeypatch.setattr("agent.store.databases._BUSY_SECONDS", 120.0)

    def write(number: int) -> None:
        own = GapRecords(settings)
        for n in range(10):
            own.add(GapRecord("lookup", f"s{number} {n}", f"pattern{number}x{n} word{number}{n}", "advice"), str(n))
        own.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(GapRecords(settings).all()) == 40


def earlier_file(path: Path) -> None:
    """A file of an earlier version with a record, its origins and scores."""
    path.parent.mkdir(parents=True, exist_ok=True)
    record = replace(SUBTOTALS, id="abc123", seen=4, created=5.0, updated=6.0, status="approved")
    values = (record.id, *(getattr(record, n) for n in ("kind", "situation", "pattern", "advice", "status", "seen")))
    with closing(sqlite3.connect(path)) as file, file:
        file.executescript(
            "CREATE TABLE records (id TEXT PRIMARY KEY, kind TEXT, situation TEXT, pattern TEXT, advice TEXT,"
            " status TEXT, seen INTEGER, created REAL, updated REAL);"
            "CREATE TABLE origins (record TEXT, question TEXT); CREATE TABLE shown (record TEXT, run TEXT);"
            "CREATE TABLE scored (run TEXT PRIMARY KEY, kind TEXT, correct INTEGER); PRAGMA user_version = 1;"
        )
        file.execute("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*values, 5.0, 6.0))
        file.execute("INSERT INTO origins VALUES ('abc123', ?)", (question_hash("a question"),))
        file.execute("INSERT INTO shown VALUES ('abc123', 'run')")
        file.execute("INSERT INTO scored VALUES ('run', 'table', 1)")


@pytest.mark.parametrize("is_own_file", [False, True], ids=["beside the store", "in a file that the user named"])
def test_what_the_version_before_left_is_taken(settings, is_own_file):
    path = settings.data_dir / ("mine.sqlite" if is_own_file else "gaps.sqlite")
    if is_own_file:
        settings = settings.model_copy(update={"gaps_file": path})
    for _ in range(2):  # as if alita was killed before the file was deleted
        if not is_own_file or not path.exists():
            earlier_file(path)
        with closing(known_records(settings)) as records:
            [record] = records.all()
            assert (record.id, record.seen, record.created, record.status) == ("abc123", 4, 5.0, "approved")
            assert records.origins("abc123") == [question_hash("a question")]
            assert records.help_of(["abc123"])["abc123"].right == 1
            assert records.find("What is the total of the subtotals?", "table") == [record]
        assert [path.name for path in settings.data_dir.glob("*gaps*")] == []
        assert [*settings.data_dir.glob("*.before")] == []


@pytest.mark.parametrize("name", ["gaps.sqlite", "alita.sqlite"])
def test_a_file_that_cannot_be_used_is_told(home, name):
    settings = read_settings({})
    path = settings.data_dir / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database at all, but long enough to be read as one" * 20)
    before = path.read_bytes()
    with pytest.raises(StorageError, match="cannot be used"):
        GapRecords(settings).all()
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
    assert terminal.call("gaps", "export").out == exported.out  # importing twice counts once
    elsewhere = Terminal(tmp_path / "elsewhere")
    assert elsewhere.call("gaps", "import", "-", stdin=exported.out).code == 0
    statuses = {row["pattern"]: row["status"] for row in elsewhere.call("gaps", "list", "--json").json}
    assert statuses == {"totals are counted twice": "new", "names are mixed up": "rejected"}
    wrong = terminal.call("gaps", "show", "zzz")
    assert (wrong.code, "no gap record 'zzz'" in wrong.err) == (2, True)
