"""Runs and their steps in the store, taken from the runs' folders.

The folders are authoritative: the store can be rebuilt from them. A run is noted, as a small file, before its journal
is
opened, and the note goes when the run is in the store as it ended. So a kill at any moment leaves a note, and the next
process that opens the store reads the folder.
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

_AT_ONCE = 200
"""Runs that are written as one change."""
_MOST_WORDS = 200_000
"""Characters of a run that PostgreSQL indexes; its limit is a megabyte of words."""
_STEP = b'{"step":'
"""The beginning of a line of the journal that says what a step did or found."""
_BEGINNING = 3
"""Letters of a word that may be the beginning of another."""
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
    """The runs of one folder with possibly outdated rows in the store."""

    def __init__(self, settings: Settings) -> None:
        place = hashlib.sha256(os.fsencode(settings.runs_dir.resolve())).hexdigest()[:24]
        self._folder = settings.data_dir / "unindexed" / place

    def add(self, run_id: str) -> None:
        """Notes a run. Without space for that, a look at the whole folder finds it if it is new."""
        with contextlib.suppress(OSError):
            private_folder(self._folder)
            (self._folder / run_id).touch(0o600)

    def all(self) -> list[str]:
        """The runs that are noted, oldest first."""
        with contextlib.suppress(StorageError):
            return ids_in(self._folder)
        return []

    def drop(self, run_id: str) -> None:
        """Forgets a note."""
        with contextlib.suppress(OSError):
            (self._folder / run_id).unlink()


class RunIndex:
    """The runs in the store."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._runs = settings.runs_dir
        self._database = database
        self._notes = Notes(settings)
        self._redactor = Redactor(settings.secrets)
        self.place = f"{socket.gethostname()}:{settings.runs_dir.resolve()}"
        """The folder of these runs, as other machines see it too."""

    def catch_up(self, *, whole: bool = True) -> list[RunError]:
        """Brings the index up to date with the runs that were noted as changed.

        With `whole`, the folder is compared too: other programs may have added or removed runs there.

        Returns:
            Why runs cannot be read.

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
        for begin in range(0, len(ids), _AT_ONCE):
            ended = []
            with self._database.change():
                for run_id in ids[begin : begin + _AT_ONCE]:
                    try:
                        if self._take(run_id):
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
        """The newest runs of all places, as `run.json` has them."""
        found = self._rows("SELECT record FROM runs ORDER BY number DESC LIMIT :most", most=limit)
        return [json.loads(record) for (record,) in found]

    def elsewhere(self, run_id: str) -> dict[str, Json] | None:
        """A run of another machine or folder, with its `place` and `steps`, by its id or the start or end of one.

        Raises:
            RunError: Several fit.
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
        """Return the newest runs that hold every word in question, answer or steps.

        A word of three or more letters also finds longer words that begin with it.
        """
        is_sqlite = self._database.dialect == "sqlite"
        words = _words(text) if is_sqlite else _folded(text).split()
        if not words:
            return []
        if is_sqlite:
            wanted = " AND ".join(f'"{word}"*' if len(word) >= _BEGINNING else f'"{word}"' for word in words)
        else:
            wanted = " & ".join(f"'{word}':*" if len(word) >= _BEGINNING else f"'{word}'" for word in words)
        found = self._rows(_SEARCH[self._database.dialect], wanted=wanted, most=limit)
        return [json.loads(record) for (record,) in found]

    def _take(self, run_id: str) -> bool:
        """Makes the rows of a run as its folder is now; returns False while it is running."""
        run = load_run(self._runs, run_id) if (self._runs / run_id).is_dir() else None
        steps = [] if run is None else self._redactor.json(list(_steps(self._runs, run_id)))
        number = self._forgotten(run_id)
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

    def _forgotten(self, run_id: str) -> int | None:
        """Remove the rows of a run, and return its number."""
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
        """Return a stamp that changes when a run's folder is added or removed; never 0."""
        with contextlib.suppress(OSError):
            return self._runs.stat().st_mtime_ns
        return 1

    def _rows(self, statement: str, **values: object) -> list[tuple[Any, ...]]:
        if ":place" in statement:
            values["place"] = self.place
        return [tuple(row) for row in self._database.rows(statement, values)]


@contextlib.contextmanager
def indexed(settings: Settings) -> Iterator[tuple[RunIndex, list[str]]]:
    """The runs in the store, with all that their folders have, and why some cannot be read.

    Raises:
        StorageError: The store cannot be read.
    """
    with open_store(settings) as database:
        index = RunIndex(settings, database)
        try:
            warnings = [flaw.message for flaw in index.catch_up()]
        except StorageError as problem:  # its contents can still be read
            warnings = [f"Without the newest runs: {problem.message}"]
        yield index, warnings


def index_run(settings: Settings) -> None:
    """Brings the store up to date after a run.

    Raises:
        StorageError: The store cannot be used; the run stays noted.
    """
    with open_store(settings) as database:
        RunIndex(settings, database).catch_up(whole=False)


def _number_of(run_id: str) -> int:
    """A number that sorts as the ids of runs do."""
    number = int(run_id[:6] + run_id[7:13])
    for letter in run_id[14:]:
        number = number * 32 + max(_LETTERS.find(letter), 0)
    return number


def _steps(runs: Path, run_id: str) -> Iterator[dict[str, Json]]:
    """Yield each step's action and finding from the journal; damaged lines are skipped."""
    found: dict[int, dict[str, Json]] = {}
    for line in _step_lines(runs, run_id):
        step = line.get("step")
        if isinstance(step, int):
            row = found.setdefault(step, {"step": step, "action": "", "why": "", "input": "", "ok": None, "found": ""})
            told = {"action": line.get("mark"), "why": line.get("why")}
            told |= {"input": line.get("input"), "found": line.get("found")}
            row |= {name: text for name, text in told.items() if isinstance(text, str)}
            row |= {"ok": int(line["ok"])} if isinstance(line.get("ok"), bool) else {}
    yield from found.values()


def _step_lines(runs: Path, run_id: str) -> Iterable[dict[str, Json]]:
    with contextlib.suppress(OSError):
        for line in read_small(journal_path(runs, run_id), JOURNAL, follow=False).splitlines():
            if line.startswith(_STEP):
                with contextlib.suppress(ValueError, RecursionError):
                    yield json.loads(line.decode("utf-8", "surrogatepass"))


def _words(text: str) -> list[str]:
    """The words of a text in lower case: letters and digits in a row, which is what both databases look for."""
    return re.findall(r"[^\W_]+", unicodedata.normalize("NFC", text.lower()))


def _folded(text: str) -> str:
    """Text without accents; PostgreSQL only finds exact spellings."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(_words(plain))
