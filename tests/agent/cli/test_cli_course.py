"""`alita course` as a command, against a local server: exit code, stdout and stderr together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.command import Ended, Terminal
from support.course_server import CourseServer

WHO = ("--username", "ann", "--agent-code", "https://huggingface.co/spaces/ann/agent/tree/main")


class Shell(Terminal):
    """A folder to run the command in, with the course's server beside it."""

    def __init__(self, folder: Path, course: CourseServer) -> None:
        super().__init__(folder)
        self.course = course

    def ask(self, *arguments: str, **variables: str) -> Ended:
        return self.call("course", *arguments, "--course", self.course.url, HOME=str(self.home), **variables)

    def write(self, name: str, *lines: Any) -> str:
        (self.here / name).write_text(
            "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
        )
        return name

    @property
    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.here / "submission_payload.log").read_text().splitlines()]


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with CourseServer() as course:
        yield Shell(tmp_path, course)
    assert course.violations == []


def test_questions_and_files_are_put_down_for_a_run(shell: Shell) -> None:
    shell.course.add_file(1, "one.txt", b"1")
    shell.course.add_file(2, "two.txt", b"2", missing=True)
    ended = shell.ask("questions", "-o", "course.jsonl", "--files", "files")
    assert (ended.code, ended.out) == (0, "")
    from agent.gaia.dataset import load_jsonl

    dataset = load_jsonl(shell.here / "course.jsonl")
    assert [task.file_name for task in dataset.tasks[:3]] == ["one.txt", "two.txt", ""]
    assert [(path.name, path.read_bytes()) for path in (shell.here / "files").iterdir()] == [("one.txt", b"1")]
    assert "The file 'two.txt' is missing: " in ended.err
    assert "no token is set" in ended.err
    assert "No file path associated with task_id card-2" in ended.err
    assert "1 file in files." in ended.err


def test_nothing_is_sent_unless_asked_for(shell: Shell) -> None:
    answers = shell.write("answers.jsonl", {"task_id": "card-1", "model_answer": "FINAL ANSWER: green"})
    ended = shell.ask("submit", answers, *WHO)
    assert (ended.code, ended.out) == (0, "card-1  green\n")
    assert "Nothing was sent" in ended.err
    assert "19 questions have no answer and count as wrong: card-2, " in ended.err
    assert shell.course.submissions == []
    assert shell.course.asked == ["GET /questions"]
    assert [entry["sent"] for entry in shell.log] == [False]
    assert shell.log[0]["payload"]["answers"] == [{"task_id": "card-1", "submitted_answer": "green"}]


def test_a_ledger_is_handed_in_on_request(shell: Shell) -> None:
    ledger = shell.write(
        "ledger.jsonl",
        {"kind": "header", "ledger": 1},
        {"kind": "attempt", "task_id": "card-1", "epoch": 1, "status": "ok", "answer": "red"},
        {"kind": "attempt", "task_id": "card-1", "epoch": 2, "status": "ok", "answer": "white"},
        {"kind": "attempt", "task_id": "card-2", "epoch": 1, "status": "error", "answer": "", "error": "no model"},
        {"kind": "attempt", "task_id": "card-3", "epoch": 1, "status": "limit", "answer": "white"},
        {"kind": "attempt", "task_id": "card-1", "epoch": 1, "status": "ok", "answer": "Green"},
    )
    with (shell.here / ledger).open("a") as file:
        file.write('{"kind": "att')
    ended = shell.ask("submit", ledger, *WHO, "--submit", "--json")
    assert ended.code == 0
    told = ended.json
    assert told["sent"] is True
    assert (told["result"]["score"], told["result"]["correct_count"]) == (10.0, 2)
    assert len(told["unanswered"]) == 18
    assert [a["submitted_answer"] for a in shell.course.submissions[0]["answers"]] == ["Green", "white"]
    assert [entry.get("sent") for entry in shell.log] == [True, None]
    assert shell.log[1]["outcome"]["score"] == 10.0


def test_a_refused_submission_is_kept_and_told(shell: Shell) -> None:
    answers = shell.write("answers.jsonl", {"task_id": "card-1", "model_answer": "green"})
    shell.course.fails.extend([(200, shell.course.questions), (500, {"detail": "Failed to update the leaderboard"})])
    ended = shell.ask("submit", answers, *WHO, "--submit", "--json")
    assert ended.code == 1
    assert "returned status 500: Failed to update the leaderboard" in ended.json["error"]["message"]
    assert "Failed to update" in shell.log[1]["outcome"]["error"]


@pytest.mark.parametrize(
    ("lines", "who", "told"),
    [
        ([{"task_id": "card-1", "model_answer": "x"}], (), "The Hugging Face user name is missing."),
        (
            [{"task_id": "card-1", "model_answer": "ERROR"}],
            WHO,
            "Line 1 of answers.jsonl has no valid answer to 'card-1': 'ERROR'.",
        ),
        (["no json"], WHO, "Line 1 of answers.jsonl does not have the form "),
    ],
)
def test_what_cannot_be_handed_in_is_told(shell: Shell, lines: list[Any], who: tuple[str, ...], told: str) -> None:
    ended = shell.ask("submit", shell.write("answers.jsonl", *lines), *who, "--submit")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"alita: {told}")
    assert not (shell.here / "submission_payload.log").exists()


def arithmetic(shell: Shell) -> None:
    """Questions that need no model but card 3, whose file is missing."""
    for number, question in enumerate(shell.course.questions, 1):
        question["question"] = f"What is {number} * 100 + {number}?"
        shell.course.answers[question["task_id"]] = str(101 * number)
    del shell.course.questions[4:]
    shell.course.add_file(3, "three.txt", b"3", missing=True)


RUN = ("run", "--model", "scripted:none.jsonl", "--concurrency", "2")


@pytest.mark.slow
def test_the_course_is_run_resumed_and_handed_in(shell: Shell) -> None:
    """A run of two questions hands nothing in; the next goes on with the others, and hands in on request.

    The question without its file is not asked.
    """
    arithmetic(shell)
    shell.write("none.jsonl", {"text": "303"})
    first = shell.ask(*RUN, "--max-questions", "2")
    assert first.code == 0, first.err
    assert "Nothing was submitted." in first.err
    assert "The file 'three.txt' is missing: " in first.err
    assert shell.course.submissions == []
    second = shell.ask(*RUN, "--resume", "--submit", *WHO)
    assert second.code == 0, second.err
    assert "15 % (3 correct, 3 answered)" in second.out
    answers = shell.course.submissions[0]["answers"]
    assert sorted(a["submitted_answer"] for a in answers) == ["101", "202", "404"]
    ledger = [json.loads(line) for line in (shell.here / "course.ledger.jsonl").read_text().splitlines()]
    attempts = {line["task_id"]: line for line in ledger if line["kind"] == "attempt"}
    assert attempts["card-3"]["status"] == "missing-file"
    assert attempts["card-3"]["answer"] == ""
