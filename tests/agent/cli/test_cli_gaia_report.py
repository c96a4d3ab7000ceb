"""`alita gaia report` and `alita gaia compare`: what is asked for goes to stdout or into a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.cli.verbs.gaia import app
from agent.errors import RunError, StorageError
from agent.gaia.dataset import load_jsonl
from agent.gaia.ledger import Fingerprint, Ledger
from support.attempts import attempt, tasks, write_ledger


@pytest.fixture
def gaia(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command and gives what it printed on stdout."""

    def run(*arguments: object) -> str:
        app([str(argument) for argument in arguments], standalone_mode=False)
        return capsys.readouterr().out

    return run


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    attempts = [attempt("q1"), attempt("q2", False), attempt("q3", None, status="error")]
    return write_ledger(tmp_path / "b.ledger.jsonl", attempts, tasks(4))


def test_the_report_begins_with_the_accuracy_over_all_selected_questions(gaia, ledger):
    assert gaia("report", ledger).startswith("25.0 % right: 1 of 4 (4 selected questions), 95 % interval 4.6 to 69.9 %")


def test_json_goes_to_stdout_or_a_file(gaia, ledger, tmp_path):
    told = json.loads(gaia("report", ledger, "--format", "json"))
    whole = told["facts"]["all"]
    assert told["schema"] == 3
    assert (whole["right"], whole["of"], whole["accuracy"]) == (1, 4, 0.25)
    assert told["tables"]["By level"][0]["interval95"] == whole["interval95"]
    assert len(told["attempts"]) == 4
    assert gaia("report", ledger, "-o", tmp_path / "r.txt") == f"{tmp_path / 'r.txt'}\n"
    assert (tmp_path / "r.txt").read_text().startswith("25.0 % right")


def test_the_page_is_written_beside_the_ledger(gaia, tmp_path):
    write_ledger(tmp_path / "b.ledger.jsonl", [attempt("q1", run_id="r1")], tasks(1))
    (tmp_path / "b.json").write_text("{}")
    assert gaia("report", tmp_path / "b.json", "--format", "html") == f"{tmp_path / 'b.html'}\n"
    page = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "<h1>b.ledger.jsonl</h1>" in page
    assert "ALITA_RUNS_DIR=b.runs" in page


def test_a_question_file_says_what_was_selected(gaia, tmp_path):
    ledger = write_ledger(tmp_path / "l.jsonl", [attempt("q1", level=2)])
    questions = tmp_path / "q.jsonl"
    rows = [{"task_id": f"q{n}", "Question": "?", "Level": 1 + n % 2, "file_name": ""} for n in range(1, 11)]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert gaia("report", ledger, "--questions", questions).startswith("10.0 % right: 1 of 10")


@pytest.mark.parametrize("state", ["there", "moved with the ledger", "changed", "gone"])
def test_the_page_shows_the_questions_of_the_file_that_the_ledger_names(gaia, tmp_path, state):
    rows = [{"task_id": f"q{n}", "Question": f"Colour {n}?", "Level": 1, "file_name": ""} for n in (1, 2, 3)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    questions = tmp_path / "a" / "q.jsonl"
    questions.parent.mkdir()
    questions.write_text(text)
    dataset = load_jsonl(questions)
    path = tmp_path / "a" / "b.ledger.jsonl"
    with Ledger.open(path, fingerprint=Fingerprint(dataset.fingerprint)) as ledger:
        ledger.select(dataset.tasks[:2], 1, str(questions))
        ledger.append(replace(attempt("q1"), fingerprint=Fingerprint(dataset.fingerprint).digest))
    if state == "moved with the ledger":
        path = (tmp_path / "a").rename(tmp_path / "b") / path.name
    elif state == "changed":
        questions.write_text(text.replace("Colour 1", "Number 1"))
    elif state == "gone":
        questions.unlink()
    page = Path(gaia("report", path, "-f", "html").strip()).read_text()
    told = {"changed": "has changed since the benchmark", "gone": "is not there"}.get(state, "")
    shown = ["Colour 1?" in page, "Colour 2?" in page, "Colour 3?" in page]
    assert shown == ([False] * 3 if told else [True, True, False])
    assert (told in page, "--questions FILE" in page) == (True, bool(told))
    assert "not attempted" in gaia("report", path)


def test_two_ledgers_are_compared(gaia, ledger, tmp_path):
    other = write_ledger(tmp_path / "c.ledger.jsonl", [attempt("q1"), attempt("q2"), attempt("q4")], tasks(4))
    said = gaia("compare", ledger, other)
    assert said.startswith(
        "+50.0 points on 2 common questions: 1 question changed, 1 gained and 0 lost; p = 1 (McNemar"
    )
    assert "1 question attempted in b.ledger.jsonl only, not compared: q3" in said
    told = json.loads(gaia("compare", ledger, other, "--format", "json"))
    assert told["schema"] == 3
    assert told["facts"]["common questions"] == 2
    assert told["facts"]["not compared"] == {
        "attempted in b.ledger.jsonl only": ["q3"],
        "attempted in c.ledger.jsonl only": ["q4"],
    }


def test_keys_are_masked_in_every_form(gaia, ledger, tmp_path, monkeypatch):
    key = "my-very-own-endpoint-key"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    cut = f"{key[:9]}\u200b{key[9:]}"  # printing it leaves out what cannot be seen
    told = attempt("q1", tools_created=(key,), model=key, raw_answer=cut, leaks=(cut,))
    ledger = write_ledger(tmp_path / "k.jsonl", [told], tasks(1))
    for form in ("terminal", "json"):
        said = gaia("report", ledger, "--format", form)
        assert key not in said
        assert "redacted" in said
    gaia("report", ledger, "--format", "html")
    assert key not in (tmp_path / "k.html").read_text()


def test_what_cannot_be_read_or_written_is_told(gaia, ledger, tmp_path):
    with pytest.raises(RunError, match=r"none\.jsonl cannot be read"):
        gaia("report", tmp_path / "none.jsonl")
    foreign = tmp_path / "notes.txt"
    foreign.write_text("just notes\n")
    with pytest.raises(RunError, match="not a ledger") as raised:
        gaia("report", foreign)
    assert "Name the ledger of a benchmark" in raised.value.remedy
    with pytest.raises(StorageError, match="cannot be written"):
        gaia("report", ledger, "-o", tmp_path / "no" / "such" / "folder.txt")
