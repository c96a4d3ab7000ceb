"""The leaderboard's file: every question once, answers only, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.errors import StorageError, SubmissionError
from agent.gaia.attempt import Task, dataset_of
from agent.gaia.outputs import SubmissionRow, write_submission

DATASET = dataset_of([Task("a1", "?"), Task("b2", "?"), Task("c3", "?")], {}, "three cards")


def rows(**answers: str) -> list[SubmissionRow]:
    return [SubmissionRow(task_id, answer) for task_id, answer in answers.items()]


def test_the_file_holds_every_question_once_in_order(tmp_path: Path) -> None:
    path = tmp_path / "submission.jsonl"
    given = [SubmissionRow("c3", " blue\n"), SubmissionRow("a1", "rød", "It\nis red."), SubmissionRow("b2", "O'Neil")]
    assert write_submission(path, given, DATASET) == ()
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"task_id": "a1", "model_answer": "rød", "reasoning_trace": "It\nis red."},
        {"task_id": "b2", "model_answer": "O'Neil"},
        {"task_id": "c3", "model_answer": "blue"},
    ]
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (rows(a1="x", b2="y"), "1 of 3 questions have no answer: c3."),
        ([*rows(a1="x", b2="y", c3="z"), SubmissionRow("a1", "again")], "There are two answers to a1."),
        (rows(a1="x", b2="y", c3="z", d4="w"), "d4 is no question of three cards."),
        (rows(a1="x", b2=" \n", c3="z"), "The answer to b2 is empty."),
        (rows(a1="ERROR", b2="y", c3="z"), "The answer to a1 is no answer: 'ERROR'."),
        (rows(a1="Error: timed out", b2="y", c3="z"), "The answer to a1 is no answer"),
        (rows(a1="ERROR - 500", b2="[ERROR] x", c3="z"), "is no answer"),
        (rows(a1="Traceback (most recent call last):\n x", b2="y", c3="z"), "The answer to a1 is no answer"),
        (rows(a1="openai.RateLimitError: slow down", b2="y", c3="z"), "The answer to a1 is no answer"),
        (rows(a1="AGENT ERROR", b2="y", c3="z"), "The answer to a1 is no answer"),
    ],
)
def test_what_would_distort_the_score_is_refused(tmp_path: Path, given: list[SubmissionRow], told: str) -> None:
    path = tmp_path / "submission.jsonl"
    path.write_text("what stood there")
    with pytest.raises(SubmissionError) as caught:
        write_submission(path, given, DATASET)
    assert told in caught.value.message
    assert caught.value.remedy
    assert path.read_text() == "what stood there"


@pytest.mark.parametrize(
    "answer", ["Errol Flynn", "error bars", "Errors", "None", "Terror: a memoir", "trial and error: a memoir"]
)
def test_an_answer_about_errors_is_an_answer(tmp_path: Path, answer: str) -> None:
    assert write_submission(tmp_path / "s.jsonl", rows(a1=answer, b2="y", c3="z"), DATASET) == ()


def test_a_run_that_goes_on_may_leave_questions_out(tmp_path: Path) -> None:
    path = tmp_path / "submission.jsonl"
    assert write_submission(path, rows(b2="y"), DATASET, incomplete=True) == ("a1", "c3")
    assert path.read_text() == '{"task_id": "b2", "model_answer": "y"}\n'


def test_half_a_character_makes_no_malformed_line(tmp_path: Path) -> None:
    path = tmp_path / "submission.jsonl"
    write_submission(path, rows(b2="a\ud800b"), DATASET, incomplete=True)
    assert json.loads(path.read_text()) == {"task_id": "b2", "model_answer": "a?b"}


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        write_submission(tmp_path / "none/submission.jsonl", rows(a1="x", b2="y", c3="z"), DATASET)


@given(st.text(), st.text())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_line_is_json_whatever_the_answer(tmp_path: Path, answer: str, trace: str) -> None:
    path = tmp_path / "submission.jsonl"
    try:
        write_submission(path, [SubmissionRow("b2", answer, trace)], DATASET, incomplete=True)
    except SubmissionError:
        return
    line, rest = path.read_bytes().split(b"\n")
    assert rest == b""
    assert json.loads(line)["model_answer"] == answer.strip().encode("utf-8", "replace").decode()
