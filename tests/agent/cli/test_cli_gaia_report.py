"""`alita gaia report` and `alita gaia compare`: what is asked for goes to stdout or into a file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.cli.verbs.gaia import app
from agent.errors import RunError, UsageError
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
    told = {"changed": "has changed since the benchmark", "gone": "does not exist"}.get(state, "")
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


def test_a_benchmark_is_not_compared_with_itself_or_with_an_empty_one(gaia, ledger, tmp_path):
    with pytest.raises(UsageError, match="Both arguments are the same benchmark"):
        gaia("compare", ledger, tmp_path / "b.json")
    empty = write_ledger(tmp_path / "c.ledger.jsonl", [], tasks(4))
    assert gaia("compare", ledger, empty).startswith(
        "Nothing can be compared: no question was attempted in c.ledger.jsonl."
    )


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


def test_numbers_that_cannot_be_take_no_memory_and_no_command_down(gaia, ledger, tmp_path):
    hostile = write_ledger(tmp_path / "h.ledger.jsonl", [attempt("q1")], tasks(4), epochs=10**9)
    with hostile.open("a") as file:
        file.write('{"kind": "attempt", "task_id": "q2", "seconds": NaN}\n')
    told = (
        "line 2 of h.ledger.jsonl cannot be used: `epochs`: Input should be less than or equal to 1000, not 1000000000"
    )
    for said in (gaia("report", hostile), gaia("compare", ledger, hostile)):
        assert told in said
        assert "line 4 of h.ledger.jsonl cannot be used: `seconds`" in said


def test_a_ledger_that_counts_too_much_is_refused(gaia, tmp_path):
    many = write_ledger(tmp_path / "m.ledger.jsonl", [], tasks(1001), epochs=1000)
    with pytest.raises(RunError, match=r"m\.ledger\.jsonl counts 1,001 questions in 1,000 epochs"):
        gaia("report", many)
