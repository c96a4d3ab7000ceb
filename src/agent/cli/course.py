"""`alita course questions|run|submit`: the final assignment of the Agents Course."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import options
from agent.cli.output import print_json, print_note, print_rows, print_text
from agent.errors import CourseError
from agent.gaia.course import COURSE_URL, CourseApi
from agent.gaia.outputs import PAYLOAD_LOG, log_submission, read_answers, require_person, submission_of
from agent.store.user_files import write_file
from mcp_tools.errors import UsageError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.gaia.attempt import Dataset, Task

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
    from agent.gaia.attempt import dataset_of

    api = _api(course)
    dataset = dataset_of([api.random_question()], {}, api.base) if random else api.questions()
    _tell_problems(dataset)
    if output is not None:
        _write_questions(output, dataset)
        print_note(f"Wrote {output}. Answer them with: gaia-benchmark {output}")
    found = _put_files(dataset, files, course) if files is not None else {}
    if as_json:
        print_json([{**_record(task), **found.get(task.task_id, {})} for task in dataset.tasks])
    elif output is None:
        dash, tasks = "—", dataset.tasks
        print_rows([(t.task_id, str(t.level or dash), t.file_name or dash, one_line(t.question, 200)) for t in tasks])


@app.command()
def run(
    context: typer.Context,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The results; questions and ledger stand beside it.")
    ] = Path("course.json"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the ledger that is there.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="A line for every step.")] = False,
    max_questions: Annotated[
        int | None, typer.Option("--max-questions", metavar="N", min=1, help="Stop after N unanswered questions.")
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", metavar="N", min=1, max=1000, help="Questions to run in parallel.")
    ] = None,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_tokens: options.MaxTokens = None,
    max_cost: options.MaxCost = None,
    no_isolation: options.NoIsolation = False,
    plain: options.Plain = False,
    username: Username = "",
    agent_code: AgentCode = "",
    send: Submit = False,
    course: Address = None,
) -> None:
    """Answers the questions as a benchmark does; limits are those of a question. With --submit it hands in, too."""
    from agent.cli.benchmark import Choices, benchmark
    from agent.gaia.runner import Selection, Totals

    if send:
        require_person(username, agent_code)
    names = ("questions.jsonl", "files", "ledger.jsonl")
    questions, files, ledger = (output.with_name(f"{output.stem}.{name}") for name in names)
    dataset = _api(course).questions()
    _tell_problems(dataset)
    _write_questions(questions, dataset)
    has_files = any(task.file_name for task in dataset.tasks)
    if has_files:
        _put_files(dataset, files, course)
    choices = Choices(
        questions=questions,
        attached=files if has_files else None,
        output=output,
        submission=None,
        selection=Selection(max_questions=max_questions),
        totals=Totals(),
        concurrency=concurrency,
        library="cold",
        mode="course",
        resume=resume,
        verbose=verbose,
    )
    code = benchmark({**options.flags(context.params), "use_cache": False, "leak_guard": True}, choices)
    if code or not send:
        print_note(
            f"Nothing was handed in. See what would be: alita course submit {ledger} --username … --agent-code …"
        )
        raise typer.Exit(code)
    _hand_in(ledger, username, agent_code, _api(course), send=True)


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
    _hand_in(answers, username, agent_code, _api(course), send=send, as_json=as_json)


def _hand_in(
    answers: Path, username: str, agent_code: str, api: CourseApi, *, send: bool, as_json: bool = False
) -> None:
    """Hands in, or only shows what would be handed in; both are logged before."""
    given = read_answers(answers)
    asked = [task.task_id for task in api.questions().tasks]
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
    if as_json:
        form = {"ok": True, "sent": send, "payload": submission, "unanswered": unanswered}
        print_json({**form, "log": PAYLOAD_LOG, "result": asdict(result) if result else None})
        return
    if unanswered:
        print_note(f"{len(unanswered)} questions have no answer and count as wrong: {', '.join(unanswered)}")
    if result is None:
        print_rows([(one["task_id"], one_line(one["submitted_answer"], 200)) for one in submission["answers"]])
        print_note(f"Nothing was sent; it is kept in {PAYLOAD_LOG}. Hand in with the same command and --submit.")
        return
    print_text(f"{result.score:g} % ({result.correct_count} correct, {result.total_attempted} answered)")
    if result.message:
        print_note(result.message)


def _api(address: str | None) -> CourseApi:
    return CourseApi(address or COURSE_URL)


def _tell_problems(dataset: Dataset) -> None:
    for problem in dataset.problems:
        print_note(f"{dataset.origin}: {problem}")


def _write_questions(path: Path, dataset: Dataset) -> None:
    """Writes a question file, unless another one is in its place."""
    text = "".join(f"{json.dumps(_record(task))}\n" for task in dataset.tasks)
    if path.is_file() and path.read_bytes() != text.encode():
        raise UsageError(f"{path} is there already and holds other questions.", remedy="Name another --output.")
    write_file(path, text)


def _put_files(dataset: Dataset, folder: Path, address: str | None) -> dict[str, dict[str, Any]]:
    """Copies the files into a folder; a missing one is reported."""
    import shutil

    from agent.errors import StorageError
    from agent.gaia.attachments import usual_attachments
    from agent.gaia.course import plain_name
    from agent.store.user_files import whole_file

    looking, found = usual_attachments(options.settings(), course=_api(address)), {}
    try:
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
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror}.", remedy="Name another folder.") from None
    there = sum(entry["file_status"] == "found" for entry in found.values())
    print_note(f"{there} file{'' if there == 1 else 's'} in {folder}.")
    return found


def _record(task: Task) -> dict[str, Any]:
    return {"task_id": task.task_id, "question": task.question, "level": task.level, "file_name": task.file_name}
