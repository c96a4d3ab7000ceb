"""Hands answers in to the course, or shows what would be handed in."""

from __future__ import annotations

from pathlib import Path

from agent.cli.output import print_json, print_note, print_rows, print_text
from agent.errors import CourseError
from agent.gaia.course import CourseApi, Result
from agent.gaia.submission import (
    PAYLOAD_LOG,
    Submission,
    log_outcome,
    log_payload,
    read_answers,
    submission_of,
)
from mcp_tools.text import one_line


def hand_in(
    answers: Path, username: str, agent_code: str, api: CourseApi, *, send: bool, as_json: bool = False
) -> None:
    """Hands in, or only shows what would be handed in; both are logged before.

    Raises:
        SubmissionError: It cannot be handed in as it is.
        CourseError: The server refused, failed or cannot be reached.
        StorageError: The log cannot be written.
    """
    given = read_answers(answers)
    asked = [task.task_id for task in api.questions().tasks]
    submission = submission_of(username, agent_code, given.items(), asked)
    log_payload(Path(PAYLOAD_LOG), f"{api.base}/submit", submission, sent=send)
    unanswered = [task_id for task_id in asked if task_id not in given]
    result = _send(api, submission) if send else None
    if as_json:
        print_json(
            {
                "ok": True,
                "sent": send,
                "payload": submission.as_json(),
                "unanswered": unanswered,
                "log": PAYLOAD_LOG,
                "result": result._asdict() if result else None,
            }
        )
    else:
        _show(submission, unanswered, result)


def _send(api: CourseApi, submission: Submission) -> Result:
    """Hands in, and keeps what came of it."""
    try:
        result = api.submit(submission)
    except CourseError as error:
        log_outcome(Path(PAYLOAD_LOG), {"error": error.message})
        raise
    log_outcome(Path(PAYLOAD_LOG), result._asdict())
    return result


def _show(submission: Submission, unanswered: list[str], result: Result | None) -> None:
    if unanswered:
        print_note(f"{len(unanswered)} questions have no answer and count as wrong: {', '.join(unanswered)}")
    if result is None:
        print_rows([(task_id, one_line(answer, 200)) for task_id, answer in submission.answers])
        print_note(f"Nothing was sent; it is kept in {PAYLOAD_LOG}. Hand in with the same command and --submit.")
    else:
        print_text(f"{result.score:g} % ({result.correct_count} correct, {result.total_attempted} answered)")
        if result.message:
            print_note(result.message)
