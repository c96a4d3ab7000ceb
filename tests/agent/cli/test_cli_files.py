"""`alita files show`: the preview, pages, words, JSON and problems."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ALITA = str(Path(sys.executable).with_name("alita"))


def show(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ALITA, "files", "show", *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=50
    )


def test_a_file_is_shown_in_all_ways(tmp_path: Path) -> None:
    (tmp_path / "tea.csv").write_text("code,name\n" + "".join(f"{i:05d},tea{i} \x1b[31mred\n" for i in range(1500)))
    done = show(tmp_path, "tea.csv")
    assert done.returncode == 0
    assert done.stdout.startswith("tea.csv: csv, ")
    assert "\x1b" not in done.stdout
    assert "1,500 rows × 2 columns" in done.stdout
    pages = show(tmp_path, "tea.csv", "--page", "2", "--to", "3")
    assert "page 2 of" in pages.stderr
    assert "## rows " in pages.stdout or pages.stdout.startswith("| ")
    assert "goes on" in pages.stderr
    found = json.loads(show(tmp_path, "tea.csv", "--find", "tea1234", "--json").stdout)
    assert found["where"] == "1 line with 'tea1234'"
    assert "01234" in found["text"]
    told = json.loads(show(tmp_path, "tea.csv", "--json").stdout)
    assert told["kind"] == "csv"
    assert told["facts"]["header"] == ["code", "name"]


def test_a_problem_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(bytes(range(256)) * 9)
    done = show(tmp_path, "a.xlsx")
    assert done.returncode == 1
    assert done.stderr == (
        "alita: a.xlsx is not a xlsx file: its content is of no kind that is known.\n"
        "       It may be damaged or encrypted. Look at its bytes in a program.\n"
    )
    error = json.loads(show(tmp_path, "b.txt", "--json").stdout)["error"]
    assert error["kind"] == "FileProblem"
    assert "no such file" in error["message"]
    assert show(tmp_path).returncode == 2
