"""A benchmark replaces its own files, and nothing else that is there."""

import sys

import pytest

from agent.cli import main
from support.benchmarks import question_file

NOTES = "my notes\n"


def refused(capsys, monkeypatch, folder, *arguments):
    """What `gaia-benchmark` says when it refuses, on stderr."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["gaia-benchmark", *arguments, "--model", "m", "--base-url", "http://127.0.0.1:9"])
    with pytest.raises(SystemExit) as ended:
        main.main_of("gaia", "gaia-benchmark")
    assert ended.value.code == 2
    return capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "questions.jsonl"], "questions.jsonl is used for both the questions and --output"),
        (["--submission", "./questions.jsonl"], "questions.jsonl is used for both the questions and --submission"),
        (["--output", "o.json", "--submission", "link.json"], "o.json is used for both --output and --submission"),
        (["--output", "o.json", "--submission", "o.ledger.jsonl"], "is used for both the ledger and --submission"),
        (
            ["--output", "notes.txt"],
            "notes.txt already exists and was not written by a benchmark with the ledger notes.ledger.jsonl",
        ),
        (
            ["--output", "o.json", "--submission", "notes.txt"],
            "notes.txt already exists and was not written by a benchmark with the ledger",
        ),
    ],
)
def test_no_file_of_another_kind_is_overwritten_even_with_resume(capsys, monkeypatch, tmp_path, arguments, message):
    question_file(tmp_path, 1)
    (tmp_path / "link.json").symlink_to("o.json")
    (tmp_path / "o.ledger.jsonl").touch()
    for name in ("notes.txt", "o.txt"):
        (tmp_path / name).write_text(NOTES)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    assert message in refused(capsys, monkeypatch, tmp_path, "questions.jsonl", *arguments, "--resume")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_shared_library_that_should_begin_empty_does(capsys, monkeypatch, tmp_path):
    question_file(tmp_path, 1)
    (tmp_path / "o.tools").mkdir()
    (tmp_path / "o.tools" / "mean.py").write_text("def mean(): ...\n")

    told = refused(capsys, monkeypatch, tmp_path, "questions.jsonl", "--output", "o.json", "--library", "warm")
    assert "o.tools already holds tools" in told
    assert "--tools-dir" in told
    assert (tmp_path / "o.tools" / "mean.py").exists()
