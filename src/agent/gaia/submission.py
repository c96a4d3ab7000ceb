"""What is handed in to the course: answers only, each once, and a log of every time."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.errors import StorageError, SubmissionError
from agent.gaia.answers import final_answer
from agent.gaia.leaderboard import require_answer
from mcp_tools.tool import Json

SHORTEST_CODE_URL = 10
"""Characters that the server asks for."""
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
    if not username:
        raise SubmissionError("A user name of the hub is missing.", remedy="Name yours: --username NAME")
    if len(agent_code) < SHORTEST_CODE_URL or not agent_code.startswith(("https://", "http://")):
        raise SubmissionError(
            f"{agent_code!r} is no address of the agent's code.",
            remedy="Name your Space: --agent-code https://huggingface.co/spaces/NAME/SPACE/tree/main",
        )
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
        with path.open("a", encoding="utf-8") as log:
            log.write(line)
            log.flush()
            os.fsync(log.fileno())
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}.", remedy="Work in a folder that can be written."
        ) from error
