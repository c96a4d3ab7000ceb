"""The course's questions and files on disk, and answers that are handed in: as shown first, then sent."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import CourseError, StorageError
from agent.gaia.attachments import usual_attachments
from agent.gaia.course import plain_name
from agent.gaia.outputs import PAYLOAD_LOG, log_submission, read_answers, submission_of
from agent.gaia.preparation import Choices, library_mode
from agent.gaia.runner import Selection
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
    """Return a question as question files and `--json` have it."""
    return {"task_id": task.task_id, "question": task.question, "level": task.level, "file_name": task.file_name}


def write_questions(path: Path, data: bytes) -> None:
    """Write a question file, unless another one is in its place.

    Raises:
        UsageError: Another one is.
        StorageError: It cannot be written.
    """
    with os_errors_as(UsageError, f"{path} cannot be read", "Choose another --output."):
        if path.exists() and read_small(path, JOURNAL) != data:
            raise UsageError(f"{path} already exists and holds other questions.", remedy="Choose another --output.")
    with whole_file(path) as file:
        file.write(data)


def question_lines(dataset: Dataset) -> bytes:
    """Return the content of a question file."""
    return "".join(f"{json.dumps(task_record(task))}\n" for task in dataset.tasks).encode()


def put_files(
    dataset: Dataset, folder: Path, api: CourseApi, settings: Settings, tell: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Copy the files of questions into a folder; a missing one is told."""
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
    """Fetch the questions and their files, and return the benchmark over them with its ledger.

    Args:
        api: The course's server.
        output: The results; questions, files and ledger are next to them.
        settings: Where files are looked for.
        tell: Told of what is missing.
        more: Other choices: `resume`, `verbose`, `concurrency`, `max_questions`.

    Raises:
        UserError: The questions cannot be fetched or written.
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
    """Return the course's questions; `tell` gets what is wrong with some.

    Raises:
        CourseError: They cannot be fetched.
    """
    dataset = api.questions()
    for problem in dataset.problems:
        tell(f"{dataset.origin}: {problem}")
    return dataset


@dataclass(frozen=True, slots=True)
class Submission:
    """Answers to hand in."""

    payload: dict[str, Any]
    unanswered: tuple[str, ...]
    """Ids of questions without an answer, which count as wrong."""

    @property
    def lacking(self) -> str:
        """A sentence on questions without an answer, if there are any."""
        ids = self.unanswered
        return f"{len(ids)} questions have no answer and count as wrong: {', '.join(ids)}" if ids else ""


def submission_from(api: CourseApi, answers: Path, username: str, agent_code: str) -> Submission:
    """Return what a ledger or a leaderboard file gives to hand in; it is in the log before it is sent.

    Raises:
        UserError: An answer cannot be handed in, or the profile is incomplete.
    """
    questions = api.questions()
    given, asked = read_answers(answers, questions), [task.task_id for task in questions.tasks]
    payload: dict[str, Json] = submission_of(username, agent_code, given, asked)
    return Submission(payload, tuple(task_id for task_id in asked if task_id not in given))


def hand_in(api: CourseApi, submission: Submission, *, send: bool) -> SubmissionResult | None:
    """Log a submission, and send it if wanted; then the log has the server's reply, too.

    Raises:
        CourseError: The server refuses it, or cannot be reached.
        StorageError: The log cannot be written; nothing is sent.
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
