"""`alita course questions|run|submit`: the final assignment of the Agents Course."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import options
from agent.cli.output import print_json, print_note, print_rows, print_text
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.gaia.course import CourseApi, Result
    from agent.gaia.submission import Submission
    from agent.gaia.task import Dataset, Task

app = options.new_app("The Agents Course: its questions, answering them, and handing in.")

Address = Annotated[str | None, typer.Option("--course", metavar="URL", help="Another server than the course's.")]
Username = Annotated[str, typer.Option("--username", metavar="NAME", help="Yours at the Hugging Face hub.")]
AgentCode = Annotated[
    str, typer.Option("--agent-code", metavar="URL", help="Where your agent's code is: …/spaces/NAME/SPACE/tree/main.")
]
Submit = Annotated[bool, typer.Option("--submit", help="Hand in; without it, only show what would be sent.")]


@app.command()
def questions(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write them as a question file.")
    ] = None,
    files: Annotated[Path | None, typer.Option("--files", metavar="DIR", help="Put their files into a folder.")] = None,
    random: Annotated[bool, typer.Option("--random", help="One of them, chosen by the server.")] = False,
    course: Address = None,
    as_json: options.AsJson = False,
) -> None:
    """Lists the questions of the course."""
    dataset = _random(course) if random else _api(course).questions()
    _tell_problems(dataset)
    if output is not None:
        from agent.store.written import write_file

        write_file(output, "".join(f"{json.dumps(_record(task))}\n" for task in dataset.tasks))
        print_note(f"Wrote {output}. Answer them with: gaia-benchmark {output}")
    found = _put_files(dataset, files, course) if files is not None else {}
    if as_json:
        print_json([{**_record(task), **found.get(task.task_id, {})} for task in dataset.tasks])
    elif output is None:
        print_rows([(t.task_id, _level(t), t.file_name or "—", one_line(t.question, 200)) for t in dataset.tasks])


@app.command()
def submit(
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="A ledger, or a file for the leaderboard.")],
    username: Username = "",
    agent_code: AgentCode = "",
    send: Submit = False,
    course: Address = None,
    as_json: options.AsJson = False,
) -> None:
    """Hands answers in; without --submit only shows what would be sent. submission_payload.log keeps both."""
    _hand_in(answers, username, agent_code, send=send, course=course, as_json=as_json)


def _hand_in(answers: Path, username: str, agent_code: str, *, send: bool, course: str | None, as_json: bool) -> None:
    from agent.gaia.submission import PAYLOAD_LOG, log_payload, read_answers, submission_of

    given, api = read_answers(answers), _api(course)
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
    from agent.errors import CourseError
    from agent.gaia.submission import PAYLOAD_LOG, log_outcome

    try:
        result = api.submit(submission)
    except CourseError as error:
        log_outcome(Path(PAYLOAD_LOG), {"error": error.message})
        raise
    log_outcome(Path(PAYLOAD_LOG), result._asdict())
    return result


def _show(submission: Submission, unanswered: list[str], result: Result | None) -> None:
    from agent.gaia.submission import PAYLOAD_LOG

    if unanswered:
        print_note(f"{len(unanswered)} questions have no answer and count as wrong: {', '.join(unanswered)}")
    if result is None:
        print_rows([(task_id, one_line(answer, 200)) for task_id, answer in submission.answers])
        print_note(f"Nothing was sent; it is kept in {PAYLOAD_LOG}. Hand in with the same command and --submit.")
    else:
        print_text(f"{result.score:g} % ({result.correct_count} correct, {result.total_attempted} answered)")
        if result.message:
            print_note(result.message)


def _api(address: str | None) -> CourseApi:
    from agent.gaia.course import COURSE_URL, CourseApi

    return CourseApi(address or COURSE_URL)


def _random(address: str | None) -> Dataset:
    from agent.gaia.task import dataset_of

    api = _api(address)
    return dataset_of([api.random_question()], {}, api.base)


def _tell_problems(dataset: Dataset) -> None:
    for problem in dataset.problems:
        print_note(f"{dataset.origin}: {problem}")


def _put_files(dataset: Dataset, folder: Path, address: str | None) -> dict[str, dict[str, Any]]:
    """Copies the files into a folder; a missing one is told."""
    import shutil

    from agent.errors import StorageError
    from agent.gaia.attachments import usual_attachments
    from agent.gaia.course import plain_name
    from agent.layers import read_settings

    looking, found = usual_attachments(read_settings(), course=_api(address)), {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for task in dataset.tasks:
            attachment = looking.resolve(task)
            path = folder / plain_name(task.file_name) if attachment.path else None
            if attachment.path and path and not (path.exists() and path.samefile(attachment.path)):
                shutil.copyfile(attachment.path, path)
            if attachment.status == "missing":
                print_note(attachment.message)
            found[task.task_id] = {"path": str(path) if path else None, "file_status": attachment.status}
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror}.", remedy="Name another folder.") from None
    there = sum(entry["file_status"] == "found" for entry in found.values())
    print_note(f"{there} files are in {folder}.")
    return found


def _record(task: Task) -> dict[str, Any]:
    return {"task_id": task.task_id, "question": task.question, "level": task.level, "file_name": task.file_name}


def _level(task: Task) -> str:
    return "—" if task.level is None else str(task.level)
