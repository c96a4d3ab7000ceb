"""`alita course questions|run|submit`: the final assignment of the Agents Course."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import options
from agent.cli.options import opt
from agent.cli.output import Result, print_note
from agent.cli.verbs.gaia import Choices, Concurrency, MaxQuestions, Resume, Verbose, benchmark, library_mode
from agent.errors import CourseError, StorageError
from agent.gaia.attachments import usual_attachments
from agent.gaia.course import COURSE_URL, CourseApi, plain_name
from agent.gaia.outputs import PAYLOAD_LOG, log_submission, read_answers, require_person, submission_of
from agent.gaia.runner import Selection
from agent.user_files import whole_file, write_file
from mcp_tools.errors import UsageError, os_errors_as
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from agent.gaia.attempt import Dataset, Task

app = options.App("The Agents Course: list, answer and submit its questions.")

Address = Annotated[str, opt("--course URL", "URL of the course server, if not the usual one.")]
Username = Annotated[str, opt("--username NAME", "Your Hugging Face user name.")]
AgentCode = Annotated[str, opt("--agent-code URL", "URL of your agent's code: …/spaces/NAME/SPACE/tree/main.")]
Submit = Annotated[bool, opt("--submit", "Submit; without this, only show what would be sent.")]


@app.command()
def questions(
    output: Annotated[Path | None, opt("-o --output FILE", "Write the questions to this file.")] = None,
    files: Annotated[Path | None, opt("--files DIR", "Save the attached files in this folder.")] = None,
    course: Address = COURSE_URL,
    as_json: options.AsJson = False,
) -> Result:
    """Lists the questions of the course."""
    api = CourseApi(course)
    dataset = _questions(api)
    if output is not None:
        _write_questions(output, dataset)
        print_note(f"Wrote {output}. Answer them with: gaia-benchmark {output}")
    found = _put_files(dataset, files, api) if files is not None else {}
    form = [{**_record(task), **found.get(task.task_id, {})} for task in dataset.tasks]
    tasks, dash = dataset.tasks if output is None else (), "—"
    rows = [(t.task_id, str(t.level or dash), t.file_name or dash, one_line(t.question, 200)) for t in tasks]
    return Result(form, rows)


@app.command()
def run(
    output: Annotated[
        Path, opt("-o --output FILE", "Results file (default: course.json); questions and ledger go next to it.")
    ] = Path("course.json"),
    resume: Resume = False,
    verbose: Verbose = False,
    max_questions: MaxQuestions = None,
    concurrency: Concurrency = None,
    username: Username = "",
    agent_code: AgentCode = "",
    send: Submit = False,
    course: Address = COURSE_URL,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    no_isolation: options.NoIsolation = False,
) -> None:
    """Answers the questions as a benchmark. Limits apply to each question. With --submit, also submits."""
    if send:
        require_person(username, agent_code)
    names = ("questions.jsonl", "files", "ledger.jsonl")
    questions, files, ledger = (output.with_name(f"{output.stem}.{name}") for name in names)
    api = CourseApi(course)
    dataset = _questions(api)
    _write_questions(questions, dataset)
    has_files = any(task.file_name for task in dataset.tasks)
    if has_files:
        _put_files(dataset, files, api)
    choices = Choices(
        questions=questions,
        output=output,
        attached=files if has_files else None,
        selection=Selection(max_questions=max_questions),
        concurrency=concurrency,
        library=library_mode(output, resume=resume),
        mode="course",
        resume=resume,
        verbose=verbose,
    )
    code = benchmark({**options.flags(), "leak_guard": True}, choices)
    if code or not send:
        print_note(f"Nothing was submitted. To preview: alita course submit {ledger} --username … --agent-code …")
        raise typer.Exit(code)
    submit(ledger, username, agent_code, send=True, course=course).print()


@app.command()
def submit(
    answers: Annotated[Path, typer.Argument(metavar="ANSWERS", help="A ledger or a leaderboard file.")],
    username: Username = "",
    agent_code: AgentCode = "",
    send: Submit = False,
    course: Address = COURSE_URL,
    as_json: options.AsJson = False,
) -> Result:
    """Submits answers. Without --submit, only shows what would be sent. Both are kept in submission_payload.log."""
    api = CourseApi(course)
    questions = api.questions()
    given, asked = read_answers(answers, questions), [task.task_id for task in questions.tasks]
    submission = submission_of(username, agent_code, given, asked)
    log = Path(PAYLOAD_LOG)
    log_submission(log, url=f"{api.base}/submit", sent=send, payload=submission)
    unanswered = [task_id for task_id in asked if task_id not in given]
    result = None
    if send:
        try:
            result = api.submit(submission)
        except CourseError as error:
            log_submission(log, outcome={"error": error.message})
            raise
        log_submission(log, outcome=asdict(result))
    form = {"ok": True, "sent": send, "payload": submission, "unanswered": unanswered, "log": PAYLOAD_LOG}
    form["result"] = asdict(result) if result else None
    rows, text, note = [], "", ""
    if result is None:
        rows = [(one["task_id"], one_line(one["submitted_answer"], 200)) for one in submission["answers"]]
        note = f"Nothing was sent. The payload is in {PAYLOAD_LOG}. To submit it, add --submit to the same command."
    else:
        text = f"{result.score:g} % ({result.correct_count} correct, {result.total_attempted} answered)"
        note = result.message
    if unanswered:
        lacking = f"{len(unanswered)} questions have no answer and count as wrong: {', '.join(unanswered)}"
        note = f"{lacking}\n{note}".rstrip()
    return Result(form, rows, text, note)


def _questions(api: CourseApi) -> Dataset:
    dataset = api.questions()
    for problem in dataset.problems:
        print_note(f"{dataset.origin}: {problem}")
    return dataset


def _write_questions(path: Path, dataset: Dataset) -> None:
    """Writes a question file, unless another one is in its place."""
    text = "".join(f"{json.dumps(_record(task))}\n" for task in dataset.tasks)
    with os_errors_as(UsageError, f"{path} cannot be read", "Choose another --output."):
        if path.exists() and read_small(path, JOURNAL) != text.encode():
            raise UsageError(f"{path} already exists and holds other questions.", remedy="Choose another --output.")
    write_file(path, text)


def _put_files(dataset: Dataset, folder: Path, api: CourseApi) -> dict[str, dict[str, Any]]:
    """Copies the files into a folder; a missing one is reported."""
    looking, found = usual_attachments(options.settings(), course=api), {}
    with os_errors_as(StorageError, f"{folder} cannot be written", "Choose another folder."):
        folder.mkdir(parents=True, exist_ok=True)
        for task in dataset.tasks:
            attachment = looking.resolve(task)
            path = folder / plain_name(task.file_name) if attachment.path else None
            if attachment.path and path and not (path.exists() and path.samefile(attachment.path)):
                with attachment.path.open("rb") as source, whole_file(path) as copy:
                    shutil.copyfileobj(source, copy)
            if attachment.status == "missing":
                print_note(attachment.message)
            found[task.task_id] = {"path": str(path) if path else None, "file_status": attachment.status}
    there = sum(entry["file_status"] == "found" for entry in found.values())
    print_note(f"{count_of(there, 'file')} in {folder}.")
    return found


def _record(task: Task) -> dict[str, Any]:
    return {"task_id": task.task_id, "question": task.question, "level": task.level, "file_name": task.file_name}
