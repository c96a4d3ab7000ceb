"""Files generated from a ledger: the JSON results, the leaderboard's file, and the course's submission."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from agent.answering.final_answer import final_answer
from agent.errors import RunError, StorageError, SubmissionError
from agent.gaia.attempt import Attempt, Dataset, Task
from agent.gaia.ledger import Fingerprint, is_ledger, read_ledger
from agent.gaia.report.figures import counted, group_of
from agent.records import json_lines
from agent.store.jsonl_log import AppendedLines
from agent.store.redact import Redactor
from agent.traces.trace import TraceStep, trace_of
from agent.user_files import write_file
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_ERRORS = re.compile(
    r"[\s\[(<*]*(?:error\b(?:\s*(?:[]:!(>*]|$)|\s+[-–]\s)|(?:agent|unknown|internal) error\b"
    r"|traceback \(most recent call last\)|(?-i:(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\s*:))",
    re.IGNORECASE,
)
_ENDED = {"ok", "limit", "missing-file"}
"""Statuses of attempts that may have an answer."""
RESULTS_SCHEMA = 1
"""Version of the results file. Within a version, members are only added."""
_TRACED = 300
"""Maximum characters of each input and each finding in a `reasoning_trace`."""
PAYLOAD_LOG = "submission_payload.log"
_FORM = '{"task_id": "…", "model_answer": "…"}'


def results_of(
    dataset: Dataset,
    fingerprint: Fingerprint,
    selected: Sequence[Task],
    attempts: Sequence[Attempt],
    *,
    epochs: int,
    wall: float | None = None,
) -> dict[str, Json]:
    """Return the results as JSON, without questions or reference answers. All selected questions count.

    `seconds` is the sum over attempts, which may run in parallel. `wall_seconds` is the duration of the last command.
    """
    is_scored = any(attempt.correct is not None for attempt in attempts)
    group = group_of("all", counted(attempts, selected, epochs), is_scored=is_scored)
    return {
        "schema": RESULTS_SCHEMA,
        "questions": dataset.origin,
        "fingerprint": fingerprint.digest,
        "configuration": fingerprint.configuration,
        "selected": len(selected),
        "epochs": epochs,
        "attempted": group.attempted,
        "answered": sum(bool(attempt.answer) for attempt in attempts),
        "scored": sum(attempt.correct is not None for attempt in attempts),
        "right": group.right if is_scored else None,
        "wrong": group.wrong if is_scored else None,
        "errors": group.errors,
        "interrupted": group.interrupted,
        "accuracy": group.accuracy,
        "tokens": group.effort.input_tokens + group.effort.output_tokens,
        "cost": group.effort.cost,
        "seconds": round(group.effort.seconds, 3),
        "wall_seconds": None if wall is None else round(wall, 3),
        "results": [attempt.as_json() for attempt in attempts],
    }


class Steps:
    """Reads the steps of attempts from their journals, with keys removed."""

    def __init__(self, runs: Path, redactor: Redactor) -> None:
        self._runs = runs
        self._redactor = redactor

    def of(self, attempt: Attempt) -> list[TraceStep]:
        """Return the actions before the answer, or an empty list if the run's folder is missing."""
        if not attempt.run_id:
            return []
        try:
            steps = trace_of(self._runs, attempt.run_id).steps
        except RunError:
            return []
        return [
            self._redactor.values(replace(step, calls=(), input=step.input.removeprefix(f"{step.action} ")))
            for step in steps
            if step.number and step.action not in {"", "answer"}
        ]

    def in_words(self, attempt: Attempt) -> str:
        """Return one line of text for each action, for a leaderboard file."""
        return "\n".join(
            f"{number}. {step.action}: {one_line(step.input, _TRACED)} → {one_line(step.found, _TRACED)}"
            for number, step in enumerate(self.of(attempt), 1)
        )


def write_details(path: Path, dataset: Dataset, attempts: Iterable[Attempt], steps: Steps) -> None:
    """Write one line with all details for each attempt. No other output file contains reference answers.

    Raises:
        StorageError: The file cannot be written; the old file is unchanged.
    """
    places = {task.task_id: (number, task) for number, task in enumerate(dataset.tasks)}
    lines = []
    for attempt in sorted(attempts, key=lambda one: (places[one.task_id][0], one.epoch)):
        task = places[attempt.task_id][1]
        line: dict[str, Json] = {
            "task_id": task.task_id,
            "epoch": attempt.epoch,
            "level": task.level,
            "question": task.question,
            "file_name": task.file_name,
            "model_answer": attempt.answer,
            "expected_answer": dataset.truths.get(task.task_id),
            "is_correct": attempt.correct,
            "status": attempt.status,
            "error": attempt.error,
            "full_response": attempt.raw_answer,
            "steps": [
                {"action": step.action, "input": step.input, "finding": step.found} for step in steps.of(attempt)
            ],
            "run_id": attempt.run_id,
        }
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    write_file(path, "".join(lines))


class Taken(NamedTuple):
    """The contents of a submission file."""

    answers: dict[str, str]
    problems: tuple[str, ...]
    has_traces: bool


def read_submission(path: Path, dataset: Dataset) -> Taken:
    """Read the answers from a leaderboard file. Invalid answers are reported.

    Raises:
        StorageError: The file cannot be read.
    """
    with os_errors_as(StorageError, f"{path} cannot be read"):
        lines = [*json_lines(read_small(path, JOURNAL))]
    known, answers, problems, has_traces = {t.task_id for t in dataset.tasks}, dict[str, str](), list[str](), False
    for number, found in lines:
        record = {} if isinstance(found, str) else found
        task_id, answer = record.get("task_id"), record.get("model_answer")
        has_traces |= bool(record.get("reasoning_trace"))
        if not isinstance(task_id, str) or not isinstance(answer, str | int | float):
            problem = f"does not have the form {_FORM}"
        elif task_id not in known:
            problem = f"answers {one_line(task_id, 80)!r}, which is not a known question"
        elif task_id in answers:
            problem = f"answers {task_id!r} a second time; the first answer is kept"
        elif not _is_answer(str(answer)):
            problem = f"has no valid answer to {task_id!r}: {one_line(str(answer), 80)!r}"
        else:
            answers[task_id] = str(answer).strip()
            continue
        problems.append(f"Line {number} of {path} {problem}.")
    return Taken(answers, tuple(problems), has_traces)


def write_answers(
    path: Path, dataset: Dataset, attempts: Sequence[Attempt], trace: Callable[[Attempt], str] | None = None
) -> tuple[str, ...]:
    """Write the leaderboard's file: answers of the first epoch, in the order of the questions, without errors.

    Returns:
        Ids of unanswered questions. They are omitted from the file, and the leaderboard counts them as wrong.

    Raises:
        StorageError: The file cannot be written; the old file is unchanged.
    """
    first = {a.task_id: a for a in attempts if a.epoch == 1 and a.status in _ENDED and _is_answer(a.answer)}
    lines = []
    for attempt in (first[task.task_id] for task in dataset.tasks if task.task_id in first):
        line = {"task_id": attempt.task_id, "model_answer": attempt.answer.strip()}
        if trace and (text := trace(attempt)):
            line["reasoning_trace"] = text
        lines.append(json.dumps({name: text.encode("utf-8", "replace").decode() for name, text in line.items()}))
    write_file(path, "".join(f"{line}\n" for line in lines))
    return tuple(task.task_id for task in dataset.tasks if task.task_id not in first)


def _is_answer(text: str) -> bool:
    """Return False for an empty text or an error message."""
    return bool(text.strip()) and not _ERRORS.match(text)


def submission_of(username: str, agent_code: str, answers: Mapping[str, str], asked: Iterable[str]) -> dict[str, Json]:
    """Return a submission in the server's format. The server counts a missing answer as wrong.

    Text before `FINAL ANSWER:` is removed, since the server expects the bare answer.

    Raises:
        SubmissionError: The name or address is missing, or an answer is unknown, empty or an error message.
    """
    require_person(username, agent_code)
    known, given = set(asked), list[Json]()
    for task_id, text in answers.items():
        if task_id not in known:
            raise SubmissionError(
                f"The course has no question {task_id}.", remedy="`alita course questions` lists the questions."
            )
        answer = final_answer(text)
        if not _is_answer(answer):
            problem = f"not valid: {one_line(answer, 100)!r}" if answer else "empty"
            raise SubmissionError(
                f"The answer to {task_id} is {problem}.", remedy="Remove the answer, or run the question again."
            )
        given.append({"task_id": task_id, "submitted_answer": answer})
    if not given:
        raise SubmissionError("There are no answers to submit.", remedy="Answer the questions first: alita course run")
    return {"username": username.strip(), "agent_code": agent_code.strip(), "answers": given}


def require_person(username: str, agent_code: str) -> None:
    """Check the submitter's profile.

    Raises:
        SubmissionError: The name or the address of the code is missing.
    """
    if not username.strip():
        raise SubmissionError("The Hugging Face user name is missing.", remedy="Add --username NAME")
    code = agent_code.strip()
    if len(code) < 10 or not code.startswith(("https://", "http://")):  # the server requires at least ten characters
        raise SubmissionError(
            f"--agent-code {code!r} is not a URL.",
            remedy="Give the URL of your Space: --agent-code https://huggingface.co/spaces/NAME/SPACE/tree/main",
        )


def read_answers(path: Path, dataset: Dataset) -> dict[str, str]:
    """Read answers by task id from a leaderboard file or from the first epoch of a ledger.

    Raises:
        SubmissionError: A line is invalid or does not belong to any question.
        RunError, StorageError: The file cannot be read.
    """
    if not is_ledger(path):
        taken = read_submission(path, dataset)
        if taken.problems:
            raise SubmissionError(
                taken.problems[0], remedy=f"Each line must have the form {_FORM}. You can also use a ledger."
            )
        return taken.answers
    records = read_ledger(path)
    if records.problems:
        raise SubmissionError(f"The ledger {path} contains an invalid line: {records.problems[0]}.")
    last = {a.task_id: a for a in records.attempts if a.epoch == 1}
    return {task_id: a.answer for task_id, a in last.items() if a.status in _ENDED and a.answer}


def log_submission(path: Path, **entry: Json) -> None:
    """Log a submission before it is sent, or its result. A dry run is logged too.

    Raises:
        StorageError: The log cannot be written.
        RunError: Another process is writing to the log.
    """
    log = AppendedLines.open(path)
    try:
        log.append([{"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **entry}], synced=True)
    finally:
        log.close()
