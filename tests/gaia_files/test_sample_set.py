"""The sample set is valid, is what its script computes, and is fair to score."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from agent.gaia.scorer import score

KINDS = [
    "xlsx",
    "ods",
    "csv",
    "tsv",
    "pdf",
    "docx",
    "pptx",
    "html",
    "md",
    "txt",
    "json",
    "jsonl",
    "jsonld",
    "xml",
    "py",
    "pdb",
    "sqlite",
    "zip",
    "png",
    "jpg",
    "mp3",
    "wav",
    "mp4",
    "eml",
    "epub",
]


def test_every_question_is_complete(rows):
    ids = [row["task_id"] for row in rows]
    assert len(set(ids)) == len(ids)
    assert all(row["Question"] and row["Final answer"] and row["Level"] in (1, 2, 3) for row in rows)
    assert all(row["Annotator Metadata"]["Steps"] and row["Annotator Metadata"]["Tools"] for row in rows)


def test_there_are_enough_questions_of_each_level_and_kind(rows):
    own = [row for row in rows if row["Annotator Metadata"]["Needs web"] == "no"]
    levels = Counter(row["Level"] for row in own)
    assert len(own) >= 66
    assert len(rows) - len(own) <= 6
    assert (levels[1] >= 26, levels[2] >= 26, levels[3] >= 14) == (True, True, True)
    assert {Path(row["file_name"]).suffix[1:] for row in own} == {*KINDS, ""}


def test_every_attachment_is_there_and_small_and_none_is_left_over(sample, rows):
    names = {row["file_name"] for row in rows if row["file_name"]}
    assert all((sample / name).stat().st_size > 0 for name in names)
    assert all(Path(row["file_name"]).stem == row["task_id"] for row in rows if row["file_name"])
    files = [path for path in sample.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files) <= 2 * 2**20
    own = {"README.md", "make.py", "questions.jsonl", "split.json", "recipes.json", "ci.json"}
    assert {path.name for path in files if path.parent == sample} == names | own


def test_no_answer_stands_in_a_file_name_or_in_its_question(rows):
    for row in rows:
        answer = row["Final answer"].lower()
        assert answer not in row["file_name"].lower(), row["task_id"]
        if not row["file_name"]:
            assert answer not in row["Question"].lower().split(), row["task_id"]


def test_each_answer_is_right_when_it_is_scored_against_itself_and_others_are_wrong(rows):
    for row in rows:
        truth = row["Final answer"]
        assert score(truth, truth).correct, row["task_id"]
        assert not score(f"{truth} 1", truth).correct, row["task_id"]
        assert truth == truth.strip()


def test_the_split_is_the_one_of_the_rule(sample, rows, make):
    split = json.loads((sample / "split.json").read_bytes())
    assert sorted(task_id for part in split.values() for task_id in part) == sorted(row["task_id"] for row in rows)
    assert all(make.split_of(task_id) == part for part in ("dev", "test") for task_id in split[part])
    assert {row["task_id"] for row in rows if row["Annotator Metadata"]["Needs web"] == "yes"} == set(split["web"])
    levels = {row["task_id"]: row["Level"] for row in rows}
    assert {levels[task_id] for task_id in split["dev"]} == {levels[task_id] for task_id in split["test"]} == {1, 2, 3}


@pytest.fixture(scope="module")
def pairs(make):
    """Every question with what its function makes."""
    return [(entry, entry.made()) for entry in make.ENTRIES]


@pytest.fixture
def copy(sample, make, tmp_path, monkeypatch) -> Path:
    """A copy of the set, which the maker takes for its folder."""
    folder = tmp_path / "sample"
    shutil.copytree(sample, folder, ignore=shutil.ignore_patterns("making", "__pycache__"))
    monkeypatch.setattr(make, "FOLDER", folder)
    return folder


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("questions.jsonl", b'"Chiffchaff"', b'"Siskin"'),
        ("library-loans.csv", b"Harbour", b"Habrour"),
    ],
)
def test_what_is_committed_is_as_made_and_what_was_changed_by_hand_is_found(copy, make, pairs, name, old, new):
    path = copy / name
    assert make.check(pairs) == []
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    assert f"{name} is not as made" in make.check(pairs)
