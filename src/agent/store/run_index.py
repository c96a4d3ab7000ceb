"""Indexes runs and their steps in the store.

The run folders are authoritative: the index can be rebuilt from them. Before a run opens its journal, a small file
marks the run as changed; this note is deleted once the finished run is in the index. If the process is killed in
between, the next process that opens the store finds the note and reads the run's folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.configuration.settings import FOLLOWS
from agent.errors import RunError, StorageError
from agent.store.databases import Database, open_store, storable
from agent.store.redact import Redactor
from agent.store.runs import Run, fitting_id, ids_in, journal_path, load_run
from mcp_tools.atomic import private_folder
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_BATCH_RUNS = 200  # runs per transaction
_MOST_WORDS = 200_000
"""Maximum size of a run's indexed text. PostgreSQL accepts at most a megabyte of words."""
_STEP = b'{"step":'
"""Start of journal lines that contain the action or result of a step."""
_MIN_PREFIX_CHARS = 3
"""Search words of at least this length also match longer words that begin with them."""
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_INSERT = """
INSERT INTO runs (number, place, run_id, status, started, seconds, model, question, answer, cost, parent, follows,
    record)
VALUES (:number, :place, :run_id, :status, :started, :seconds, :model, :question, :answer, :cost, :parent, :follows,
    :record)
"""
_INSERT_STEP = "INSERT INTO steps VALUES (:run, :step, :action, :why, :input, :ok, :found)"
_FORGET_WORDS = """
INSERT INTO run_words (run_words, rowid, question, answer, steps)
SELECT 'delete', number, question, answer, steps FROM run_texts WHERE number = :number
"""
_WORDS = "INSERT INTO run_words (rowid, question, answer, steps) SELECT * FROM run_texts WHERE number = :number"
_SEARCH = {
    "sqlite": "SELECT r.record FROM run_words w JOIN runs r ON r.number = w.rowid WHERE run_words MATCH :wanted"
    " ORDER BY w.rowid DESC LIMIT :most",
    "postgresql": "SELECT record FROM runs WHERE words @@ to_tsquery('simple', :wanted)"
    " ORDER BY number DESC LIMIT :most",
}


class Notes:
    """Notes about changed runs, whose rows in the store may be out of date."""

    def __init__(self, settings: Settings) -> None:
        place = hashlib.sha256(os.fsencode(settings.runs_dir.resolve())).hexdigest()[:24]
        self._folder = settings.data_dir / "unindexed" / place

    def add(self, run_id: str) -> None:
        """Note a run. If the note cannot be written, the run is found when the whole folder is next compared."""
        with contextlib.suppress(OSError):
            private_folder(self._folder)
            (self._folder / run_id).touch(0o600)

    def all(self) -> list[str]:
        """Return the noted runs, oldest first."""
        with contextlib.suppress(StorageError):
            return ids_in(self._folder)
        return []

    def drop(self, run_id: str) -> None:
        """Delete a note."""
        with contextlib.suppress(OSError):
            (self._folder / run_id).unlink()


class RunIndex:
    """The index of runs in the store."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._runs = settings.runs_dir
        self._database = database
        self._notes = Notes(settings)
        self._redactor = Redactor(settings.secrets)
        self.place = f"{socket.gethostname()}:{settings.runs_dir.resolve()}"
        """Host name and folder of these runs. Other machines may use the same store."""

    def catch_up(self, *, whole: bool = True) -> list[RunError]:
        """Update the index with the runs that were noted as changed.

        If `whole` is true, also find runs that other programs added to the folder or removed from it.

        Returns:
            A sentence about each run that cannot be read.

        Raises:
            StorageError: The store cannot be written.
        """
        noted = self._notes.all()
        wanted, stamp = {*noted}, self._stamp()
        if whole and stamp != self._seen():
            known = {run_id for (run_id,) in self._rows("SELECT run_id FROM runs WHERE place = :place")}
            wanted |= {*ids_in(self._runs)} ^ known
        else:
            stamp = 0
        flaws: list[RunError] = []
        ids = sorted(wanted)
        for begin in range(0, len(ids), _BATCH_RUNS):
            ended = []
            with self._database.change():
                for run_id in ids[begin : begin + _BATCH_RUNS]:
                    try:
                        if self._index(run_id):
                            ended.append(run_id)
                    except RunError as error:
                        flaws.append(error)
            for run_id in {*ended} & {*noted}:
                self._notes.drop(run_id)
        if stamp and not flaws:
            self._rows(
                "INSERT INTO places VALUES (:place, :seen) ON CONFLICT (place) DO UPDATE SET seen = excluded.seen",
                seen=stamp,
            )
        return flaws

    def newest(self, limit: int) -> list[dict[str, Json]]:
        """Return the newest runs of all machines and folders, in the format of `run.json`."""
        found = self._rows("SELECT record FROM runs ORDER BY number DESC LIMIT :most", most=limit)
        return [json.loads(record) for (record,) in found]

    def elsewhere(self, run_id: str) -> dict[str, Json] | None:
        """Return a run of another machine or folder, with its `place` and `steps`; None if there is none.

        The beginning or end of the run's id is enough.

        Raises:
            RunError: Several runs match.
        """
        found = dict(self._rows("SELECT run_id, number FROM runs WHERE place != :place ORDER BY number"))
        if not any(run_id and (one.startswith(run_id) or one.endswith(run_id)) for one in found):
            return None
        number = found[fitting_id(run_id, list(found), noun="run", error=RunError)]
        ((place, record),) = self._rows("SELECT place, record FROM runs WHERE number = :number", number=number)
        names = ("step", "action", "why", "input", "ok", "found")
        steps = self._rows(f"SELECT {', '.join(names)} FROM steps WHERE run = :number ORDER BY step", number=number)  # noqa: S608
        return {**json.loads(record), "place": place, "steps": [dict(zip(names, one, strict=True)) for one in steps]}

    def search(self, text: str, limit: int) -> list[dict[str, Json]]:
        """Return the newest runs that contain all given words in their question, answer or steps.

        A word of three or more letters also matches longer words that begin with it.
        """
        is_sqlite = self._database.dialect == "sqlite"
        words = _words(text) if is_sqlite else _folded(text).split()
        if not words:
            return []
        if is_sqlite:
            wanted = " AND ".join(f'"{word}"*' if len(word) >= _MIN_PREFIX_CHARS else f'"{word}"' for word in words)
        else:
            wanted = " & ".join(f"'{word}':*" if len(word) >= _MIN_PREFIX_CHARS else f"'{word}'" for word in words)
        found = self._rows(_SEARCH[self._database.dialect], wanted=wanted, most=limit)
        return [json.loads(record) for (record,) in found]

    def _index(self, run_id: str) -> bool:
        """Write a run's rows from its folder. Return False if the run is still in progress."""
        run = load_run(self._runs, run_id) if (self._runs / run_id).is_dir() else None
        steps = [] if run is None else self._redactor.json(list(_steps(self._runs, run_id)))
        number = self._delete_rows(run_id)
        if run is None:
            return True
        while number is None or self._rows("SELECT 1 FROM runs WHERE number = :number", number=number):
            number = _number_of(run_id) if number is None else number + 1
        self._rows(_INSERT, **self._row_of(run, number))
        if steps:
            self._database.rows(_INSERT_STEP, [{"run": number} | {k: storable(v) for k, v in s.items()} for s in steps])
        if self._database.dialect == "sqlite":
            self._rows(_WORDS, number=number)
        else:
            (texts,) = self._rows("SELECT question, answer, steps FROM run_texts WHERE number = :number", number=number)
            words = _folded("\n".join(text for text in texts if text))[:_MOST_WORDS]
            set_words = "UPDATE runs SET words = to_tsvector('simple', :words) WHERE number = :number"
            self._rows(set_words, words=words, number=number)
        return run.status != "running"

    def _delete_rows(self, run_id: str) -> int | None:
        """Delete a run's rows, and return its number in the store."""
        found = self._rows("SELECT number FROM runs WHERE place = :place AND run_id = :run_id", run_id=run_id)
        if not found:
            return None
        number = int(found[0][0])
        if self._database.dialect == "sqlite":
            self._rows(_FORGET_WORDS, number=number)
        self._rows("DELETE FROM steps WHERE run = :number", number=number)
        self._rows("DELETE FROM runs WHERE number = :number", number=number)
        return number

    def _row_of(self, run: Run, number: int) -> dict[str, object]:
        clean, answer = self._redactor.json(run.as_json()), run.answer
        values: dict[str, object] = {
            "number": number,
            "run_id": run.run_id,
            "status": run.status,
            "started": run.started,
            "seconds": answer.seconds if answer else None,
            "model": clean["model"],
            "question": clean["question"],
            "answer": self._redactor.text(answer.text) if answer else "",
            "cost": answer.usage.cost if answer else None,
            "parent": run.parent,
            "follows": run.configuration.get(FOLLOWS) or None,
            "record": json.dumps(clean),
        }
        return {name: storable(value) for name, value in values.items()}

    def _seen(self) -> int:
        found = self._rows("SELECT seen FROM places WHERE place = :place")
        return int(found[0][0]) if found else 0

    def _stamp(self) -> int:
        """Return a nonzero number that changes when a run folder is added or removed."""
        with contextlib.suppress(OSError):
            return self._runs.stat().st_mtime_ns
        return 1

    def _rows(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        if ":place" in statement:
            values["place"] = self.place
        return [tuple(row) for row in self._database.rows(statement, values)]


@contextlib.contextmanager
def indexed(settings: Settings) -> Iterator[tuple[RunIndex, list[str]]]:
    """Return the index, updated from the whole folder, and a sentence about each unreadable run.

    Raises:
        StorageError: The store cannot be read.
    """
    with open_store(settings) as database:
        index = RunIndex(settings, database)
        try:
            warnings = [flaw.message for flaw in index.catch_up()]
        except StorageError as problem:  # the existing rows can still be read
            warnings = [f"Without the newest runs: {problem.message}"]
        yield index, warnings


def index_run(settings: Settings) -> None:
    """Update the index after a run.

    Raises:
        StorageError: The store cannot be used. The note about the run is kept.
    """
    with open_store(settings) as database:
        RunIndex(settings, database).catch_up(whole=False)


def _number_of(run_id: str) -> int:
    """Return a number for a run id. The numbers sort in the same order as the ids."""
    number = int(run_id[:6] + run_id[7:13])
    for letter in run_id[14:]:
        number = number * 32 + max(_LETTERS.find(letter), 0)
    return number


def _steps(runs: Path, run_id: str) -> Iterator[dict[str, Json]]:
    """Yield the action and the result of each step from the journal. Damaged lines are skipped."""
    found: dict[int, dict[str, Json]] = {}
    for line in _step_lines(runs, run_id):
        step = line.get("step")
        if isinstance(step, int):
            row = found.setdefault(step, {"step": step, "action": "", "why": "", "input": "", "ok": None, "found": ""})
            members = {"action": line.get("mark"), "why": line.get("why")}
            members |= {"input": line.get("input"), "found": line.get("found")}
            row |= {name: text for name, text in members.items() if isinstance(text, str)}
            row |= {"ok": int(line["ok"])} if isinstance(line.get("ok"), bool) else {}
    yield from found.values()


def _step_lines(runs: Path, run_id: str) -> Iterable[dict[str, Json]]:
    with contextlib.suppress(OSError):
        for line in read_small(journal_path(runs, run_id), JOURNAL, follow=False).splitlines():
            if line.startswith(_STEP):
                with contextlib.suppress(ValueError, RecursionError):
                    yield json.loads(line.decode("utf-8", "surrogatepass"))


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case. As in both databases, a word is a sequence of letters and digits."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text.lower()))


def _folded(text: str) -> str:
    """Return a text without accents, because PostgreSQL only finds exact spellings."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(_words(plain))
