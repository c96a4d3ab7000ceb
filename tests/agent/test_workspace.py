"""A run's files keep their names, hold what they were given, and lead nowhere else."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import StorageError
from agent.material.workspace import Workspace
from agent.store.journal import Journal


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "run" / "workspace")


def test_what_is_kept_can_be_opened_by_its_absolute_path(workspace: Workspace) -> None:
    text = workspace.keep_text("step_3.txt", "Größe: 3 m\r\n")
    value = workspace.keep_json("step_3.json", {"größe": [3, None]})
    table = workspace.keep_table("page_2_table_1.csv", [["a", "b"], ["1,5", 'say "no"\nnever']])
    assert text.is_absolute()
    assert text.read_bytes() == "Größe: 3 m\r\n".encode()
    assert json.loads(value.read_text("utf-8")) == {"größe": [3, None]}
    with table.open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["a", "b"], ["1,5", 'say "no"\nnever']]
    assert {path.stat().st_mode & 0o777 for path in (text, value, table)} == {0o644}
    assert sorted(path.name for path in workspace.folder.iterdir()) == [
        "page_2_table_1.csv",
        "step_3.json",
        "step_3.txt",
    ]


def test_a_name_that_is_taken_gets_a_number_and_the_same_content_the_same_path(workspace: Workspace) -> None:
    kept = [workspace.keep_text("a.txt", text) for text in ("one", "two", "three", "two")]
    assert [path.name for path in kept] == ["a.txt", "a_2.txt", "a_3.txt", "a_2.txt"]
    again = Workspace(workspace.folder)  # a run that goes on
    assert [again.keep_text("a.txt", text) for text in ("one", "two", "three")] == kept[:3]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("/etc/passwd", "passwd"),
        (".bashrc", "bashrc"),
        ("a\x00b\n‮.txt", "a_b_.txt"),
        ("Übersicht 2024.txt", "Übersicht 2024.txt"),
        ("..", "file"),
        ("", "file"),
    ],
)
def test_a_name_of_others_is_made_safe(name: str, kept: str, workspace: Workspace) -> None:
    assert workspace.keep_text(name, "x") == workspace.folder / kept


@settings(max_examples=10)
@given(name=st.text(max_size=300))
def test_no_name_leads_out_of_the_folder(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("w"))
    assert workspace.keep_text(name, "x").resolve().parent == workspace.folder.resolve()


def test_no_link_is_followed(workspace: Workspace, tmp_path: Path) -> None:
    workspace.folder.mkdir(parents=True)
    other = tmp_path / "other.txt"
    other.write_text("mine")
    (workspace.folder / "a.txt").symlink_to(other)
    (workspace.folder / "b.txt").symlink_to(tmp_path / "nowhere")
    (workspace.folder / "c.txt").mkdir()
    assert [workspace.keep_text(f"{name}.txt", "mine").name for name in "abc"] == ["a_2.txt", "b_2.txt", "c_2.txt"]
    assert other.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "link").symlink_to(tmp_path / "run", target_is_directory=True)
    with pytest.raises(StorageError, match="is a link"):
        Workspace(tmp_path / "link").keep_text("a.txt", "x")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        Workspace(tmp_path / "file" / "workspace").keep_text("a.txt", "x")


async def test_a_fork_has_the_paths_of_the_run_that_it_comes_from(tmp_path: Path) -> None:
    """What is recorded names them."""
    first = Journal.create(tmp_path / "261122-000000-aaaa" / "journal.jsonl")
    await first.aclose()
    fork = Journal.fork(first.path, tmp_path / "261122-000000-bbbb" / "journal.jsonl", until=0)
    await fork.aclose()
    again = Journal.fork(fork.path, tmp_path / "261122-000000-cccc" / "journal.jsonl", until=0)
    await again.aclose()
    assert {journal.home for journal in (first, fork, again)} == {tmp_path / "261122-000000-aaaa"}
