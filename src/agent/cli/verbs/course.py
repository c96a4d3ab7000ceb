"""`alita course questions|run|submit`: the final assignment of the Agents Course."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from agent.cli import options
from agent.cli.options import opt
from agent.cli.output import Result, print_note
from agent.cli.verbs.gaia import Concurrency, MaxQuestions, Resume, Verbose, benchmark
from agent.gaia.course import COURSE_URL, CourseApi
from agent.gaia.outputs import PAYLOAD_LOG, require_person
from agent.gaia.submission import (
    course_run,
    fetch_questions,
    put_files,
    question_lines,
    send_submission,
    submission_from,
    task_record,
    write_questions,
)
from mcp_tools.text import one_line

app = options.App("The Agents Course: list, answer and submit its questions.")

Address = Annotated[str, opt("--course URL", "URL of the course server (default: the official one).")]
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
    dataset = fetch_questions(api, print_note)
    if output is not None:
        write_questions(output, question_lines(dataset))
        print_note(f"Wrote {output}. Answer them with: gaia-benchmark {output}")
    found = put_files(dataset, files, api, options.settings(), print_note) if files is not None else {}
    form = [{**task_record(task), **found.get(task.task_id, {})} for task in dataset.tasks]
    tasks, dash = dataset.tasks if output is None else (), "—"
    rows = [(t.task_id, str(t.level or dash), t.file_name or dash, one_line(t.question, 200)) for t in tasks]
    return Result(form, rows)


@app.command(settings=f"model base_url {options.LIMITS} no_isolation")
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
    **_: object,
) -> None:
    """Answers the questions as a benchmark. Limits apply to each question. With --submit, also submits."""
    if send:
        require_person(username, agent_code)
    choices, ledger = course_run(
        CourseApi(course),
        output,
        options.settings(),
        print_note,
        resume=resume,
        verbose=verbose,
        concurrency=concurrency,
        max_questions=max_questions,
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
    submission = submission_from(api, answers, username, agent_code)
    result = send_submission(api, submission, send=send)
    form = {
        "ok": True,
        "sent": send,
        "payload": submission.payload,
        "unanswered": [*submission.unanswered],
        "log": PAYLOAD_LOG,
    }
    form["result"] = asdict(result) if result else None
    rows, text, note = [], "", ""
    if result is None:
        rows = [(one["task_id"], one_line(one["submitted_answer"], 200)) for one in submission.payload["answers"]]
        note = f"Nothing was sent. The payload is in {PAYLOAD_LOG}. To submit it, add --submit to the same command."
    else:
        text = f"{result.score:g} % ({result.correct_count} correct, {result.total_attempted} answered)"
        note = result.message
    if submission.unanswered:
        note = f"{submission.lacking}\n{note}".rstrip()
    return Result(form, rows, text, note)
