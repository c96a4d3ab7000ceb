"""The client of the course's server, against one that speaks its documented JSON and checks each request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.errors import CourseError, SubmissionError
from agent.gaia.course import CourseApi, plain_name
from agent.gaia.outputs import submission_of
from support.course_server import CourseServer

CODE = "https://huggingface.co/spaces/ann/agent/tree/main"


@pytest.fixture
def api(course: CourseServer) -> CourseApi:
    return CourseApi(course.url + "/", waits=(0.0, 0.0))


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
        (500, {"detail": "Server error\n\x1b[2Jwhile serving."}, "500: Server error while serving.", "Try again"),
        (500, "<html>Sleeping</html>", "returned status 500.", "Try again"),
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
    with pytest.raises(CourseError, match="returned status 503"):
        api.questions()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("<html></html>", "returned a response that is not JSON"),
        ({"detail": "?"}, "returned a response that is not a list"),
        ([1], "returned no questions"),
    ],
)
def test_questions_that_are_none_are_told(api: CourseApi, course: CourseServer, body: Any, told: str) -> None:
    course.fails.append((200, body))
    with pytest.raises(CourseError, match=told):
        api.questions()


def test_what_was_refused_is_not_handed_in_twice(api: CourseApi, course: CourseServer) -> None:
    course.fails.extend([(503, "<html></html>"), (503, "")])
    with pytest.raises(CourseError):
        api.submit(submission_of("ann", CODE, {"card-1": "green"}, ["card-1"]))
    assert course.asked == ["POST /submit"]


@pytest.mark.parametrize(
    ("username", "code", "answers", "told"),
    [
        (" ", CODE, {"a": "x"}, "Hugging Face user name is missing"),
        ("ann", "short", {"a": "x"}, "'short' is not a URL"),
        ("ann", CODE, {}, "There are no answers"),
        ("ann", CODE, {"c": "x"}, "has no question c"),
        ("ann", CODE, {"a": " "}, "answer to a is empty"),
        ("ann", CODE, {"a": "ERROR: no model"}, "answer to a is not valid"),
    ],
)
def test_what_cannot_be_handed_in_is_told(username: str, code: str, answers: dict[str, str], told: str) -> None:
    with pytest.raises(SubmissionError, match=told) as caught:
        submission_of(username, code, answers, ["a", "b"])
    assert caught.value.remedy
