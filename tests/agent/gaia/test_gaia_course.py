"""The client of the course's server, against one that speaks its documented JSON and checks each request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.errors import CourseError, StorageError, SubmissionError, UserError
from agent.gaia.attempt import Task
from agent.gaia.course import CourseApi, SubmissionResult, plain_name
from agent.gaia.outputs import log_submission, submission_of
from support.course_server import CourseServer

CODE = "https://huggingface.co/spaces/ann/agent/tree/main"


@pytest.fixture
def api(course: CourseServer) -> CourseApi:
    return CourseApi(course.url + "/", waits=(0.0, 0.0))


def test_the_questions_are_tasks_without_truths(api: CourseApi, course: CourseServer) -> None:
    course.add_file(2, "card-2.png", b"picture")
    dataset = api.questions()
    assert len(dataset.tasks) == 20
    assert dataset.tasks[:2] == (
        Task("card-1", "Which colour has card 1?", 1, ""),
        Task("card-2", "Which colour has card 2?", 1, "card-2.png"),
    )
    assert (dict(dataset.truths), dataset.origin, dataset.problems) == ({}, course.url, ())
    assert course.violations == []


def test_a_file_is_written_where_it_is_wanted_whatever_its_header_says(
    api: CourseApi, course: CourseServer, tmp_path: Path
) -> None:
    course.files["a/b c"] = ('attachment; filename="../../other.txt"', b"data")
    api.fetch_file("a/b c", tmp_path / "files" / "own.txt")
    assert (tmp_path / "files" / "own.txt").read_bytes() == b"data"
    assert course.asked == ["GET /files/a%2Fb%20c"]


@pytest.mark.parametrize("name", ["x" * 300 + ".txt", "ä" * 150 + ".txt", "a\x1b[2Jb.txt", "\ud800.txt", " . ", "a/"])
def test_a_name_of_somebody_else_is_made_harmless(name: str) -> None:
    plain = plain_name(name)
    assert len(plain.encode()) <= 200
    assert plain.isprintable()
    assert plain == "" or plain.endswith(".txt")


@pytest.mark.parametrize(
    ("status", "body", "told", "remedy"),
    [
        (404, {"detail": "No file path associated with task_id card-1."}, "404: No file path associated", "HF_TOKEN"),
        (403, {"detail": "Access denied."}, "403: Access denied.", "HF_TOKEN"),
        (500, {"detail": "Server error\n\x1b[2Jwhile serving."}, "500: Server error while serving.", "try again"),
        (500, "<html>Sleeping</html>", "answered 500.", "try again"),
    ],
)
def test_a_refusal_tells_what_the_server_said(
    api: CourseApi, course: CourseServer, tmp_path: Path, status: int, body: Any, told: str, remedy: str
) -> None:
    course.fails.append((status, body))
    with pytest.raises(CourseError) as caught:
        api.fetch_file("card-1", tmp_path / "card.txt")
    assert told in caught.value.message
    assert remedy in caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_busy_server_is_asked_again_for_questions(api: CourseApi, course: CourseServer) -> None:
    course.fails.extend([(503, "<html>Starting</html>"), (429, {"detail": "Too many requests"})])
    assert len(api.questions().tasks) == 20
    course.fails.extend([(503, "")] * 3)
    with pytest.raises(CourseError, match="answered 503"):
        api.questions()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("<html></html>", "gave no JSON"),
        ({"detail": "?"}, "gave no list"),
        ([], "gave no question"),
        ([1], "gave no question"),
    ],
)
def test_questions_that_are_none_are_told(api: CourseApi, course: CourseServer, body: Any, told: str) -> None:
    course.fails.append((200, body))
    with pytest.raises(CourseError, match=told):
        api.questions()


def test_a_question_that_cannot_be_used_is_told(api: CourseApi, course: CourseServer) -> None:
    course.questions[3].pop("question")
    dataset = api.questions()
    assert len(dataset.tasks) == 19
    assert dataset.problems == ("question 4: question is missing; left out",)


def test_a_server_that_is_not_there_is_told() -> None:
    with pytest.raises(CourseError, match=r"http://127\.0\.0\.1:9/questions cannot be reached") as caught:
        CourseApi("http://127.0.0.1:9").questions()
    assert "network" in caught.value.remedy


@pytest.mark.parametrize("base", ["", "course.example", "ftp://course.example", "http://"])
def test_an_address_that_is_none_is_told(base: str) -> None:
    with pytest.raises(CourseError, match="address cannot be"):
        CourseApi(base)


def test_an_answer_that_breaks_off_leaves_nothing(api: CourseApi, course: CourseServer, tmp_path: Path) -> None:
    course.fails.append((-1, None))
    with pytest.raises(CourseError, match="cannot be reached"):
        api.fetch_file("card-1", tmp_path / "card.txt")
    assert list(tmp_path.iterdir()) == []


def test_answers_are_handed_in_and_scored(api: CourseApi, course: CourseServer) -> None:
    answers = {"card-1": "I looked.\nFINAL ANSWER: Green", "card-2": " blue ", "card-3": "red"}
    submission = submission_of(" ann ", CODE, answers, course.answers)
    result = api.submit(submission)
    assert result == SubmissionResult("ann", 10.0, 2, 3, "Score calculated successfully.", "2026-11-22T06:00:00+00:00")
    assert course.submissions == [
        {
            "username": "ann",
            "agent_code": CODE,
            "answers": [
                {"task_id": "card-1", "submitted_answer": "Green"},
                {"task_id": "card-2", "submitted_answer": "blue"},
                {"task_id": "card-3", "submitted_answer": "red"},
            ],
        }
    ]
    assert course.violations == []


def test_what_was_refused_is_not_handed_in_twice(api: CourseApi, course: CourseServer) -> None:
    course.fails.extend([(503, "<html></html>"), (503, "")])
    with pytest.raises(CourseError):
        api.submit(submission_of("ann", CODE, {"card-1": "green"}, ["card-1"]))
    assert course.asked == ["POST /submit"]


@pytest.mark.parametrize(
    "body", [{}, {"username": "ann", "score": "?", "correct_count": 1, "total_attempted": 1}, [], "x"]
)
def test_a_score_that_is_none_is_told(api: CourseApi, course: CourseServer, body: Any) -> None:
    course.fails.append((200, body))
    with pytest.raises(CourseError, match=r"/submit gave no (score|JSON)"):
        api.submit(submission_of("ann", CODE, {"card-1": "green"}, ["card-1"]))


@pytest.mark.parametrize(
    ("username", "code", "answers", "told"),
    [
        (" ", CODE, {"a": "x"}, "Hugging Face user name is missing"),
        ("ann", "short", {"a": "x"}, "'short' is not a URL"),
        ("ann", "ann/agent/tree/main", {"a": "x"}, "is not a URL"),
        ("ann", CODE, {}, "There is no answer"),
        ("ann", CODE, {"c": "x"}, "has no question c"),
        ("ann", CODE, {"a": " "}, "answer to a is empty"),
        ("ann", CODE, {"a": "FINAL ANSWER:"}, "answer to a is empty"),
        ("ann", CODE, {"a": "ERROR: no model"}, "answer to a is no answer"),
    ],
)
def test_what_cannot_be_handed_in_is_told(username: str, code: str, answers: dict[str, str], told: str) -> None:
    with pytest.raises(SubmissionError, match=told) as caught:
        submission_of(username, code, answers, ["a", "b"])
    assert caught.value.remedy


def test_every_submission_is_logged_before_it_is_sent(tmp_path: Path) -> None:
    log = tmp_path / "submission_payload.log"
    submission = submission_of("ann", CODE, {"card-1": "grün"}, ["card-1"])
    for sent in (False, True):
        log_submission(log, url="http://course/submit", sent=sent, payload=submission)
    log_submission(log, outcome={"score": 5.0})
    first, second, third = map(json.loads, log.read_text().splitlines())
    assert (first["sent"], second["sent"]) == (False, True)
    assert first["payload"] == submission
    assert third["outcome"] == {"score": 5.0}
    with pytest.raises(StorageError, match="cannot be written"):
        log_submission(tmp_path)


def test_certificates_that_are_not_there_are_named(api: CourseApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent/ca.pem")
    with pytest.raises(UserError, match=r"SSL_CERT_FILE names /nonexistent/ca.pem, which does not exist"):
        api.questions()
