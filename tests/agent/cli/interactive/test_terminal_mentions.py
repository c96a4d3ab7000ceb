"""`@file` attaches what exists; everything else stays text."""

from pathlib import Path

import pytest

from agent.cli.interactive.completion import Suggestions, mentioned


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ["data.csv", "two words.txt", "Makefile", "v1.2"]:
        (tmp_path / name).write_text("x")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep.txt").write_text("x")
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "text", "files"),
    [
        ("sum @data.csv", "sum data.csv", ["data.csv"]),
        ("sum @data.csv, please", "sum data.csv, please", ["data.csv"]),
        ("is it in @data.csv?", "is it in data.csv?", ["data.csv"]),
        ('read @"two words.txt" now', "read two words.txt now", ["two words.txt"]),
        ("@sub/deep.txt", "deep.txt", ["sub/deep.txt"]),
        ("@Makefile and @Makefile", "Makefile and Makefile", ["Makefile"]),
        ("@v1.2.", "v1.2.", ["v1.2"]),
        ("mail me@data.csv", "mail me@data.csv", []),
        ("@sub is a folder", "@sub is a folder", []),
        ("ask @someone", "ask @someone", []),
        ("only @", "only @", []),
        ('@"', '@"', []),
        ("@\x00 @~nobody/x", "@\x00 @~nobody/x", []),
    ],
)
def test_existing_files_are_attached(folder: Path, typed: str, text: str, files: list[str]) -> None:
    found = mentioned(typed, folder)
    assert (found.text, list(found.files)) == (text, [folder / name for name in files])


def test_what_looks_like_a_file_and_is_none_is_told(folder: Path) -> None:
    assert mentioned("@gone.csv @sub/gone @someone", folder).missing == ("gone.csv", "sub/gone")


def test_an_absolute_path_is_taken_as_it_is(folder: Path) -> None:
    assert mentioned(f"@{folder}/data.csv", Path("/")).files == (folder / "data.csv",)


@pytest.mark.parametrize("name", ["data.csv", "two words.txt"])
def test_a_name_as_it_is_completed_is_found(folder: Path, name: str) -> None:
    _, (choice,) = Suggestions([], {}, {}, folder).find(f"@{name[:2]}")
    assert mentioned(f"@{choice.text}", folder).files == (folder / name,)
