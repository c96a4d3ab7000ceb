"""What is made from a ledger: the results as JSON, the leaderboard's file, and what is handed in to the course."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.answering.final_answer import final_answer
from agent.errors import StorageError, SubmissionError
from agent.gaia.attempt import Attempt, Dataset, Task
from agent.gaia.ledger import Fingerprint
from agent.gaia.progress import Count
from agent.store.user_files import write_file
from mcp_tools.atomic import private
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_ERRORS = re.compile(
    r"[\s\[(<*]*(?:error\b(?:\s*(?:[]:!(>*]|$)|\s+[-–]\s)|(?:agent|unknown|internal) error\b"
    r"|traceback \(most recent call last\)|(?-i:(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\s*:))",
    re.IGNORECASE,
)
"""What programs write where an answer should stand."""
_REMEDY = "Answer them too: the same command with --resume runs what is left."


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """The answer to one question."""

    task_id: str
    model_answer: str
    reasoning_trace: str = ""
    """How it was found; left out of the file when empty."""


def write_submission(
    path: Path, rows: Iterable[SubmissionRow], dataset: Dataset, *, incomplete: bool = False
) -> tuple[str, ...]:
    """Writes the leaderboard's file in the order of the questions, whole or not at all.

    Args:
        path: Where.
        rows: One answer for each question.
        dataset: The questions of the split that is handed in.
        incomplete: Whether questions may be left out; the leaderboard counts them as wrong.

    Returns:
        Ids of the questions that were left out.

    Raises:
        SubmissionError: An answer is missing, doubled, of another split, empty or an error.
        StorageError: The file cannot be written; what stood there before stands there still.
    """
    answers: dict[str, SubmissionRow] = {}
    asked = {task.task_id for task in dataset.tasks}
    for row in rows:
        if row.task_id in answers:
            raise SubmissionError(f"There are two answers to {row.task_id}.", remedy="Hand in one epoch of a run.")
        if row.task_id not in asked:
            raise SubmissionError(
                f"{row.task_id} is no question of {dataset.origin}.", remedy="Hand in the split that the run answered."
            )
        require_answer(row.task_id, row.model_answer)
        answers[row.task_id] = row
    missing = tuple(task.task_id for task in dataset.tasks if task.task_id not in answers)
    if missing and not incomplete:
        told = one_line(", ".join(missing[:5]) + (", …" if len(missing) > 5 else ""), 300)
        raise SubmissionError(f"{len(missing)} of {len(asked)} questions have no answer: {told}.", remedy=_REMEDY)
    lines = (_line(answers[task.task_id]) for task in dataset.tasks if task.task_id in answers)
    write_file(path, "".join(f"{line}\n" for line in lines))
    return missing


def require_answer(task_id: str, text: str) -> str:
    """The answer, if it is one.

    Raises:
        SubmissionError: It is empty, or the text of an error.
    """
    if not text.strip():
        raise SubmissionError(f"The answer to {task_id} is empty.", remedy="Leave it out, or run the question again.")
    if _ERRORS.match(text):
        raise SubmissionError(
            f"The answer to {task_id} is no answer: {one_line(text, 100)!r}.",
            remedy="Leave it out, or run the question again.",
        )
    return text.strip()


def _line(row: SubmissionRow) -> str:
    written = {"task_id": row.task_id, "model_answer": row.model_answer.strip()}
    if row.reasoning_trace:
        written["reasoning_trace"] = row.reasoning_trace
    return json.dumps({name: text.encode("utf-8", "replace").decode() for name, text in written.items()})


SCHEMA = 1
"""Of the results: members are added within it, never changed or removed."""


def results_of(
    dataset: Dataset, fingerprint: Fingerprint, selected: Sequence[Task], attempts: Sequence[Attempt], *, epochs: int
) -> dict[str, Json]:
    """The results as JSON: no question and no true answer is in them.

    Args:
        dataset: Where the questions came from.
        fingerprint: Of questions and configuration.
        selected: Every question that counts, answered or not.
        attempts: What counts for each question and epoch.
        epochs: How often each question was to be asked.
    """
    count, cells = Count(), len(selected) * epochs
    for attempt in attempts:
        count.add(attempt)
    answers = sum(attempt.correct is not None for attempt in attempts)
    return {
        "schema": SCHEMA,
        "questions": dataset.origin,
        "fingerprint": fingerprint.digest,
        "configuration": fingerprint.configuration,
        "selected": len(selected),
        "epochs": epochs,
        "attempted": count.done,
        "right": count.right,
        "wrong": count.wrong,
        "errors": count.errors,
        "interrupted": count.interrupted,
        "accuracy": count.right / cells if cells and answers else None,
        "tokens": count.tokens,
        "cost": count.cost,
        "seconds": round(sum(attempt.seconds for attempt in attempts), 3),
        "results": [attempt.as_json() for attempt in attempts],
    }


def write_results(path: Path, results: dict[str, Json]) -> None:
    """Writes the results, whole or not at all.

    Raises:
        StorageError: The file cannot be written.
    """
    write_file(path, json.dumps(results, ensure_ascii=False, indent=1) + "\n")


def write_answers(path: Path, dataset: Dataset, attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Writes the leaderboard's file with the answers of the first epoch.

    Returns:
        Ids of the questions that have no answer and are left out, which the leaderboard counts as wrong.

    Raises:
        StorageError: The file cannot be written.
    """
    rows = [SubmissionRow(a.task_id, a.answer) for a in attempts if a.epoch == 1 and _is_answer(a)]
    return write_submission(path, rows, dataset, incomplete=True)


def _is_answer(attempt: Attempt) -> bool:
    """Whether it may be handed in: an error never is."""
    if attempt.status not in {"ok", "limit"}:
        return False
    try:
        require_answer(attempt.task_id, attempt.answer)
    except SubmissionError:
        return False
    return True


SHORTEST_CODE_URL = 10
"""Characters that the server asks for."""
ANSWERED = frozenset({"ok", "limit", "missing-file"})
"""Statuses of an attempt that came to an answer."""
_FORM = '{"task_id": "…", "model_answer": "…"}'
PAYLOAD_LOG = "submission_payload.log"


@dataclass(frozen=True, slots=True)
class Submission:
    """Answers of one person, ready to be sent."""

    username: str
    agent_code: str
    """Where the agent's code can be read: the address of its Space, `…/tree/main`."""
    answers: tuple[tuple[str, str], ...]
    """Task id and answer."""

    def as_json(self) -> dict[str, Json]:
        """The body of the request."""
        answers: list[Json] = [{"task_id": task_id, "submitted_answer": text} for task_id, text in self.answers]
        return {"username": self.username, "agent_code": self.agent_code, "answers": answers}


def submission_of(
    username: str, agent_code: str, answers: Iterable[tuple[str, str]], asked: Iterable[str]
) -> Submission:
    """Checks what is to be handed in. The server scores a question without an answer as wrong.

    Args:
        username: Of the Hugging Face hub.
        agent_code: Address of the agent's code.
        answers: Task id and answer; what stands before `FINAL ANSWER:` is left out, for the server wants none.
        asked: Ids of the questions.

    Raises:
        SubmissionError: A name or an address is missing, or an answer is doubled, unknown, empty or an error.
    """
    username, agent_code = username.strip(), agent_code.strip()
    require_person(username, agent_code)
    known, given = set(asked), dict[str, str]()
    for task_id, text in answers:
        if task_id in given:
            raise SubmissionError(f"There are two answers to {task_id}.", remedy="Leave one of them out.")
        if task_id not in known:
            raise SubmissionError(f"The course does not ask {task_id}.", remedy="`alita course questions` lists them.")
        given[task_id] = require_answer(task_id, final_answer(text))
    if not given:
        raise SubmissionError("There is no answer to hand in.", remedy="Answer the questions: alita course run")
    return Submission(username, agent_code, tuple(given.items()))


def require_person(username: str, agent_code: str) -> None:
    """Checks who hands in.

    Raises:
        SubmissionError: The name or the address of the code is missing.
    """
    if not username.strip():
        raise SubmissionError("A user name of the hub is missing.", remedy="Name yours: --username NAME")
    code = agent_code.strip()
    if len(code) < SHORTEST_CODE_URL or not code.startswith(("https://", "http://")):
        raise SubmissionError(
            f"{code!r} is no address of the agent's code.",
            remedy="Name your Space: --agent-code https://huggingface.co/spaces/NAME/SPACE/tree/main",
        )


def read_answers(path: Path) -> dict[str, str]:
    """Answers by task id from a benchmark's ledger or a leaderboard file.

    Of a ledger it is what the first epoch came to, under the configuration of its newest attempt: answers of several
    configurations are nobody's result.

    Raises:
        SubmissionError: It cannot be read, or a line of it is neither.
    """
    answers: dict[str, str] = {}
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise SubmissionError(
            f"The answers {path} cannot be read: {error.strerror}.", remedy="Name a ledger: alita course run makes one."
        ) from None
    if b'"header"' in lines[0]:
        lines.pop()  # what follows the last line feed of a ledger is a torn line
    fingerprint = _newest_fingerprint(lines)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = _answer_of(line, fingerprint)
        if found is None:
            raise SubmissionError(
                f"Line {number} of {path} holds no answer.", remedy=f"Each line is like {_FORM}; or name a ledger."
            )
        task_id, answer = found
        if answer:
            answers[task_id] = answer
        else:
            answers.pop(task_id, None)
    return answers


def _newest_fingerprint(lines: Sequence[bytes]) -> str:
    """That of a ledger's last attempt; empty where nothing has one."""
    records = (_record_of(line) for line in reversed(lines))
    return next((str(r.get("fingerprint", "")) for r in records if r and r.get("kind") == "attempt"), "")


def _record_of(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _answer_of(line: bytes, fingerprint: str) -> tuple[str, str] | None:
    """Task id and answer of one line, the answer empty where there is none; None if the line is something else."""
    record = _record_of(line)
    if record is None:
        return None
    if record.get("kind") not in (None, "attempt") or record.get("epoch", 1) != 1:
        return "", ""
    if record.get("kind") and str(record.get("fingerprint", "")) != fingerprint:
        return "", ""
    if record.get("kind") and record.get("status") not in ANSWERED:
        return str(record.get("task_id", "")), ""
    text = next((record[name] for name in ("answer", "model_answer", "submitted_answer") if name in record), None)
    task_id = record.get("task_id")
    return (task_id, text) if isinstance(task_id, str) and task_id and isinstance(text, str) else None


def log_payload(path: Path, url: str, submission: Submission, *, sent: bool) -> None:
    """Adds what is (or, in a dry run, would be) sent, before it is sent.

    Raises:
        StorageError: The log cannot be written.
    """
    _log(path, {"url": url, "sent": sent, "payload": submission.as_json()})


def log_outcome(path: Path, outcome: Mapping[str, Json]) -> None:
    """Adds what came of it.

    Raises:
        StorageError: The log cannot be written.
    """
    _log(path, {"outcome": dict(outcome)})


def _log(path: Path, entry: dict[str, Json]) -> None:
    line = json.dumps({"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **entry}) + "\n"
    try:
        with open(path, "a", encoding="utf-8", opener=private) as log:
            log.write(line)
            log.flush()
            os.fsync(log.fileno())
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}.", remedy="Work in a folder that can be written."
        ) from error
