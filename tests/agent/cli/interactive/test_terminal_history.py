"""What was typed before: kept across sessions, for its owner alone, without keys."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cli.interactive import reader
from agent.cli.interactive.reader import History
from agent.errors import AlitaError
from agent.store.redact import Redactor

NOTHING = Redactor()


def test_entries_come_back_with_their_lines_oldest_first(tmp_path: Path) -> None:
    kept = History(tmp_path / "data", NOTHING)
    kept.add("one")
    kept.add("two\n  indented\n\n+|")
    assert History(tmp_path / "data", NOTHING).load() == ["one", "two\n  indented\n\n+|"]


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        History(tmp_path / "data", NOTHING).add("one")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "data" / "history").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "history").write_text("+old\n")
    (tmp_path / "history").chmod(0o644)
    History(tmp_path, NOTHING).add("new")
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600


def test_keys_are_not_written(tmp_path: Path) -> None:
    kept = History(tmp_path, Redactor(["my-own-secret-key"]))
    kept.add("use my-own-secret-key\nor sk-abcdefghijklmnopqrstuvwx")
    text = (tmp_path / "history").read_text()
    assert "my-own-secret-key" not in text
    assert "sk-abc" not in text
    assert kept.load() == ["use [redacted]\nor [redacted]"]


@pytest.mark.parametrize("text", ["", "  \n ", " not kept", "\tnor this"])
def test_blanks_and_what_begins_with_one_are_not_kept(tmp_path: Path, text: str) -> None:
    History(tmp_path, NOTHING).add(text)
    assert History(tmp_path, NOTHING).load() == []


def test_a_damaged_file_gives_what_is_whole_in_it(tmp_path: Path) -> None:
    (tmp_path / "history").write_bytes(b"garbage\n|lost\n+one\n\xff\x00\n+two\n|more\n+thr\xffee")
    assert History(tmp_path, NOTHING).load() == ["one", "two\nmore", "thr\ufffdee"]


def test_where_it_cannot_be_written_typing_goes_on(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    kept = History(tmp_path / "data", NOTHING)
    told: list[AlitaError] = []
    for entry in ["one", "two"]:
        kept.add(entry)
        kept.tell(told.append)
    assert [str(tmp_path / "data" / "history") in error.message for error in told] == [True]
    assert kept.load() == []


def test_it_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST", 10)
    kept = History(tmp_path, NOTHING)
    for number in range(16):
        kept.add(f"entry {number}")
    assert kept.load() == [f"entry {number}" for number in range(6, 16)]
    assert (tmp_path / "history").read_text().count("\n") == 10
    assert stat.S_IMODE((tmp_path / "history").stat().st_mode) == 0o600


def test_two_sessions_lose_nothing_of_each_other(tmp_path: Path) -> None:
    one, other = History(tmp_path, NOTHING), History(tmp_path, NOTHING)
    one.load()
    other.add("theirs")
    one.add("mine")
    assert one.load() == ["theirs", "mine"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"))))
def test_whatever_was_typed_comes_back(tmp_path_factory: pytest.TempPathFactory, entries: list[str]) -> None:
    kept = History(tmp_path_factory.mktemp("history"), NOTHING)
    for entry in entries:
        kept.add(entry)
    assert kept.load() == [e for e in entries if e.strip() and not e.startswith((" ", "\t"))]
