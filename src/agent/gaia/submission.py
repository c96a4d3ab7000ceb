"""Downloads the course's questions and files, and submits answers after showing them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import CourseError, StorageError
from agent.gaia.attachments import usual_attachments
from agent.gaia.configuration import Selection
from agent.gaia.course import plain_name
from agent.gaia.outputs import PAYLOAD_LOG, log_submission, read_answers, submission_of
from agent.gaia.preparation import Choices, library_mode
from agent.user_files import whole_file
from mcp_tools.errors import UsageError, os_errors_as
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.text import count_of

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Dataset, Task
    from agent.gaia.course import CourseApi, SubmissionResult
    from mcp_tools.tool import Json


def task_record(task: Task) -> dict[str, Any]:
    """Return a question in the form of question files and `--json`."""
    return {"task_id": task.task_id, "question": task.question, "level": task.level, "file_name": task.file_name}


def write_questions(path: Path, data: bytes) -> None:
    """Write a question file unless the path already contains other questions.

    Raises:
        UsageError: There is a different file at this path.
        StorageError: The file cannot be written.
    """
    with os_errors_as(UsageError, f"{path} cannot be read", "Choose another --output."):
        if path.exists() and read_small(path, JOURNAL) != data:
            raise UsageError(f"{path} already exists and contains other questions.", remedy="Choose another --output.")
    with whole_file(path) as file:
        file.write(data)


def question_lines(dataset: Dataset) -> bytes:
    """Return a dataset as a question file."""
    return "".join(f"{json.dumps(task_record(task))}\n" for task in dataset.tasks).encode()


def put_files(
    dataset: Dataset, folder: Path, api: CourseApi, settings: Settings, tell: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Copy the questions' files into a folder. Missing files are reported to `tell`."""
    looking, found = usual_attachments(settings, course=api), {}
    with os_errors_as(StorageError, f"{folder} cannot be written", "Choose another folder."):
        folder.mkdir(parents=True, exist_ok=True)
        for task in dataset.tasks:
            attachment = looking.resolve(task)
            path = folder / plain_name(task.file_name) if attachment.path else None
            if attachment.path and path and not (path.exists() and path.samefile(attachment.path)):
                with attachment.path.open("rb") as source, whole_file(path) as copy:
                    shutil.copyfileobj(source, copy)
            if attachment.status == "missing":
                tell(attachment.message)
            found[task.task_id] = {"path": str(path) if path else None, "file_status": attachment.status}
    there = sum(entry["file_status"] == "found" for entry in found.values())
    tell(f"{count_of(there, 'file')} in {folder}.")
    return found


def course_run(
    api: CourseApi, output: Path, settings: Settings, tell: Callable[[str], None], **more: Any
) -> tuple[Choices, Path]:
    """Download the questions and their files, and return the options of their benchmark and its ledger.

    Args:
        api: The course's server.
        output: The results file. Questions, files and ledger are written next to it.
        settings: The settings, which name the folders in which to look for files.
        tell: Called with a message about each missing file.
        more: Other options: `resume`, `verbose`, `concurrency`, `max_questions`.

    Raises:
        UserError: The questions cannot be downloaded or written.
    """
    names = ("questions.jsonl", "files", "ledger.jsonl")
    questions, files, ledger = (output.with_name(f"{output.stem}.{name}") for name in names)
    dataset = fetch_questions(api, tell)
    write_questions(questions, question_lines(dataset))
    has_files = any(task.file_name for task in dataset.tasks)
    if has_files:
        put_files(dataset, files, api, settings, tell)
    choices = Choices(
        questions=questions,
        output=output,
        attached=files if has_files else None,
        selection=Selection(max_questions=more.pop("max_questions", None)),
        library=library_mode(output, resume=more.get("resume", False)),
        mode="course",
        **more,
    )
    return choices, ledger


def fetch_questions(api: CourseApi, tell: Callable[[str], None]) -> Dataset:
    """Return the course's questions, and report invalid ones to `tell`.

    Raises:
        CourseError: The questions are unavailable.
    """
    dataset = api.questions()
    for problem in dataset.problems:
        tell(f"{dataset.origin}: {problem}")
    return dataset


@dataclass(frozen=True, slots=True)
class Submission:
    """Answers to submit."""

    payload: dict[str, Any]
    unanswered: tuple[str, ...]
    """Ids of unanswered questions, which count as wrong."""

    @property
    def lacking(self) -> str:
        """A sentence about unanswered questions; an empty string if there are none."""
        ids = self.unanswered
        return f"{len(ids)} questions have no answer and count as wrong: {', '.join(ids)}" if ids else ""


def submission_from(api: CourseApi, answers: Path, username: str, agent_code: str) -> Submission:
    """Return the submission made from a ledger or a leaderboard file.

    Raises:
        UserError: An answer cannot be submitted, or the profile is incomplete.
    """
    questions = api.questions()
    given, asked = read_answers(answers, questions), [task.task_id for task in questions.tasks]
    payload: dict[str, Json] = submission_of(username, agent_code, given, asked)
    return Submission(payload, tuple(task_id for task_id in asked if task_id not in given))


def send_submission(api: CourseApi, submission: Submission, *, send: bool) -> SubmissionResult | None:
    """Log a submission, send it if `send` is true, and log the server's reply.

    Raises:
        CourseError: The server rejects the submission or cannot be reached.
        StorageError: The log cannot be written, so nothing was sent.
    """
    log = Path(PAYLOAD_LOG)
    log_submission(log, url=f"{api.base}/submit", sent=send, payload=submission.payload)
    if not send:
        return None
    try:
        result = api.submit(submission.payload)
    except CourseError as error:
        log_submission(log, outcome={"error": error.message})
        raise
    log_submission(log, outcome=asdict(result))
    return result
