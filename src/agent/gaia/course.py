"""A client of the Agents Course's scoring server (unit 4): its questions, their files, and handing in answers."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, urlsplit

from agent.errors import CourseError, StorageError
from agent.gaia.attempt import Dataset, Task
from agent.gaia.dataset import Row, dataset_from
from agent.gaia.outputs import Submission
from agent.store.user_files import whole_file
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    import httpx2

Taken = TypeVar("Taken")

COURSE_URL = "https://agents-course-unit4-scoring.hf.space"
WAITS = (1.0, 4.0)
"""Seconds before a question or a file is asked for again."""
LARGEST_FILE = 512 * 2**20
_LARGEST_JSON = 16 * 2**20
_SECONDS = 60.0
_LONGEST_NAME = 200
_PLAIN_FORM = re.compile(r';\s*filename=("[^"]*"|[^;]*)', re.IGNORECASE)
_BUSY = frozenset({429, 502, 503, 504})
_ASLEEP = "The server sleeps when nobody uses it: try again in a minute."


class Refusal(CourseError):
    """The server answered with an error.

    Args:
        status: Of HTTP.
        message: What happened, with what the server said about it.
        remedy: What to do next.
    """

    def __init__(self, status: int, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


class Result(NamedTuple):
    """What the server made of a submission."""

    username: str
    score: float
    """Percent of all questions, not of those that were answered."""
    correct_count: int
    total_attempted: int
    message: str
    timestamp: str


class CourseApi:
    """The server, with one connection for each request.

    Args:
        base: Its address.
        waits: Seconds before what was only asked for is asked again, when the server is busy or asleep.
    """

    def __init__(self, base: str = COURSE_URL, *, waits: Sequence[float] = WAITS) -> None:
        if urlsplit(base).scheme not in {"http", "https"} or not urlsplit(base).hostname:
            raise CourseError(f"The course's address cannot be {base!r}.", remedy=f"The usual one is {COURSE_URL}.")
        self.base = base.rstrip("/")
        self._waits = tuple(waits)

    def questions(self) -> Dataset:
        """All questions; the server keeps the true answers to itself.

        Raises:
            CourseError: It refused, failed or cannot be reached, or holds no question that can be used.
        """
        found = self._json("/questions")
        if not isinstance(found, list):
            raise self._strange("/questions", "no list")
        dataset = dataset_from(self._rows(found), self.base)
        if not dataset.tasks:
            raise self._strange("/questions", "no question")
        return dataset

    def random_question(self) -> Task:
        """One of the questions.

        Raises:
            CourseError: It refused, failed or cannot be reached.
        """
        dataset = dataset_from(self._rows([self._json("/random-question")]), self.base)
        if not dataset.tasks:
            raise self._strange("/random-question", "no question")
        return dataset.tasks[0]

    def fetch_file(self, task_id: str, folder: Path, name: str = "") -> Path:
        """Writes a question's file into a folder, whole or not at all.

        Args:
            task_id: Of the question.
            folder: It is made when it is not there.
            name: Of the file; what the server calls it when not given, always without any folder.

        Raises:
            CourseError: It refused, failed or cannot be reached, or the file is too large.
            StorageError: The folder cannot be written.
        """
        if not task_id.strip("."):  # it would be a step in the address
            raise Refusal(400, f"The course cannot be asked for the file of {task_id!r}.")

        def save(response: httpx2.Response) -> Path:
            target = folder / (plain_name(name) or _name_of(response.headers) or "file")
            with whole_file(target) as out:
                for block in _blocks(response, LARGEST_FILE):
                    out.write(block)
            return target

        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{folder} cannot be made: {error.strerror}.", remedy="Name another folder.") from error

        return self._asked(f"/files/{quote(task_id, safe='', errors='replace')}", save)

    def submit(self, submission: Submission) -> Result:
        """Hands answers in, once: what fails is not sent again by itself.

        Raises:
            CourseError: It refused, failed or cannot be reached, or its answer cannot be understood.
        """
        with self._open("POST", "/submit", json=submission.as_json()) as response:
            said = self._parsed(response, "/submit")
        try:
            return Result(
                str(said["username"]),
                float(said["score"]),
                int(said["correct_count"]),
                int(said["total_attempted"]),
                str(said.get("message", "")),
                str(said.get("timestamp", "")),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._strange("/submit", "no score") from None

    def _rows(self, records: list[Any]) -> Iterator[Row]:
        for number, record in enumerate(records, 1):
            place = f"question {number}"
            yield Row(place, record) if isinstance(record, dict) else Row(place, None, "it is no JSON object")

    def _json(self, path: str) -> Any:
        return self._asked(path, lambda response: self._parsed(response, path))

    def _asked(self, path: str, take: Callable[[httpx2.Response], Taken]) -> Taken:
        """Asks, and asks again while the server is busy or asleep."""
        for wait in (*self._waits, None):
            try:
                with self._open("GET", path) as response:
                    return take(response)
            except Refusal as refusal:
                if wait is None or refusal.status not in _BUSY:
                    raise
            time.sleep(wait)
        raise AssertionError("the last turn returns or raises")

    @contextmanager
    def _open(self, method: str, path: str, **more: Any) -> Iterator[httpx2.Response]:
        """A good answer whose body is still to be read."""
        import httpx2

        timeout = httpx2.Timeout(_SECONDS, connect=10.0)
        try:
            with (
                httpx2.Client(timeout=timeout) as client,
                client.stream(method, f"{self.base}{path}", **more) as response,
            ):
                if not response.is_success:
                    raise self._refused(response, path)
                yield response
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise CourseError(
                f"{self.base}{path} cannot be reached: {one_line(str(error) or type(error).__name__)}.",
                remedy=f"Check the network. {_ASLEEP}",
            ) from None

    def _parsed(self, response: httpx2.Response, path: str) -> Any:
        data = b"".join(_blocks(response, _LARGEST_JSON))
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise self._strange(path, "no JSON") from None

    def _refused(self, response: httpx2.Response, path: str) -> Refusal:
        said = _detail(response)
        message = f"{self.base}{path} answered {response.status_code}{f': {said}' if said else ''}."
        return Refusal(response.status_code, message, remedy=_remedy(response.status_code, path))

    def _strange(self, path: str, what: str) -> CourseError:
        return CourseError(f"{self.base}{path} gave {what}.", remedy=_ASLEEP)


def _remedy(status: int, path: str) -> str:
    if path.startswith("/files/") and status in (403, 404):
        return "The gated dataset has the file: accept its terms and export HF_TOKEN."
    return _ASLEEP if status in _BUSY or status >= 500 else "`alita course --help` shows what is sent."


def _blocks(response: httpx2.Response, most: int) -> Iterator[bytes]:
    """The body, up to so many bytes."""
    size = 0
    for block in response.iter_bytes():
        size += len(block)
        if size > most:
            raise CourseError(f"{response.url} gives more than {most // 2**20} MiB.", remedy="It is left out.")
        yield block


def _detail(response: httpx2.Response) -> str:
    """What the server says about an error: `{"detail": …}`; a web page says nothing."""
    try:
        said = json.loads(b"".join(_blocks(response, _LARGEST_JSON)))
    except (ValueError, RecursionError, CourseError):
        return ""
    return one_line(str(said["detail"]), 300).rstrip(".") if isinstance(said, dict) and "detail" in said else ""


def _name_of(headers: Mapping[str, str]) -> str:
    """The name in Content-Disposition, in either of its two forms."""
    told = headers.get("Content-Disposition", "")
    if "filename*" in told.lower():
        told = _PLAIN_FORM.sub("", told)
    message = Message()
    message["content-disposition"] = told
    try:
        return plain_name(message.get_filename() or "")
    except (ValueError, LookupError):
        return ""


def plain_name(name: str) -> str:
    """The last part of a file's name that somebody else chose; empty when nothing safe is left."""
    last = re.split(r"[/\\]", printable(name))[-1].strip()
    while len(last.encode("utf-8", "replace")) > _LONGEST_NAME:
        last = last[1:]
    return "" if last.strip(". ") == "" else last.encode("utf-8", "replace").decode()
