"""What was typed before: kept across sessions, for its owner alone, without keys."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cli.interactive.prompt import History
from agent.store.redact import Redactor

NOTHING = Redactor()


def kept(folder: Path) -> list[str]:
    """The oldest first."""
    return list(History(folder, NOTHING).load_history_strings())[::-1]


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        History(tmp_path / "data", NOTHING).append_string("one")
        (tmp_path / "data" / "history").chmod(0o644)
        History(tmp_path / "data", NOTHING).append_string("two")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "data" / "history").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700


def test_keys_are_not_written(tmp_path: Path) -> None:
    History(tmp_path, Redactor(["my-own-secret-key"])).append_string(
        "use my-own-secret-key\nor sk-abcdefghijklmnopqrstuvwx"
    )
    assert kept(tmp_path) == ["use [redacted]\nor [redacted]"]


def test_where_it_cannot_be_written_typing_goes_on(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    history = History(tmp_path / "data", NOTHING)
    for entry in ["one", "two"]:
        history.append_string(entry)
    assert kept(tmp_path / "data") == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"))))
def test_whatever_was_typed_comes_back(tmp_path_factory: pytest.TempPathFactory, entries: list[str]) -> None:
    folder = tmp_path_factory.mktemp("history")
    for entry in entries:
        History(folder, NOTHING).append_string(entry)
    assert kept(folder) == [e for e in entries if e.strip() and not e.startswith((" ", "\t"))]
