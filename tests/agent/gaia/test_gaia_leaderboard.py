"""The leaderboard's file: every question once, answers only, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.gaia.attempt import Attempt, Task, dataset_of
from agent.gaia.outputs import write_answers

DATASET = dataset_of([Task("a1", "?"), Task("b2", "?"), Task("c3", "?")], {}, "three cards")


def attempts(**answers: str) -> list[Attempt]:
    return [Attempt(task_id, answer=answer) for task_id, answer in answers.items()]


def test_the_file_holds_every_question_once_in_order(tmp_path: Path) -> None:
    path = tmp_path / "submission.jsonl"
    without_its_file = Attempt("a1", answer="rød", status="missing-file")
    given = [*attempts(c3=" blue\n", b2="O'Neil"), without_its_file, Attempt("b2", epoch=2, answer="another")]
    assert write_answers(path, DATASET, given) == ()
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"task_id": "a1", "model_answer": "rød"},
        {"task_id": "b2", "model_answer": "O'Neil"},
        {"task_id": "c3", "model_answer": "blue"},
    ]
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize(
    "answer",
    [
        " \n",
        "Error: timed out",
        "Traceback (most recent call last):\n x",
    ],
)
def test_what_is_no_answer_is_left_out(tmp_path: Path, answer: str) -> None:
    path = tmp_path / "submission.jsonl"
    assert write_answers(path, DATASET, attempts(a1=answer, b2="y")) == ("a1", "c3")
    assert path.read_text() == '{"task_id": "b2", "model_answer": "y"}\n'
