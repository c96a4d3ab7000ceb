"""Answers of finished runs by question, files and configuration: a question repeated within a day costs nothing.

An answer also rests on tools. What each of them was is kept with it; once one is another, the answer no longer counts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from agent import alita_version
from agent.answer import Answer
from agent.errors import StorageError
from agent.store.runs import InputFile
from agent.store.signature import Signer
from agent.user_files import writing
from mcp_tools.atomic import private, private_folder, write_whole
from mcp_tools.create.question_template import form_of
from mcp_tools.small_files import RECORD, json_of, read_small
from mcp_tools.tool import Json

SECONDS_KEPT = 24 * 3600.0
"""How long an answer stands: what was right yesterday, of prices, news or days until a date, need not be so today."""


States = Callable[[Iterable[str]], dict[str, str]]
"""What the tools of these names are now: a text for each, which is another one when the tool is."""


class CachedAnswer(NamedTuple):
    """An answer in the cache."""

    question: str
    """Empty in files of earlier versions."""
    answer: Answer
    at: float
    size: int

    @property
    def counts(self) -> bool:
        """Whether it is still given."""
        return 0 <= time.time() - self.at < SECONDS_KEPT


class _Kept:
    """Small files, each named after its key. A damaged or unwritable folder is an empty one."""

    suffix: str

    def __init__(self, folder: Path, signer: Signer | None = None) -> None:
        self._folder = folder
        self._signer = signer

    def clear(self, *, older: float = 0.0) -> int:
        """Removes what was kept so many seconds ago, and tells how many that were.

        Raises:
            StorageError: Something cannot be removed.
        """
        removed, before = 0, time.time() - older
        for path in self._folder.glob(f"*{self.suffix}"):
            with writing(path.parent), contextlib.suppress(FileNotFoundError):  # somebody else removed it
                if path.stat().st_mtime <= before:
                    path.unlink()
                    removed += 1
        return removed

    def _place(self, key: str) -> Path:
        name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._folder / f"{name}{self.suffix}"

    def _kept(self, path: Path) -> dict[str, Json]:
        """What was kept in a file.

        Raises:
            OSError, ValueError: It cannot be read, or was not written here.
        """
        found = json_of(read_small(path, RECORD))
        if not isinstance(found, dict) or (self._signer and not self._signer.holds(path.name, found)):
            raise ValueError("it was not written here")
        return found

    def _keep(self, key: str, record: dict[str, Json]) -> None:
        path = self._place(key)
        with contextlib.suppress(OSError, ValueError, StorageError):
            private_folder(self._folder)
            signed = self._signer.signed(path.name, record) if self._signer else record
            write_whole(path, json.dumps(signed).encode())


class AnswerCache(_Kept):
    """The answer to each question."""

    suffix = ".json"

    def get(
        self, question: str, files: Sequence[InputFile], configuration: dict[str, str], states: States
    ) -> Answer | None:
        """The answer given before to the same question with the same files, configuration and tools."""
        path = self._place(_key(question, files, configuration))
        try:
            if not 0 <= time.time() - path.stat().st_mtime < SECONDS_KEPT:
                path.unlink()
                return None
            kept = self._kept(path)
            return Answer.from_json(kept["answer"]) if states(kept["tools"]) == kept["tools"] else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(
        self,
        question: str,
        files: Sequence[InputFile],
        configuration: dict[str, str],
        answer: Answer,
        tools: dict[str, str],
    ) -> None:
        """Keeps an answer with the states of the tools it rests on, whole or not at all."""
        kept = {"question": question, "answer": answer.as_json(), "tools": tools}
        self._keep(_key(question, files, configuration), kept)

    def all(self) -> list[CachedAnswer]:
        """Every answer, the newest first; what cannot be read is left out."""
        found = []
        for path in self._folder.glob(f"*{self.suffix}"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                kept, stat = self._kept(path), path.stat()
                answer = Answer.from_json(kept["answer"])
                found.append(CachedAnswer(kept.get("question", ""), answer, stat.st_mtime, stat.st_size))
        return sorted(found, key=lambda one: one.at, reverse=True)


def _key(question: str, files: Sequence[InputFile], configuration: dict[str, str]) -> str:
    key = [alita_version(), question, [file.sha256 or file.path for file in files], configuration]
    return json.dumps(key, sort_keys=True)


def note_hit(path: Path) -> None:
    """Writes down, as a line of ten digits, that a question was answered from the cache."""
    with contextlib.suppress(OSError):
        private_folder(path.parent)
        with open(path, "ab", opener=private) as file:
            file.write(b"%d\n" % time.time())


def hits_since(path: Path, since: float) -> int:
    """How often that happened from a time on, in seconds since 1970."""
    try:
        lines = read_small(path, RECORD).split()
    except OSError:
        return 0
    return sum(line.isdigit() and int(line) >= since for line in lines)


_LONGEST = 8_000


class AnsweredPrograms(_Kept):
    """The program that answered each form of question."""

    suffix = ".json"

    def get(self, question: str) -> str:
        """The program that answered the same question, maybe with other values; empty where there is none."""
        try:
            return str(self._kept(self._place(form_of(question).text))["program"])
        except (OSError, ValueError, KeyError):
            return ""

    def put(self, question: str, program: str) -> None:
        """Keeps the program, whole or not at all."""
        if len(program) <= _LONGEST:
            self._keep(form_of(question).text, {"program": program})
