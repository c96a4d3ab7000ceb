"""Gap records: what went wrong with questions of a kind, in words that name none of them.

They are kept in one SQLite file, with the questions that they came from (as SHA-256 only), and with how the questions
went that were planned with them.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from agent.errors import StorageError, UsageError
from mcp_tools.database import open_database
from mcp_tools.library.vocabulary import search_words
from mcp_tools.text import one_line, printable
from mcp_tools.tool import Json

RecordStatus = Literal["new", "approved", "rejected"]
"""`new` until a person has looked at it. A rejected record stays, so that the same is not written again."""
LONGEST = {"kind": 60, "situation": 400, "pattern": 600, "advice": 600}
_BUSY_SECONDS = 10.0
_VERSION = 1
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS records (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, situation TEXT NOT NULL, pattern TEXT NOT NULL, advice TEXT NOT NULL,
    status TEXT NOT NULL, seen INTEGER NOT NULL, created REAL NOT NULL, updated REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS records_of_kind ON records (kind, updated);
CREATE TABLE IF NOT EXISTS origins (record TEXT NOT NULL, question TEXT NOT NULL, PRIMARY KEY (record, question));
CREATE TABLE IF NOT EXISTS shown (record TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (record, run));
CREATE TABLE IF NOT EXISTS scored (run TEXT PRIMARY KEY, kind TEXT NOT NULL, correct INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS words
    USING fts5(situation, pattern, advice, tokenize = 'porter unicode61 remove_diacritics 2');
PRAGMA user_version = {_VERSION};
COMMIT;
"""
_CANDIDATES = 40
_MOST_WORDS = 12
_BY_WORDS = """
SELECT r.* FROM words JOIN records r ON r.rowid = words.rowid
WHERE words MATCH :words AND (r.status = 'approved' OR (r.status = 'new' AND NOT :reviewed))
    AND NOT EXISTS (SELECT 1 FROM origins o WHERE o.record = r.id AND o.question = :own)
ORDER BY rank LIMIT :most
"""
_COARSE = frozenset({"lookup", "data file"})
"""Kinds that say little of a question: a record of one needs two words of the question, not one."""
_HALF_LIFE = 180 * 24 * 3600.0
"""Seconds after which a record that nothing confirmed counts half."""
_SAME = 0.6
"""Share of the words of two records from which on they say the same."""
_RANKS = 60.0
"""The usual constant of reciprocal rank fusion."""


@dataclass(frozen=True, slots=True)
class GapRecord:
    """A failure pattern that other questions may meet, too."""

    kind: str
    """The kind of question, in the words of `agent.learning.planner`."""
    situation: str
    pattern: str
    advice: str
    status: RecordStatus = "new"
    seen: int = 1
    created: float = 0.0
    """In seconds since 1970."""
    updated: float = 0.0
    id: str = ""

    @property
    def text(self) -> str:
        """All that it says, as prompts show it."""
        return f"When: {self.situation}\nWhat goes wrong: {self.pattern}\nInstead: {self.advice}"


@dataclass(frozen=True, slots=True)
class Help:
    """How questions went that were planned with a record, beside those of its kind without it."""

    shown: int = 0
    right: int = 0
    others: int = 0
    others_right: int = 0


def question_hash(question: str) -> str:
    """What a question is known by, whatever its spaces and case: SHA-256 in hexadecimal digits."""
    return hashlib.sha256(" ".join(question.casefold().split()).encode("utf-8", "replace")).hexdigest()


def checked(values: dict[str, Any]) -> GapRecord:
    """A record from what a model, a person or a file says.

    Raises:
        UsageError: A text is missing, is no text, or is too long; or the status is none.
    """
    texts: dict[str, str] = {}
    for name, most in LONGEST.items():
        value = values.get(name)
        if not isinstance(value, str) or not value.strip():
            raise UsageError(
                f"The gap record has no {name}: {one_line(repr(value), 80)}.",
                remedy=f"It needs {', '.join(LONGEST)}, each a text.",
            )
        texts[name] = " ".join(printable(value).split())
        if len(texts[name]) > most:
            raise UsageError(
                f"The {name} of the gap record has {len(texts[name])} characters.", remedy=f"At most {most} are kept."
            )
    status = values.get("status", "new")
    if status not in get_args(RecordStatus):
        raise UsageError(
            f"The status of the gap record is {one_line(repr(status), 60)}.",
            remedy=f"It is one of {', '.join(get_args(RecordStatus))}.",
        )
    return _with_id(GapRecord(texts["kind"], texts["situation"], texts["pattern"], texts["advice"], status))


def _with_id(record: GapRecord) -> GapRecord:
    said = json.dumps([record.kind, record.situation, record.pattern, record.advice])
    return replace(record, id=hashlib.sha256(said.encode()).hexdigest()[:12])


class GapRecords:
    """The gap records of one file, which several processes and threads may use.

    Raises:
        StorageError: The file is damaged, of a later version, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._threads = threading.RLock()
        try:
            self._database = open_database(path, busy=_BUSY_SECONDS)
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
            if version > _VERSION:
                raise sqlite3.DatabaseError("a later version of alita wrote it")
            if not version:
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise _unusable(path, error) from None

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def find(
        self, question: str, kind: str, *, limit: int = 3, reviewed: bool = False, now: float | None = None
    ) -> list[GapRecord]:
        """The records that fit a question best, best first; never one that came from the same question.

        A record fits by its words; its kind alone is no reason. What helped counts more, what is old less.
        """
        words = search_words(question)[:_MOST_WORDS]
        wanted = {
            "words": " OR ".join(f'"{word}"' for word in words),
            "own": question_hash(question),
            "reviewed": reviewed,
            "most": _CANDIDATES,
        }
        by_words = self._rows(_BY_WORDS, wanted) if words else []
        moment = time.time() if now is None else now
        scores: dict[str, float] = {}
        found: dict[str, GapRecord] = {}
        for rank, record in enumerate(map(_record, by_words)):
            if _fits(record, words, kind):
                found[record.id] = record
                scores[record.id] = (2 if record.kind == kind else 1) / (_RANKS + rank)
        helped = self.help_of(scores)
        for name, record in found.items():
            known = helped[name]
            usefulness = (known.right + 1) / (known.shown + 2)
            age = max(0.0, moment - record.updated)
            scores[name] *= usefulness * 0.5 ** (age / _HALF_LIFE) * (1 + 0.1 * min(record.seen - 1, 5))
        best = sorted(found, key=lambda name: scores[name], reverse=True)
        return [found[name] for name in best][:limit]

    def add(self, record: GapRecord, question: str = "") -> GapRecord:
        """Keeps a record; one that says the same as another makes that count once more.

        Returns:
            The record as it is kept: the new one, or the one that it was merged with.
        """
        now = time.time()
        with self.writing():
            same = self._same_as(record)
            if same is None:
                same = self.put(record)
            elif not question or not self._rows(
                "SELECT 1 FROM origins WHERE record = ? AND question = ?", (same.id, question_hash(question))
            ):
                same = replace(same, seen=same.seen + record.seen, updated=now)
                self._rows("UPDATE records SET seen = ?, updated = ? WHERE id = ?", (same.seen, now, same.id))
            if question:
                self._rows("INSERT OR IGNORE INTO origins VALUES (?, ?)", (same.id, question_hash(question)))
        return same

    def _same_as(self, record: GapRecord) -> GapRecord | None:
        """The record that says the same, whatever its words' order and endings; a rejected one, too."""
        if rows := self._rows("SELECT * FROM records WHERE id = ?", (_with_id(record).id,)):
            return _record(rows[0])
        words = search_words(record.pattern) + search_words(record.situation)
        if not words:
            return None
        wanted = " OR ".join(f'"{word}"' for word in dict.fromkeys(words))
        near = self._rows(
            "SELECT r.* FROM words JOIN records r ON r.rowid = words.rowid WHERE words MATCH ? AND r.kind = ?"
            " ORDER BY bm25(words) LIMIT 10",
            (wanted, record.kind),
        )
        own = _stems(record)
        for other in map(_record, near):
            theirs = _stems(other)
            if len(own & theirs) >= _SAME * len(own | theirs):
                return other
        return None

    def get(self, name: str) -> GapRecord:
        """The record of an id, or of its beginning.

        Raises:
            UsageError: There is none, or several begin so.
        """
        rows = self._rows("SELECT * FROM records WHERE substr(id, 1, ?) = ?", (len(name), name)) if name else []
        if len(rows) != 1:
            problem = f"{len(rows)} gap records begin with {name!r}." if rows else f"There is no gap record {name!r}."
            raise UsageError(problem, remedy="`alita gaps list` shows their ids.")
        return _record(rows[0])

    def all(self) -> list[GapRecord]:
        """Every record, the newest first."""
        return [_record(row) for row in self._rows("SELECT * FROM records ORDER BY updated DESC, id")]

    def change(self, name: str, **values: str) -> GapRecord:
        """Gives a record another status or other texts; its id stays.

        Raises:
            UsageError: There is none, or the values are not possible.
        """
        with self.writing():
            before = self.get(name)
            after = replace(checked({**asdict(before), **values}), seen=before.seen, created=before.created)
            return self.put(replace(after, id=before.id))

    def merge(self, into: str, others: Sequence[str]) -> GapRecord:
        """Makes several records one, which keeps the first one's words, and counts them all.

        Raises:
            UsageError: One of them is not there.
        """
        with self.writing():
            kept = self.get(into)
            for other in [self.get(name) for name in others]:
                if other.id == kept.id:
                    raise UsageError(f"{other.id} cannot be merged with itself.", remedy="Name two records.")
                kept = replace(kept, seen=kept.seen + other.seen)
                self._rows("UPDATE OR IGNORE origins SET record = ? WHERE record = ?", (kept.id, other.id))
                self._rows("UPDATE OR IGNORE shown SET record = ? WHERE record = ?", (kept.id, other.id))
                self.delete(other.id)
            return self.put(kept)

    def delete(self, name: str) -> None:
        """Removes a record, and what is known of it."""
        with self.writing():
            self._rows("DELETE FROM words WHERE rowid = (SELECT rowid FROM records WHERE id = ?)", (name,))
            self._rows("DELETE FROM records WHERE id = ?", (name,))
            self._rows("DELETE FROM origins WHERE record = ?", (name,))
            self._rows("DELETE FROM shown WHERE record = ?", (name,))

    def note_shown(self, ids: Iterable[str], run: str) -> None:
        """Remembers with which records a run was planned."""
        with self.writing():
            for name in ids:
                self._rows("INSERT OR IGNORE INTO shown VALUES (?, ?)", (name, run))

    def note_score(self, run: str, kind: str, *, correct: bool) -> None:
        """Remembers how the question of a run was scored."""
        self._rows("INSERT OR REPLACE INTO scored VALUES (?, ?, ?)", (run, kind, int(correct)))

    def scores(self) -> dict[str, bool]:
        """Whether the answer of each scored run was right."""
        return {run: bool(correct) for run, correct in self._rows("SELECT run, correct FROM scored")}

    def help_of(self, ids: Iterable[str]) -> dict[str, Help]:
        """How the questions went that were planned with each record, and the others of its kind."""
        found: dict[str, Help] = {}
        for name in ids:
            shown, right = self._rows(
                "SELECT count(*), coalesce(sum(correct), 0) FROM shown JOIN scored USING (run) WHERE record = ?",
                (name,),
            )[0]
            others, others_right = self._rows(
                "SELECT count(*), coalesce(sum(correct), 0) FROM scored s JOIN records r ON r.kind = s.kind"
                " WHERE r.id = ? AND NOT EXISTS (SELECT 1 FROM shown h WHERE h.run = s.run AND h.record = r.id)",
                (name,),
            )[0]
            found[name] = Help(shown, right, others, others_right)
        return found

    def origins(self, name: str) -> list[str]:
        """The hashes of the questions that a record came from."""
        return [row[0] for row in self._rows("SELECT question FROM origins WHERE record = ?", (name,))]

    def exported(self) -> list[dict[str, Json]]:
        """Every record with its origins, as `take` reads it."""
        return [{**asdict(record), "origins": list[Json](self.origins(record.id))} for record in self.all()]

    def take(self, values: dict[str, Any]) -> GapRecord:
        """Adds a record that was exported, elsewhere too. An approval is not taken over; a rejection is.

        Raises:
            UsageError: It is no gap record.
        """
        origins = values.get("origins", [])
        if not isinstance(origins, list) or not all(isinstance(one, str) and len(one) == 64 for one in origins):
            raise UsageError(
                "The origins of the gap record are not a list of SHA-256 hashes.", remedy="Export it again."
            )
        with self.writing():
            record = checked(values)
            record = record if record.status == "rejected" else replace(record, status="new")
            kept = self._same_as(record) or self.put(record)
            for origin in origins:
                self._rows("INSERT OR IGNORE INTO origins VALUES (?, ?)", (kept.id, origin))
            # Taken twice, it counts once: every question that it came from was one finding.
            kept = replace(kept, seen=max(kept.seen, len(self.origins(kept.id))))
            self._rows("UPDATE records SET seen = ? WHERE id = ?", (kept.seen, kept.id))
        return kept

    def put(self, record: GapRecord, updated: float | None = None) -> GapRecord:
        """Writes a record as it is, whatever else is there; one with its id is replaced."""
        now = time.time() if updated is None else updated
        record = replace(record if record.id else _with_id(record), created=record.created or now, updated=now)
        values = (record.kind, record.situation, record.pattern, record.advice, record.status)
        counts = (record.seen, record.created, record.updated)
        self._rows(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " kind = excluded.kind, situation = excluded.situation, pattern = excluded.pattern,"
            " advice = excluded.advice, status = excluded.status, seen = excluded.seen, updated = excluded.updated",
            (record.id, *values, *counts),
        )
        rowid = self._rows("SELECT rowid FROM records WHERE id = ?", (record.id,))[0][0]
        self._rows("DELETE FROM words WHERE rowid = ?", (rowid,))
        self._rows(
            "INSERT INTO words (rowid, situation, pattern, advice) VALUES (?, ?, ?, ?)",
            (rowid, record.situation, record.pattern, record.advice),
        )
        return record

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Makes what is written inside one change; inside another one it is a part of that."""
        with self._threads:
            if self._database.in_transaction:
                yield
                return
            self._rows("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._rows("ROLLBACK")
                raise
            self._rows("COMMIT")

    def _rows(self, statement: str, values: tuple[object, ...] | dict[str, object] = ()) -> list[Any]:
        with self._threads:
            try:
                return self._database.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from None


def _unusable(path: Path, error: Exception) -> StorageError:
    return StorageError(
        f"The gap records {path} cannot be used: {error}.", remedy="Move the file away to start without records."
    )


def _record(row: tuple[Any, ...]) -> GapRecord:
    name, kind, situation, pattern, advice, status, seen, created, updated = row
    return GapRecord(kind, situation, pattern, advice, status, seen, created, updated, name)


def _stems(record: GapRecord) -> frozenset[str]:
    """The words of situation and pattern, by their beginnings."""
    return frozenset(word[:6] for word in search_words(f"{record.pattern} {record.situation}"))


def _fits(record: GapRecord, words: Sequence[str], kind: str) -> bool:
    """True if a record has enough words of a question: one for a question over the same kind of file, else two.

    A question of one or two telling words needs only one of them, in the situation.
    """
    asked, is_short = set(map(_stem, words)), kind in _COARSE and len(words) <= 2
    text = record.situation if is_short else f"{record.situation} {record.pattern} {record.advice}"
    needed = 1 if record.kind == kind and (kind not in _COARSE or is_short) else 2
    return len(asked & set(map(_stem, search_words(text)))) >= needed


def _stem(word: str) -> str:
    return word.removesuffix("s")[:6]
