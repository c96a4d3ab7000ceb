"""Sessions: conversations that can be continued, read, exported and deleted.

A session and each of its turns are rows in the store. A session has a revision number: if another process has continued
the session in the meantime, this one is saved as a separate session, so that no turn is lost.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.conversation import Conversation, Turn
from agent.errors import RunError, SessionError, StorageError
from agent.store.databases import Database, open_store, signer_of, storable
from agent.store.own_runs import OwnRuns
from agent.store.redact import Redactor
from agent.store.runs import ID, Run, fitting_id, ids_in, list_runs, load_run, new_id
from agent.store.signature import Signer
from agent.user_files import write_file, writing
from mcp_tools.atomic import private_folder
from mcp_tools.small_files import RECORD, json_of, read_small
from mcp_tools.text import count_of, one_line, printable
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

SCHEMA = 1
TITLE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A conversation, with its id and times."""

    id: str
    model: str
    started: float
    conversation: Conversation = field(default_factory=Conversation)
    revision: int = 0
    """Number of times the session was saved; 0 if it is not in the store."""
    parent: str | None = None
    """Id of the session from which this one branched off because two processes continued it."""
    changed: float = 0.0
    is_own: bool = True
    """False if the session came from elsewhere, so its questions may not be the user's own words."""

    @property
    def title(self) -> str:
        """The first question, on one line."""
        return one_line(self.turns[0].question, TITLE_LENGTH) if self.turns else "(empty)"

    @property
    def turns(self) -> list[Turn]:
        """Questions and answers, oldest first."""
        return self.conversation.turns

    def as_json(self) -> dict[str, Json]:
        """Return the stored form as JSON."""
        own = {name: getattr(self, name) for name in ("id", "title", "model", "started", "revision", "parent")}
        return {"schema": SCHEMA, **own, **self.conversation.as_json()}


_LOOKED_BACK = 20
_BY_USE = "SELECT id, changed FROM conversations ORDER BY changed DESC, id DESC"
_NO_SESSION = "`alita sessions list` shows all sessions."
_ROW = """
INSERT INTO conversations (id, title, model, started, changed, revision, parent, record)
VALUES (:id, :title, :model, :started, :changed, :revision, :parent, :record)
ON CONFLICT (id) DO UPDATE SET title = excluded.title, model = excluded.model, started = excluded.started,
    changed = excluded.changed, revision = excluded.revision, parent = excluded.parent, record = excluded.record
"""
_FOREIGN = {"mac": ""}
"""Stored instead of a signature for a session from elsewhere."""
_TURN = "INSERT INTO turns VALUES (:conversation, :number, :run_id, :question, :answer, :status)"


def new_session(model: str) -> StoredSession:
    """Return an empty session. Nothing is stored until `save_session` is called."""
    return StoredSession(new_id(), model, time.time())


def save_session(settings: Settings, session: StoredSession, redactor: Redactor) -> StoredSession:
    """Save a session with keys removed.

    Returns:
        The session to continue. If another process has saved the session since it was read, both versions are kept, and
        this one gets a new id.

    Raises:
        StorageError: The store cannot be used. The session was written to a file, which is imported later.
    """
    try:
        with open_store(settings) as database, database.change():
            saved = _saved(settings, database, session, redactor)
    except StorageError as problem:
        _write_file(settings, session.id, redactor.json(session.as_json()))
        remedy = f"The session is kept in {_path(settings, session.id)} until then. {problem.remedy}"
        raise StorageError(problem.message, remedy=remedy) from None
    _path(settings, session.id).unlink(missing_ok=True)
    return saved


def _saved(settings: Settings, database: Database, session: StoredSession, redactor: Redactor) -> StoredSession:
    if session.revision != _revision(database, session.id):
        branched_off = session.id if session.revision else session.parent
        free = next(each for each in iter(new_id, "") if not _revision(database, each))
        session = replace(session, id=free, parent=branched_off, revision=0)
    saved = replace(session, revision=session.revision + 1, changed=time.time())
    _put(settings, database, saved, redactor.json(saved.as_json()))
    return saved


def _put(settings: Settings, database: Database, session: StoredSession, data: dict[str, Json]) -> None:
    """Write the rows of a session from its JSON form."""
    signer = signer_of(settings)
    record = data | _FOREIGN
    if session.is_own:
        record = signer.signed(session.id, data) if signer else data
    row = {name: data[name] for name in ("id", "title", "model", "started", "revision", "parent")}
    texts = ("run_id", "question", "answer", "status")
    turns = [
        {"conversation": session.id, "number": number} | {name: storable(turn[name]) for name in texts}
        for number, turn in enumerate(data["turns"], 1)
    ]
    row |= {"title": storable(data["title"]), "changed": session.changed, "record": json.dumps(record)}
    database.rows(_ROW, row)
    database.rows("DELETE FROM turns WHERE conversation = :id", {"id": session.id})
    if turns:
        database.rows(_TURN, turns)


def _write_file(settings: Settings, session_id: str, data: dict[str, Json]) -> None:
    signed = Signer(settings.data_dir).signed(session_id, data)
    with contextlib.suppress(StorageError, OSError):  # the caller reports the problem with the store
        private_folder(settings.sessions_dir)
        write_file(_path(settings, session_id), json.dumps(signed, ensure_ascii=False))


def with_late_answer(session: StoredSession, runs: Path) -> StoredSession:
    """Add the last run's answer if the process was killed before it saved the turn."""
    last = session.turns[-1] if session.turns else None
    if last is not None and last.status == "interrupted" and last.run_id:
        with contextlib.suppress(RunError):
            answer = load_run(runs, last.run_id).answer
            if answer is not None and answer.status == "answered":
                session.conversation.drop_last()
                session.conversation.add(Turn.of(last.question, answer))
    return session


def require_own(session: StoredSession) -> StoredSession:
    """Return the session if it may be continued.

    Raises:
        SessionError: The session came from elsewhere and is not trusted by the user.
    """
    if session.is_own:
        return session
    questions = count_of(len(session.turns), "question")
    raise SessionError(
        f"The session {session.id} was saved elsewhere or by an older version. "
        f"Continuing it treats its {questions} as yours.",
        remedy=f"To see it: alita sessions show {session.id}. If you trust it: alita sessions trust {session.id}",
    )


def trust_session(settings: Settings, session_id: str) -> None:
    """Trust a session from elsewhere as if it had been saved here.

    Raises:
        SessionError: There is no such session, or the session is damaged.
        StorageError: The store cannot be used.
    """
    session = replace(load_session(settings, session_id), is_own=True)
    with open_store(settings) as database, database.change():
        _put(settings, database, session, session.as_json())


def load_session(settings: Settings, session_id: str) -> StoredSession:
    """Return the session with this full id.

    Raises:
        SessionError: There is no such session, or the session is damaged.
        StorageError: The store cannot be used.
    """
    with _store(settings) as (database, _):
        found = database.rows("SELECT record, changed FROM conversations WHERE id = :id", {"id": session_id})
        if found:
            return _session_of(settings, session_id, found[0][0], found[0][1])
        path = _path(settings, session_id)
        if path.exists():
            return _in_file(settings, path)
    raise SessionError(f"There is no session {session_id}.", remedy=_NO_SESSION)


def _in_file(settings: Settings, path: Path) -> StoredSession:
    try:
        return _session_of(settings, path.stem, read_small(path, RECORD).decode(), path.stat().st_mtime, path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SessionError(f"{path} cannot be read: {reason}.", remedy="Correct or remove the file.") from None


def _session_of(
    settings: Settings, session_id: str, record: str, changed: float, path: Path | None = None
) -> StoredSession:
    place, signer = str(path or f"The session {session_id}"), Signer(settings.data_dir) if path else signer_of(settings)
    try:
        data = json_of(record.encode())
        if data["schema"] != SCHEMA:
            raise SessionError(
                f"{place} has schema {data['schema']!r}; this version reads {SCHEMA}.",
                remedy="Use the version of alita that wrote it.",
            )
        return StoredSession(
            session_id,
            str(data["model"]),
            float(data["started"]),
            Conversation.from_json(data),
            int(data["revision"]),
            data["parent"],
            changed,
            not data.items() >= _FOREIGN.items() and (signer is None or signer.holds(session_id, data)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SessionError(
            f"{place} is corrupt ({one_line(str(error))}).",
            remedy=f"Delete it with: alita sessions delete {session_id}",
        ) from None


@contextlib.contextmanager
def _store(settings: Settings) -> Iterator[tuple[Database, list[SessionError]]]:
    """Open the store and import sessions from files. Also return a sentence about each file that cannot be imported.

    These files were written by earlier versions, or while the store was unavailable.
    """
    with open_store(settings) as database:
        flaws = []
        for session_id in ids_in(settings.sessions_dir, ".json"):
            try:
                _take(settings, database, _in_file(settings, _path(settings, session_id)))
            except SessionError as flaw:
                flaws.append(flaw)
        yield database, flaws


def _take(settings: Settings, database: Database, session: StoredSession) -> None:
    """Import a session from its file. The file is deleted once the stored session has been compared with it."""
    path, data = _path(settings, session.id), session.as_json()
    with database.change():
        found = database.rows("SELECT record FROM conversations WHERE id = :id", {"id": session.id})
        known = json_of(found[0][0].encode()) if found else None
        if known is None or known["turns"] != data["turns"]:
            if known and known["revision"] != session.revision:  # another process has continued the session
                data |= {"id": new_id(), "parent": session.id}
            data |= {"revision": session.revision + (known is not None or not session.revision)}
            _put(settings, database, replace(session, id=data["id"]), data)
    kept = database.rows("SELECT record FROM conversations WHERE id = :id", {"id": data["id"]})
    if json_of(kept[0][0].encode())["turns"] == data["turns"]:
        path.unlink(missing_ok=True)


def find_session(settings: Settings, session_id: str | None = None) -> str:
    """Return a session's full id from the beginning or end of the id; by default, the session used last.

    Raises:
        SessionError: No session matches, or several do.
        StorageError: The store cannot be used.
    """
    if session_id is not None:
        with _store(settings) as (database, _):
            known = {*ids_in(settings.sessions_dir, ".json")}
            known |= {found for (found,) in database.rows("SELECT id FROM conversations")}
        return fitting_id(session_id, sorted(known), noun="session", error=SessionError)
    newest = list_sessions(settings, limit=1)
    if not newest:
        raise SessionError("There are no sessions yet.", remedy="Start one with: alita")
    return newest[0].id


def latest_session(settings: Settings) -> StoredSession:
    """Return the conversation to continue: the last used session, or a question asked later outside any session.

    Raises:
        SessionError: No question has been asked yet.
    """
    sessions = list_sessions(settings, limit=1, own=True)
    own = OwnRuns(settings)
    found = list_runs(settings.runs_dir, limit=_LOOKED_BACK)
    run = next((run for run in found if run.answer and run.answer.text and own.has(run)), None)
    if run is not None and run.answer is not None:
        known = {turn.run_id for session in sessions for turn in session.turns}
        if run.run_id not in known and not (sessions and run.started < sessions[0].changed):
            session = _before(run, settings, sessions)
            session.conversation.add(Turn.of(run.question, run.answer))
            return session
    if not sessions and (foreign := list_sessions(settings, limit=1)):
        require_own(foreign[0])
    if not sessions and found:
        own.require(found[0])
    if not sessions:
        raise SessionError("There is no conversation yet.", remedy='Ask a question first: alita "…"')
    return sessions[0]


def _before(run: Run, settings: Settings, sessions: list[StoredSession]) -> StoredSession:
    """Return the earlier conversation of a run that was interrupted and later resumed, or a new one."""
    from agent.configuration.settings import FOLLOWS

    follows = run.configuration.get(FOLLOWS)
    for session in sessions:
        if session.turns and session.turns[-1].run_id == follows:
            return session
    session = new_session(run.model)
    if follows:
        with contextlib.suppress(RunError):
            earlier = load_run(settings.runs_dir, follows)
            if earlier.answer and earlier.answer.text and OwnRuns(settings).has(earlier):
                session.conversation.add(Turn.of(earlier.question, earlier.answer))
    return session


@contextlib.contextmanager
def go_on(settings: Settings) -> Iterator[Conversation]:
    """Continue the latest conversation. It is saved as a session once a turn is added.

    Raises:
        SessionError: There is no such session.
        StorageError: The session cannot be saved.
    """
    session = latest_session(settings)
    before = len(session.turns)
    yield session.conversation
    if len(session.turns) > before:
        save_session(settings, session, Redactor(settings.secrets))


def list_sessions(settings: Settings, *, limit: int | None = None, own: bool = False) -> list[StoredSession]:
    """Return the sessions, last used first. If `own` is true, only return those saved on this machine.

    Sessions that cannot be read are listed by `damaged_sessions`.

    Raises:
        StorageError: The store cannot be used.
    """
    found: list[StoredSession] = []
    with _store(settings) as (database, _):
        for session_id, changed in database.rows(_BY_USE):
            if limit is not None and len(found) >= limit:
                break
            record = database.rows("SELECT record FROM conversations WHERE id = :id", {"id": session_id})
            with contextlib.suppress(SessionError):
                session = _session_of(settings, session_id, record[0][0], changed)
                found += [session] if session.is_own or not own else []
    return found


def damaged_sessions(settings: Settings) -> list[SessionError]:
    """Return a sentence with a remedy for each session that cannot be read."""
    with _store(settings) as (database, flaws):
        for session_id, record, changed in database.rows("SELECT id, record, changed FROM conversations"):
            try:
                _session_of(settings, session_id, record, changed)
            except SessionError as flaw:
                flaws.append(flaw)
    return flaws


def delete_session(settings: Settings, session_id: str) -> None:
    """Delete a session by its full id, even if it is damaged.

    Raises:
        SessionError: There is no such session.
        StorageError: The session cannot be deleted.
    """
    path = _path(settings, session_id)
    with _store(settings) as (database, _), database.change():
        if not _revision(database, session_id) and not path.exists():
            raise SessionError(f"There is no session {session_id}.", remedy=_NO_SESSION)
        database.rows("DELETE FROM turns WHERE conversation = :id", {"id": session_id})
        database.rows("DELETE FROM conversations WHERE id = :id", {"id": session_id})
    with writing(path):
        path.unlink(missing_ok=True)
    shutil.rmtree(files_of(settings.sessions_dir, session_id), ignore_errors=True)


def runs_in_sessions(settings: Settings) -> dict[str, str]:
    """Return a dict from the ids of runs to the ids of the sessions that need them.

    Files that are not imported yet are only searched for text that looks like a run id.

    Raises:
        StorageError: The store cannot be used.
    """
    found: dict[str, str] = {}
    with _store(settings) as (database, _):
        for session_id in ids_in(settings.sessions_dir, ".json"):
            with contextlib.suppress(OSError):
                text = read_small(_path(settings, session_id), RECORD).decode("utf-8", "replace")
                found |= dict.fromkeys(ID.findall(text), session_id)
        known = database.rows("SELECT run_id, conversation FROM turns")
        return found | {run_id: str(session_id) for run_id, session_id in known}


def files_of(folder: Path, session_id: str) -> Path:
    """Return the folder of a session's files, such as long pastes. It is deleted with the session."""
    return folder / session_id


def _revision(database: Database, session_id: str) -> int:
    """Lock a session until the transaction ends, and return its revision, or 0 if it is not stored."""
    lock = " FOR UPDATE" if database.dialect == "postgresql" else ""
    found = database.rows(f"SELECT revision FROM conversations WHERE id = :id{lock}", {"id": session_id})  # noqa: S608
    return int(found[0][0]) if found else 0


def _path(settings: Settings, session_id: str) -> Path:
    """Return the path of a session that has not been imported yet."""
    return settings.sessions_dir / f"{session_id}.json"


Format = Literal["md", "json"]
_LOADS_SOMETHING = re.compile(
    r"!(?=\[)|<(?=\s*/?(?:img|picture|source|svg|image|iframe|video|audio|embed|object|link|input|style|script)\b)"
    r"|<(?=[a-z][\w-]*(?:\s|$|/(?!>)))",
    re.I,
)
"""Matches the start of a Markdown picture, of an HTML element that loads a resource, or of any element with
attributes."""
_SPELLED = {"!": "&#33;", "<": "&lt;"}


def export_session(session: StoredSession, form: Format) -> str:
    """Return a session as text that ends with a newline.

    The Markdown contains no control characters and loads no pictures.
    """
    if form == "json":
        return json.dumps(session.as_json(), indent=2) + "\n"
    head = f"# {one_line(session.title)}\n\nSession {session.id}, {_when(session.started)}, model {session.model}\n"
    return _without_pictures(head + "".join(f"\n{_turn(number, turn)}" for number, turn in enumerate(session.turns, 1)))


def _without_pictures(text: str) -> str:
    """Escape pictures in Markdown, so that a viewer loads nothing.

    Code is left unchanged. Escaping can change which parts are code, so it is repeated until nothing changes.
    """
    from markdown_it import MarkdownIt

    lines, parse = text.split("\n"), MarkdownIt("commonmark").parse
    while True:
        code: set[int] = set()
        for token in parse("\n".join(lines)):
            if token.type in ("fence", "code_block") and token.map:
                code.update(range(*token.map))
        spelled = [
            line if number in code else _LOADS_SOMETHING.sub(lambda found: _SPELLED[found[0]], line)
            for number, line in enumerate(lines)
        ]
        if spelled == lines:
            return "\n".join(lines)
        lines = spelled


def _turn(number: int, turn: Turn) -> str:
    answer = printable(turn.answer).strip() or f"_No answer: {printable(turn.error or turn.status)}_"
    asked = "\n".join(f"> {line}".rstrip() for line in printable(turn.question).splitlines())
    restated = f"Understood as: {one_line(turn.restated, 1000)}\n\n" if turn.restated else ""
    facts = [
        turn.status.replace("_", " "),
        _when(turn.asked),
        f"{turn.seconds:.1f} s",
        *([f"created {', '.join(turn.tools_created)}"] if turn.tools_created else []),
        *([f"used {', '.join(turn.tools_used)}"] if turn.tools_used else []),
        *([f"run {turn.run_id}"] if turn.run_id else []),
    ]
    return f"## {number}. Question\n\n{asked}\n\n{restated}{answer}\n\n_{' · '.join(map(one_line, facts))}_\n"


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
