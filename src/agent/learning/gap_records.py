"""Gap records: failure patterns of kinds of questions, without particulars of any single question.

They are stored with the hashes of the questions they came from, and with the results of the questions that were planned
with them.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from urllib.parse import quote

from agent.errors import StorageError, UsageError
from agent.store.databases import FILE, open_file, open_store, storable
from agent.store.redact import Redactor
from mcp_tools.library.vocabulary import search_words
from mcp_tools.text import one_line, printable
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

RecordStatus = Literal["new", "approved", "rejected"]
"""A record is `new` until the user reviews it. A rejected record is kept, so that it is not written again."""
MAX_CHARS = {"kind": 60, "situation": 400, "pattern": 600, "advice": 600}
_CANDIDATES = 40
_MAX_QUERY_WORDS = 12
_COLUMNS = "r.id, r.kind, r.situation, r.pattern, r.advice, r.status, r.seen, r.created, r.updated"
_SELECT = f"SELECT {_COLUMNS} FROM gap_records r"  # noqa: S608
_OFFERED = """
(r.status = 'approved' OR (r.status = 'new' AND :reviewed = 0))
    AND NOT EXISTS (SELECT 1 FROM gap_origins o WHERE o.record = r.id AND o.question = :own)
"""
_FOUND = {
    "sqlite": "gap_words JOIN gap_records r ON r.id = gap_words.id WHERE gap_words MATCH :words AND {} ORDER BY rank",
    "postgresql": "gap_records r WHERE r.words @@ to_tsquery('english', :words) AND {}"
    " ORDER BY ts_rank(r.words, to_tsquery('english', :words)) DESC",
}
"""Query for records that contain any of the words, best match first. The braces are replaced by further conditions."""
_PUT = """
INSERT INTO gap_records (id, kind, situation, pattern, advice, status, seen, created, updated)
VALUES (:id, :kind, :situation, :pattern, :advice, :status, :seen, :created, :updated) ON CONFLICT (id) DO UPDATE
SET kind = excluded.kind, situation = excluded.situation, pattern = excluded.pattern, advice = excluded.advice,
    status = excluded.status, seen = excluded.seen, updated = excluded.updated
"""
_ORIGIN = "INSERT INTO gap_origins VALUES (:record, :question) ON CONFLICT DO NOTHING"
_SHOWN = "INSERT INTO gap_shown VALUES (:record, :run) ON CONFLICT DO NOTHING"
_SCORED = """
INSERT INTO gap_scored VALUES (:run, :kind, :correct) ON CONFLICT (run) DO UPDATE
SET kind = excluded.kind, correct = excluded.correct
"""
_EARLIER_TABLES = {
    "origins": ("record, question", _ORIGIN),
    "shown": ("record, run", _SHOWN),
    "scored": ("run, kind, correct", _SCORED),
}
"""Tables in files of earlier versions, each with its columns and the statement that imports its rows."""
_BROAD_KINDS = frozenset({"lookup", "data file"})
"""Records of these kinds must share two words with a question instead of one."""
_HALF_LIFE_SECONDS = 180 * 24 * 3600.0  # a record that is not confirmed for this long ranks half as high
_MIN_SHARED_WORDS = 0.6  # minimum share of words that equivalent records have in common
_SEARCHED = ("situation", "pattern", "advice")
_NO_QUOTES = dict.fromkeys(map(ord, "'\"\\"), " ")
_RANK_CONSTANT = 60.0  # the usual constant of reciprocal rank fusion


@dataclass(frozen=True, slots=True)
class GapRecord:
    """A failure pattern that other questions may encounter."""

    kind: str
    """Kind of question, one of `agent.learning.planner.KINDS`."""
    situation: str
    pattern: str
    advice: str
    status: RecordStatus = "new"
    seen: int = 1
    created: float = 0.0
    """Unix time in seconds."""
    updated: float = 0.0
    id: str = ""

    @property
    def text(self) -> str:
        """The whole record as shown in prompts."""
        return f"When: {self.situation}\nWhat goes wrong: {self.pattern}\nInstead: {self.advice}"


@dataclass(frozen=True, slots=True)
class Help:
    """Results of the questions that were planned with a record, and of the other questions of its kind."""

    shown: int = 0
    right: int = 0
    others: int = 0
    others_right: int = 0


def question_hash(question: str) -> str:
    """Return the SHA-256 hash of a question in hexadecimal, ignoring whitespace and case."""
    return hashlib.sha256(" ".join(question.casefold().split()).encode("utf-8", "replace")).hexdigest()


def checked(values: dict[str, Any]) -> GapRecord:
    """Validate the texts of a record from a model, a user or a file, and return the record.

    Raises:
        UsageError: A text is missing, has the wrong type or is too long, or the status is unknown.
    """
    texts: dict[str, str] = {}
    for name, most in MAX_CHARS.items():
        value = values.get(name)
        if not isinstance(value, str) or not value.strip():
            raise UsageError(
                f"The gap record has no {name}: {one_line(repr(value), 80)}.",
                remedy=f"A gap record must contain {', '.join(MAX_CHARS)}, each a string.",
            )
        texts[name] = " ".join(printable(value).split())
        if len(texts[name]) > most:
            raise UsageError(
                f"The {name} of the gap record has {len(texts[name])} characters.",
                remedy=f"Shorten it to at most {most} characters.",
            )
    status = values.get("status", "new")
    if status not in get_args(RecordStatus):
        raise UsageError(
            f"The gap record has the invalid status {one_line(repr(status), 60)}.",
            remedy=f"The status must be one of {', '.join(get_args(RecordStatus))}.",
        )
    return _with_id(GapRecord(texts["kind"], texts["situation"], texts["pattern"], texts["advice"], status))


def _with_id(record: GapRecord) -> GapRecord:
    content = json.dumps([record.kind, record.situation, record.pattern, record.advice])
    return replace(record, id=hashlib.sha256(content.encode()).hexdigest()[:12])


class GapRecords:
    """The gap records in the store or in another file. They can be shared between processes and threads.

    Raises:
        StorageError: The store cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        with ExitStack() as opened:
            own, self._redactor = settings.gaps_file, Redactor(settings.secrets)
            if settings.database_url is not None and own.name == FILE:
                self._database = opened.enter_context(open_store(settings))
            else:
                _put_aside(own)
                self._database = opened.enter_context(open_file(own))
            for before in _earlier_files(own):
                self._take_file(before)
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Close the store."""
        self._opened.close()

    def find(
        self, question: str, kind: str, *, limit: int = 3, reviewed: bool = False, now: float | None = None
    ) -> list[GapRecord]:
        """Return the records that match a question, best match first. A record never matches the question it came from.

        Some words must match; being of the same kind is not enough. Records that have helped rank higher, old ones
        lower.
        """
        words = search_words(question)[:_MAX_QUERY_WORDS]
        wanted = {"own": question_hash(question), "reviewed": int(reviewed)}
        by_words = self._with_words(words, _OFFERED, _CANDIDATES, **wanted)
        moment = time.time() if now is None else now
        scores: dict[str, float] = {}
        found: dict[str, GapRecord] = {}
        for rank, record in enumerate(map(_record, by_words)):
            if _fits(record, words, kind):
                found[record.id] = record
                scores[record.id] = (2 if record.kind == kind else 1) / (_RANK_CONSTANT + rank)
        helped = self.help_of(scores)
        for name, record in found.items():
            known = helped[name]
            usefulness = (known.right + 1) / (known.shown + 2)
            age = max(0.0, moment - record.updated)
            scores[name] *= usefulness * 0.5 ** (age / _HALF_LIFE_SECONDS) * (1 + 0.1 * min(record.seen - 1, 5))
        best = sorted(found, key=lambda name: scores[name], reverse=True)
        return [found[name] for name in best][:limit]

    def add(self, record: GapRecord, question: str = "") -> GapRecord:
        """Add a record. If an equivalent record exists, increment its count instead.

        Returns:
            The stored record, which is either the new or the equivalent one.
        """
        now = time.time()
        with self.writing():
            same = self._same_as(record)
            if same is None:
                same = self.put(record)
            elif not question or question_hash(question) not in self.origins(same.id):
                same = self.put(replace(same, seen=same.seen + record.seen), now)
            if question:
                self._rows(_ORIGIN, record=same.id, question=question_hash(question))
        return same

    def _same_as(self, record: GapRecord) -> GapRecord | None:
        """Return an equivalent record, which may be a rejected one. Word order and word endings are ignored."""
        if rows := self._rows(f"{_SELECT} WHERE id = :id", id=_with_id(record).id):
            return _record(rows[0])
        words = search_words(record.pattern) + search_words(record.situation)
        near = self._with_words([*dict.fromkeys(words)], "r.kind = :kind", 10, kind=record.kind)
        own = _stems(record)
        for other in map(_record, near):
            theirs = _stems(other)
            if len(own & theirs) >= _MIN_SHARED_WORDS * len(own | theirs):
                return other
        return None

    def get(self, name: str) -> GapRecord:
        """Return a record, given its id or the beginning of it.

        Raises:
            UsageError: There is no such record, or several match.
        """
        beginning = f"{_SELECT} WHERE substr(id, 1, :length) = :name"
        rows = self._rows(beginning, length=len(name), name=name) if name else []
        if len(rows) != 1:
            problem = f"{len(rows)} gap records begin with {name!r}." if rows else f"There is no gap record {name!r}."
            raise UsageError(problem, remedy="`alita gaps list` shows the ids of all records.")
        return _record(rows[0])

    def all(self) -> list[GapRecord]:
        """Return all records, most recently updated first."""
        return [_record(row) for row in self._rows(f"{_SELECT} ORDER BY updated DESC, id")]

    def change(self, name: str, **values: str) -> GapRecord:
        """Change the status or the texts of a record, but not its id.

        Raises:
            UsageError: There is no such record, or the values are invalid.
        """
        with self.writing():
            before = self.get(name)
            after = replace(checked({**asdict(before), **values}), seen=before.seen, created=before.created)
            return self.put(replace(after, id=before.id))

    def merge(self, into: str, others: Sequence[str]) -> GapRecord:
        """Merge other records into the record `into`. Its texts are kept, and the counts are added up.

        Raises:
            UsageError: One of the records does not exist.
        """
        with self.writing():
            kept = self.get(into)
            for other in [self.get(name) for name in others]:
                if other.id == kept.id:
                    raise UsageError(f"{other.id} cannot be merged with itself.", remedy="Give two different records.")
                kept = replace(kept, seen=kept.seen + other.seen)
                for question in self.origins(other.id):
                    self._rows(_ORIGIN, record=kept.id, question=question)
                for (run,) in self._rows("SELECT run FROM gap_shown WHERE record = :id", id=other.id):
                    self._rows(_SHOWN, record=kept.id, run=run)
                self.delete(other.id)
            return self.put(kept)

    def delete(self, name: str) -> None:
        """Delete a record and its counts."""
        with self.writing():
            if self._database.dialect == "sqlite":
                self._rows("DELETE FROM gap_words WHERE id = :id", id=name)
            self._rows("DELETE FROM gap_records WHERE id = :id", id=name)
            self._rows("DELETE FROM gap_origins WHERE record = :id", id=name)
            self._rows("DELETE FROM gap_shown WHERE record = :id", id=name)

    def note_shown(self, ids: Iterable[str], run: str) -> None:
        """Store which records a run was planned with."""
        with self.writing():
            for name in ids:
                self._rows(_SHOWN, record=name, run=run)

    def shown_in(self, run: str) -> list[str]:
        """Return the ids of the records that a run was planned with."""
        return [row[0] for row in self._rows("SELECT record FROM gap_shown WHERE run = :run ORDER BY record", run=run)]

    def note_score(self, run: str, kind: str, *, correct: bool) -> None:
        """Store the score of a run."""
        self._rows(_SCORED, run=run, kind=kind, correct=int(correct))

    @property
    def is_empty(self) -> bool:
        """True if there are no records and no scores."""
        return not self._rows("SELECT id FROM gap_records UNION ALL SELECT run FROM gap_scored LIMIT 1")

    def scores(self) -> dict[str, bool]:
        """Return the scores by run id: True if the answer was right."""
        return {run: bool(correct) for run, correct in self._rows("SELECT run, correct FROM gap_scored")}

    def help_of(self, ids: Iterable[str]) -> dict[str, Help]:
        """Return, for each record, the results of questions planned with it and of other questions of its kind."""
        found: dict[str, Help] = {}
        for name in ids:
            shown, right = self._rows(
                "SELECT count(*), coalesce(sum(correct), 0) FROM gap_shown JOIN gap_scored USING (run)"
                " WHERE record = :id",
                id=name,
            )[0]
            others, others_right = self._rows(
                "SELECT count(*), coalesce(sum(correct), 0) FROM gap_scored s JOIN gap_records r ON r.kind = s.kind"
                " WHERE r.id = :id AND NOT EXISTS (SELECT 1 FROM gap_shown h WHERE h.run = s.run AND h.record = r.id)",
                id=name,
            )[0]
            found[name] = Help(shown, right, others, others_right)
        return found

    def origins(self, name: str) -> list[str]:
        """Return the hashes of the questions from which a record was learned."""
        return [row[0] for row in self._rows("SELECT question FROM gap_origins WHERE record = :id", id=name)]

    def exported(self) -> list[dict[str, Json]]:
        """Yield all records with their origins, in the format that `take` imports."""
        return [{**asdict(record), "origins": list[Json](self.origins(record.id))} for record in self.all()]

    def take(self, values: dict[str, Any]) -> GapRecord:
        """Import an exported record. A rejected record stays rejected, but an approved one becomes new.

        Raises:
            UsageError: The values are not a gap record.
        """
        origins = values.get("origins", [])
        if not isinstance(origins, list) or not all(isinstance(one, str) and len(one) == 64 for one in origins):
            raise UsageError(
                "The origins of the gap record are not a list of SHA-256 hashes.", remedy="Export the record again."
            )
        with self.writing():
            record = checked(values)
            record = record if record.status == "rejected" else replace(record, status="new")
            kept = self._same_as(record) or self.put(record)
            for origin in origins:
                self._rows(_ORIGIN, record=kept.id, question=origin)
            # each origin counts only once, so importing a record twice changes nothing
            kept = replace(kept, seen=max(kept.seen, len(self.origins(kept.id))))
            self._rows("UPDATE gap_records SET seen = :seen WHERE id = :id", seen=kept.seen, id=kept.id)
        return kept

    def copy(self, values: dict[str, Any]) -> None:
        """Import a record exported by this user, keeping its id, status and counts.

        Raises:
            UsageError: The values are not a gap record.
        """
        with self.writing():
            own = {name: values[name] for name in ("id", "seen", "created")}
            self.put(replace(checked(values), **own), values["updated"])
            for origin in values["origins"]:
                self._rows(_ORIGIN, record=values["id"], question=origin)

    def put(self, record: GapRecord, updated: float | None = None) -> GapRecord:
        """Write a record, replacing any record with the same id."""
        now = time.time() if updated is None else updated
        record = replace(record if record.id else _with_id(record), created=record.created or now, updated=now)
        record = self._redactor.values(record)
        with self.writing():
            self._rows(_PUT, **{name: storable(value) for name, value in asdict(record).items()})
            texts = {"id": record.id, **{name: storable(getattr(record, name)) for name in _SEARCHED}}
            if self._database.dialect == "sqlite":
                self._rows("DELETE FROM gap_words WHERE id = :id", id=record.id)
                self._rows("INSERT INTO gap_words VALUES (:id, :situation, :pattern, :advice)", **texts)
            else:
                words = " || ' ' || ".join(f"CAST(:{name} AS TEXT)" for name in _SEARCHED)
                set_words = f"UPDATE gap_records SET words = to_tsvector('english', {words}) WHERE id = :id"  # noqa: S608
                self._rows(set_words, **texts)
        return record

    def writing(self) -> AbstractContextManager[None]:
        """Write everything in the `with` block in one transaction."""
        return self._database.change()

    def _with_words(self, words: Sequence[str], condition: str, most: int, **values: object) -> list[Any]:
        """Return the rows of records that contain any of the words, best match first."""
        if not words:
            return []
        dialect = self._database.dialect
        mark, either = ('"', " OR ") if dialect == "sqlite" else ("'", " | ")
        wanted = either.join(f"{mark}{word.translate(_NO_QUOTES)}{mark}" for word in words)
        found = f"SELECT {_COLUMNS} FROM {_FOUND[dialect].format(condition)} LIMIT :most"  # noqa: S608
        return self._rows(found, words=wanted, most=most, **values)

    def _take_file(self, before: Path) -> None:
        """Import a file of an earlier version. The file is deleted once all its records have been imported.

        Raises:
            StorageError: The file cannot be read.
        """
        try:
            with closing(sqlite3.connect(f"file:{quote(str(before))}?mode=ro", uri=True)) as file:
                records = [_record(row) for row in file.execute("SELECT * FROM records")]
                with self.writing():
                    known = {record.id for record in self.all()}
                    for record in records:
                        if record.id not in known:
                            self.put(record, record.updated)
                    for table, (columns, statement) in _EARLIER_TABLES.items():
                        names = columns.split(", ")
                        for row in file.execute(f"SELECT {columns} FROM {table}"):  # noqa: S608
                            self._rows(statement, **dict(zip(names, row, strict=True)))
        except sqlite3.Error as error:
            raise StorageError(
                f"The gap records {before} cannot be used: {error}.",
                remedy="Move the file away to continue without its contents.",
            ) from None
        if {record.id for record in records} <= {record.id for record in self.all()}:
            for suffix in ("", "-wal", "-shm"):
                before.with_name(f"{before.name}{suffix}").unlink(missing_ok=True)

    def _rows(self, statement: str, **values: object) -> list[Any]:
        return [*self._database.rows(statement, values)]


def known_records(settings: Settings) -> GapRecords | None:
    """Open the gap records. Return None if none have been stored yet.

    Raises:
        StorageError: The store cannot be used.
    """
    own = settings.gaps_file
    is_shared = settings.database_url is not None and own.name == FILE
    if not is_shared and not own.exists() and not _earlier_files(own):
        return None
    records = GapRecords(settings)
    if not records.is_empty:
        return records
    records.close()
    return None


def _earlier_files(own: Path) -> list[Path]:
    """Return files of earlier versions that contain records to import."""
    before = own.with_name("gaps.sqlite" if own.name == FILE else f"{own.name}.before")
    return [before] if before.exists() else []


def _put_aside(own: Path) -> None:
    """Rename a file of an earlier version that has the same name as the store."""
    with suppress(sqlite3.Error):
        if own.exists():
            with closing(sqlite3.connect(f"file:{quote(str(own))}?mode=ro", uri=True)) as file:
                tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master")}
            if "records" in tables and "alembic_version" not in tables:
                own.replace(own.with_name(f"{own.name}.before"))


def _record(row: tuple[Any, ...]) -> GapRecord:
    name, kind, situation, pattern, advice, status, seen, created, updated = row
    return GapRecord(kind, situation, pattern, advice, status, seen, created, updated, name)


def _stems(record: GapRecord) -> frozenset[str]:
    """Return the stems of the words in a record's situation and pattern."""
    return frozenset(word[:6] for word in search_words(f"{record.pattern} {record.situation}"))


def _fits(record: GapRecord, words: Sequence[str], kind: str) -> bool:
    """Return True if a record shares enough words with a question: one if both are of the same narrow kind, else two.

    If a question of a broad kind has at most two significant words, a single word in the record's situation is enough.
    """
    asked, is_short = set(map(_stem, words)), kind in _BROAD_KINDS and len(words) <= 2
    text = record.situation if is_short else f"{record.situation} {record.pattern} {record.advice}"
    needed = 1 if record.kind == kind and (kind not in _BROAD_KINDS or is_short) else 2
    return len(asked & set(map(_stem, search_words(text)))) >= needed


def _stem(word: str) -> str:
    return word.removesuffix("s")[:6]
