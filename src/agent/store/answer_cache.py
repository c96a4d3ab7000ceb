"""The answer cache: repeating a question within a day is free if its files and the configuration are unchanged.

Each answer is stored with the state of the tools that it used. If one of these tools changes, the answer is discarded.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent import alita_version
from agent.answer import Answer
from agent.store.databases import Database, has_store, open_store, signer_of, storable
from agent.store.redact import Redactor
from agent.store.runs import InputFile
from agent.store.signature import Signer
from mcp_tools.library.question_template import template_of
from mcp_tools.small_files import RECORD, json_of, read_small
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

SECONDS_KEPT = 24 * 3600.0
"""Lifetime of a cached answer, in seconds. It is short because answers about prices or news go out of date."""


States = Callable[[Iterable[str]], dict[str, str]]
"""A function that maps tool names to their current states. A state is a string that changes when the tool changes."""


class CachedAnswer(NamedTuple):
    """A cached answer with its question and run."""

    question: str
    """Empty in records written by earlier versions."""
    answer: Answer
    at: float
    size: int

    @property
    def counts(self) -> bool:
        """True if the answer has not expired."""
        return 0 <= time.time() - self.at < SECONDS_KEPT


class _SignedRecords:
    """The signed records in one table of the store, by key."""

    table: str

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._signer = signer_of(settings)
        self._redactor = Redactor(settings.secrets)

    def clear(self, *, older: float = 0.0) -> int:
        """Remove records older than `older` seconds, and return how many were removed.

        Raises:
            StorageError: The store cannot be used.
        """
        values = {"before": time.time() - older}
        with self._store() as database, database.change():
            removed = database.rows(f"SELECT count(*) FROM {self.table} WHERE at <= :before", values)  # noqa: S608
            database.rows(f"DELETE FROM {self.table} WHERE at <= :before", values)  # noqa: S608
        return int(removed[0][0])

    @contextlib.contextmanager
    def _store(self) -> Iterator[Database]:
        """Open the store, and import the files of earlier versions."""
        folder = self._settings.cache_dir / self.table
        with open_store(self._settings) as database:
            for path in folder.glob("*.json"):
                with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                    record = json_of(read_small(path, RECORD))
                    if isinstance(record, dict) and Signer(self._settings.data_dir).holds(path.name, record):
                        self._insert(database, path.stem, path.stat().st_mtime, record)
                path.unlink(missing_ok=True)
            yield database

    def _record_of(self, key: str) -> tuple[dict[str, Json], float]:
        """Return the record with this key, and its time.

        Raises:
            LookupError: There is no record, or its signature is wrong.
            StorageError: The store cannot be used.
        """
        folder = self._settings.cache_dir / self.table
        if not folder.exists() and not has_store(self._settings):
            raise LookupError(key)
        with self._store() as database:
            found = database.rows(f"SELECT record, at FROM {self.table} WHERE key = :key", {"key": key})  # noqa: S608
        record = json.loads(found[0][0])
        if self._signer and not self._signer.holds(f"{key}.json", record):
            raise LookupError(key)
        return record, float(found[0][1])

    def _keep(self, key: str, record: dict[str, Json]) -> None:
        with self._store() as database, database.change():
            self._insert(database, key, time.time(), record)

    def _insert(self, database: Database, key: str, at: float, record: dict[str, Json]) -> None:
        record = self._redactor.json(record)
        signed = self._signer.signed(f"{key}.json", record) if self._signer else record
        row = {"key": key, "at": at, "record": json.dumps(signed), **self._columns(record)}
        names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        database.rows(f"DELETE FROM {self.table} WHERE key = :key", {"key": key})  # noqa: S608
        database.rows(f"INSERT INTO {self.table} ({names}) VALUES ({values})", row)  # noqa: S608

    def _columns(self, record: dict[str, Json]) -> dict[str, object]:
        """Return the columns of a row other than key, time and record."""
        return {}


def _name(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class AnswerCache(_SignedRecords):
    """The cached answers to questions.

    Every method raises StorageError if the store cannot be used.
    """

    table = "answers"

    def get(
        self, question: str, files: Sequence[InputFile], configuration: dict[str, str], states: States
    ) -> Answer | None:
        """Return the answer to the same question with the same files, configuration and tools, or None."""
        try:
            kept, at = self._record_of(_name(_key(question, files, configuration)))
            is_fresh = 0 <= time.time() - at < SECONDS_KEPT and states(kept["tools"]) == kept["tools"]
            return Answer.from_json(kept["answer"]) if is_fresh else None
        except (ValueError, LookupError, TypeError):
            return None

    def put(
        self,
        question: str,
        files: Sequence[InputFile],
        configuration: dict[str, str],
        answer: Answer,
        tools: dict[str, str],
    ) -> None:
        """Store an answer with the states of the tools that it used."""
        kept = {"question": question, "answer": answer.as_json(), "tools": tools}
        self._keep(_name(_key(question, files, configuration)), kept)

    def all(self) -> list[CachedAnswer]:
        """Return all answers, newest first. Unreadable records are skipped."""
        found = []
        with self._store() as database:
            rows = database.rows("SELECT key, record, at FROM answers ORDER BY at DESC")
        for key, text, at in rows:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                record = json.loads(text)
                if not self._signer or self._signer.holds(f"{key}.json", record):
                    answer = Answer.from_json(record["answer"])
                    found.append(CachedAnswer(record.get("question", ""), answer, at, len(text)))
        return found

    def _columns(self, record: dict[str, Json]) -> dict[str, object]:
        answer = Answer.from_json(record["answer"])
        columns = {"question": record.get("question", ""), "answer": answer.text, "run_id": answer.run_id}
        return {name: storable(value) for name, value in columns.items()}


def _key(question: str, files: Sequence[InputFile], configuration: dict[str, str]) -> str:
    key = [alita_version(), question, [file.sha256 or file.path for file in files], configuration]
    return json.dumps(key, sort_keys=True)


def note_hit(settings: Settings) -> None:
    """Record a cache hit.

    Raises:
        StorageError: The store cannot be used.
    """
    with open_store(settings) as database:
        database.rows("INSERT INTO answered_again VALUES (:at)", {"at": time.time()})


def hits_since(settings: Settings, since: float) -> int:
    """Return the number of cache hits since a Unix timestamp.

    Raises:
        StorageError: The store cannot be used.
    """
    before = settings.data_dir / "cache-hits"  # written by earlier versions: one line per hit, containing its time
    with open_store(settings) as database:
        with contextlib.suppress(OSError):
            lines = [{"at": float(line)} for line in read_small(before, RECORD).split() if line.isdigit()]
            with database.change():
                if lines:
                    database.rows("INSERT INTO answered_again VALUES (:at)", lines)
                before.unlink()
        return int(database.rows("SELECT count(*) FROM answered_again WHERE at >= :since", {"since": since})[0][0])


_LONGEST = 8_000


class AnsweredPrograms(_SignedRecords):
    """Programs that answered a question, reused for questions that differ only in their values."""

    table = "programs"

    def get(self, question: str) -> str:
        """Return the program that answered this question, possibly with other values; an empty string if there is none.

        Raises:
            StorageError: The store cannot be used.
        """
        try:
            return str(self._record_of(_name(template_of(question).text))[0]["program"])
        except (ValueError, LookupError, TypeError):
            return ""

    def put(self, question: str, program: str) -> None:
        """Store the program that answered a question.

        Raises:
            StorageError: The store cannot be used.
        """
        if len(program) <= _LONGEST:
            self._keep(_name(template_of(question).text), {"program": program})
