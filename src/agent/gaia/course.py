"""Client of the Agents Course's scoring server (unit 4): questions, files and submissions."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from agent.errors import CourseError
from agent.gaia.attempt import Dataset, from_line
from agent.gaia.dataset import dataset_from
from agent.user_files import whole_file
from mcp_tools.network import network_client
from mcp_tools.text import one_line, printable
from mcp_tools.tool import Json

if TYPE_CHECKING:
    import httpx2

COURSE_URL = "https://agents-course-unit4-scoring.hf.space"
WAITS = (1.0, 4.0)
"""Seconds before each retry of a download."""
_SECONDS = 60.0
_LONGEST_NAME = 200
_BUSY = frozenset({429, 502, 503, 504})
_ASLEEP = "The server sleeps when it is not used. Try again in a minute."


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """The server's reply to a submission."""

    username: str
    score: float
    """Percentage of all questions, not only of answered ones."""
    correct_count: int
    total_attempted: int
    message: str = ""
    timestamp: str = ""


class CourseApi:
    """The course's server. Methods raise `CourseError` if the server fails or its reply is invalid."""

    def __init__(self, base: str = COURSE_URL, *, waits: Sequence[float] = WAITS) -> None:
        if urlsplit(base).scheme not in {"http", "https"} or not urlsplit(base).hostname:
            raise CourseError(
                f"{base!r} is not a valid URL for the course server.", remedy=f"The usual URL is {COURSE_URL}."
            )
        self.base = base.rstrip("/")
        self._waits = tuple(waits)

    def questions(self) -> Dataset:
        """Download all questions. The server does not publish the reference answers."""
        found = self._json("GET", "/questions")
        if not isinstance(found, list):
            raise self._strange("/questions", "a response that is not a list")
        records = (record if isinstance(record, dict) else "it is not a JSON object" for record in found)
        dataset = dataset_from(((f"question {n}", record) for n, record in enumerate(records, 1)), self.base)
        if not dataset.tasks:
            raise self._strange("/questions", "no questions")
        return dataset

    def fetch_file(self, task_id: str, target: Path) -> None:
        """Download a question's file, completely or not at all.

        Raises:
            CourseError: The server does not provide the file.
            OSError, StorageError: The folder cannot be created or written.
        """
        if not task_id.strip("."):  # the id would change the URL's path
            raise CourseError(
                f"The file of {task_id!r} cannot be requested from the course, because the id is not valid in a URL."
            )
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        response = self._asked("GET", f"/files/{quote(task_id, safe='', errors='replace')}")
        with whole_file(target) as out:
            out.write(response.content)

    def submit(self, submission: dict[str, Json]) -> SubmissionResult:
        """Submit answers once, without retries."""
        reply = self._json("POST", "/submit", json=submission)
        try:
            return from_line(SubmissionResult, reply)
        except ValueError:
            raise self._strange("/submit", "a response without a score") from None

    def _json(self, method: str, path: str, **more: Any) -> Any:
        try:
            return self._asked(method, path, **more).json()
        except (ValueError, RecursionError):
            raise self._strange(path, "a response that is not JSON") from None

    def _asked(self, method: str, path: str, **more: Any) -> httpx2.Response:
        """Send a request and return a successful response. Downloads are retried while the server is busy or asleep."""
        import httpx2

        for wait in (*(self._waits if method == "GET" else ()), None):
            try:
                with network_client(httpx2.Client, timeout=httpx2.Timeout(_SECONDS, connect=10.0)) as client:
                    response = client.request(method, f"{self.base}{path}", **more)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise CourseError(
                    f"{self.base}{path} cannot be reached: {one_line(str(error) or type(error).__name__)}.",
                    remedy=f"Check the network. {_ASLEEP}",
                ) from None
            if response.is_success:
                return response
            if wait is None or response.status_code not in _BUSY:
                break
            time.sleep(wait)
        raise self._refused(response, path)

    def _refused(self, response: httpx2.Response, path: str) -> CourseError:
        """Return an error with the server's explanation, if it sent one as `{"detail": …}`."""
        status = response.status_code
        try:
            reply = response.json()
        except (ValueError, RecursionError):
            reply = None
        detail = (
            f": {one_line(str(reply['detail']), 300).rstrip('.')}"
            if isinstance(reply, dict) and "detail" in reply
            else ""
        )
        remedy = _ASLEEP if status in _BUSY or status >= 500 else "`alita course --help` shows what is sent."
        if path.startswith("/files/") and status in (403, 404):
            remedy = "The gated dataset contains this file. Accept its terms, and export HF_TOKEN."
        return CourseError(f"{self.base}{path} returned status {status}{detail}.", remedy=remedy)

    def _strange(self, path: str, what: str) -> CourseError:
        return CourseError(f"{self.base}{path} returned {what}.", remedy=_ASLEEP)


def plain_name(name: str) -> str:
    """Return the last part of an untrusted file name; an empty string if no safe name is left."""
    last = re.split(r"[/\\]", printable(name))[-1].strip().encode("utf-8", "replace")[-_LONGEST_NAME:]
    plain = last.decode("utf-8", "ignore")
    return "" if plain.strip(". ") == "" else plain
