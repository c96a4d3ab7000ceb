"""`alita files show`: the preview, pages, words, JSON and problems."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.command import Ended, Terminal


@pytest.fixture
def show(terminal: Terminal) -> Callable[..., Ended]:
    return lambda *arguments: terminal.call("files", "show", *arguments)


def test_a_file_is_shown_in_all_ways(terminal: Terminal, show: Callable[..., Ended]) -> None:
    (terminal.here / "tea.csv").write_text(
        "code,name\n" + "".join(f"{i:05d},tea{i} \x1b[31mred\n" for i in range(1500))
    )
    done = show("tea.csv")
    assert done.code == 0
    assert done.out.startswith("tea.csv: csv, ")
    assert "\x1b" not in done.out
    assert "1,500 rows × 2 columns" in done.out
    pages = show("tea.csv", "--page", "2", "--to", "3")
    assert "page 2 of" in pages.err
    assert "## rows " in pages.out or pages.out.startswith("| ")
    assert "Continue with page=" in pages.err
    found = show("tea.csv", "--find", "tea1234", "--json").json
    assert found["where"] == "1 line with 'tea1234'"
    assert "01234" in found["text"]
    told = show("tea.csv", "--json").json
    assert told["kind"] == "csv"
    assert told["facts"]["header"] == ["code", "name"]


def test_a_problem_is_told_with_what_to_do(terminal: Terminal, show: Callable[..., Ended]) -> None:
    (terminal.here / "a.xlsx").write_bytes(bytes(range(256)) * 9)
    done = show("a.xlsx")
    assert done.code == 1
    assert done.err == (
        "alita: a.xlsx is not a xlsx file: the type of its content is unknown.\n"
        "       The file may be corrupt or encrypted. Inspect its bytes in a program.\n"
    )
    error = show("b.txt", "--json").json["error"]
    assert error["kind"] == "FileProblem"
    assert "does not exist" in error["message"]
    assert show().code == 2
