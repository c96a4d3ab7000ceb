"""Names of files from the web are names and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.web.filenames import file_name, new_file


@pytest.mark.parametrize(
    ("url", "disposition", "name"),
    [
        ("https://e.org/a/report.pdf?x=1", "", "report.pdf"),
        ("https://e.org/download?id=3", 'attachment; filename="cost table.xlsx"', "cost table.xlsx"),
        ("https://e.org/x", "attachment; filename*=UTF-8''%C3%BCbersicht.csv", "übersicht.csv"),
        ("https://e.org/x", 'attachment; filename="Ã¼bersicht.csv"', "übersicht.csv"),
        ("https://e.org/x", 'attachment; filename="../../etc/passwd"', "passwd"),
        ("https://e.org/x", 'attachment; filename="C:\\\\a\\\\b.txt"', "b.txt"),
        ("https://e.org/x", 'attachment; filename=".bashrc"', "bashrc"),
        pytest.param("https://e.org/x", f"attachment; filename*{'1' * 5000}=a", "x", id="endless number"),
        ("https://e.org/..%2f..%2fetc%2fshadow", "", "shadow"),
        ("https://e.org/%2e%2e", "", "e.org"),
        ("https://e.org/", "", "e.org"),
        ("https://e.org/", "attachment", "e.org"),
        ("https://e.org/a%00b%0a.txt", "", "a_b_.txt"),
        ("https://e.org/-rf%20*", "", "-rf"),
        ("https://e.org/%E2%80%AEfdp.exe", "", "fdp.exe"),
    ],
)
def test_the_name_is_safe(url: str, disposition: str, name: str) -> None:
    assert file_name(url, disposition) == name


@given(st.text(max_size=400), st.text(max_size=400))
def test_no_name_leaves_the_folder_or_is_too_long(path: str, told: str) -> None:
    name = file_name("https://e.org/" + path.replace("[", "").replace("]", ""), f"attachment; filename={told}")
    assert name
    assert Path("/folder", name).resolve().parent == Path("/folder")
    assert not name.startswith(".")
    assert len(name.encode()) <= 120
    assert name.isprintable()


def test_a_name_that_is_taken_gets_another(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to(tmp_path / "elsewhere")
    with new_file(tmp_path, "a.csv") as (other, file), new_file(tmp_path, "b.csv") as (second, _):
        file.write(b"x")
    assert other.name != "a.csv"
    assert (other.suffix, other.read_bytes()) == (".csv", b"x")
    assert second == tmp_path / "b.csv"
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_that_is_not_finished_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_file(tmp_path, "a.csv") as (_, file):
        file.write(b"half" * (1 // 0))
    assert list(tmp_path.iterdir()) == []
