"""Session files: conversations that can be continued, read and deleted.

One file for each session, written whole or not at all and readable by its user alone.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.conversation import Conversation, Turn
from agent.errors import SessionError
from agent.store.redact import Redactor
from agent.store.runs import fitting_id, ids_in, list_runs, new_id
from agent.user_files import unwritable, write_file
from mcp_tools.atomic import private_folder
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

SCHEMA = 1
TITLE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class StoredSession:
    """One conversation with its name and its place in time."""

    id: str
    model: str
    started: float
    conversation: Conversation = field(default_factory=Conversation)
    changed: float = 0.0

    @property
    def title(self) -> str:
        """Its first question, on one line."""
        return one_line(self.turns[0].question, TITLE_LENGTH) if self.turns else "(empty)"

    @property
    def turns(self) -> list[Turn]:
        """What was asked and answered, oldest first."""
        return self.conversation.turns

    def as_json(self) -> dict[str, Json]:
        """The content of its file."""
        head = {"schema": SCHEMA, "id": self.id, "title": self.title, "model": self.model, "started": self.started}
        return {**head, **self.conversation.as_json()}


_LOOKED_BACK = 20
"""Runs among which the last answered one is looked for."""


def new_session(model: str) -> StoredSession:
    """An empty session, which is on disk once it is saved."""
    return StoredSession(new_id(), model, time.time())


def save_session(folder: Path, session: StoredSession, redactor: Redactor) -> None:
    """Writes a session without keys, whole or not at all; of two processes that go on with it, the last one wins.

    Raises:
        StorageError: The folder cannot be written.
    """
    try:
        private_folder(folder)
    except OSError as error:
        raise unwritable(folder, error.strerror) from error
    data = json.dumps(redactor.json(session.as_json()), ensure_ascii=False, indent=1)
    write_file(_path(folder, session.id), data)


def load_session(folder: Path, session_id: str) -> StoredSession:
    """Reads a session by its full id.

    Raises:
        SessionError: There is none, or its file is damaged.
    """
    path = _path(folder, session_id)
    try:
        data = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
        if data["schema"] != SCHEMA:
            raise SessionError(
                f"{path} has schema {data['schema']!r}; this version reads {SCHEMA}.",
                remedy="Use the version of alita that wrote it.",
            )
        return StoredSession(
            session_id,
            str(data["model"]),
            float(data["started"]),
            Conversation.from_json(data),
            path.stat().st_mtime,
        )
    except FileNotFoundError:
        remedy = "`alita sessions list` shows all sessions."
        raise SessionError(f"There is no session {session_id}.", remedy=remedy) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it is damaged ({one_line(repr(error))})"
        raise SessionError(
            f"{path} cannot be read: {reason}.",
            remedy=f"Fix the file, or delete it with: alita sessions delete {session_id}",
        ) from None


def find_session(folder: Path, session_id: str | None = None) -> str:
    """The full id of a session, from its beginning or its end; without one, the session that was used last.

    Raises:
        SessionError: None fits, or several do.
    """
    if session_id is not None:
        return fitting_id(session_id, ids_in(folder, ".json"), noun="session", error=SessionError)
    newest = list_sessions(folder, limit=1)
    if not newest:
        raise SessionError("There are no sessions yet.", remedy="Start one with: alita")
    return newest[0].id


def latest_session(settings: Settings) -> StoredSession:
    """The conversation that is gone on with: the session used last, or the question asked since then outside of one.

    Raises:
        SessionError: Nothing was asked yet.
    """
    sessions = list_sessions(settings.sessions_dir, limit=1)
    answered = (run for run in list_runs(settings.runs_dir, limit=_LOOKED_BACK) if run.answer and run.answer.text)
    run = next(answered, None)
    if run is not None and run.answer is not None:
        known = {turn.run_id for session in sessions for turn in session.turns}
        if run.run_id not in known and not (sessions and run.started < sessions[0].changed):
            session = new_session(run.model)
            session.conversation.add(Turn.of(run.question, run.answer))
            return session
    if not sessions:
        raise SessionError("There is no conversation yet.", remedy='Ask something first: alita "…"')
    return sessions[0]


@contextlib.contextmanager
def go_on(settings: Settings) -> Iterator[Conversation]:
    """The latest conversation, which is saved as a session when a turn was added.

    Raises:
        SessionError: There is none.
        StorageError: It cannot be saved.
    """
    session = latest_session(settings)
    before = len(session.turns)
    yield session.conversation
    if len(session.turns) > before:
        save_session(settings.sessions_dir, session, Redactor(settings.secrets))


def list_sessions(folder: Path, *, limit: int | None = None) -> list[StoredSession]:
    """Sessions, the one used last first; those that cannot be read are left out."""

    def last_use(session_id: str) -> tuple[int, str]:
        path = _path(folder, session_id)
        return path.stat().st_mtime_ns if path.exists() else 0, session_id

    found: list[StoredSession] = []
    for session_id in sorted(ids_in(folder, ".json"), key=last_use, reverse=True):
        if limit is not None and len(found) >= limit:
            break
        with contextlib.suppress(SessionError):
            found.append(load_session(folder, session_id))
    return found


def delete_session(folder: Path, session_id: str) -> None:
    """Removes a session by its full id, also a damaged one.

    Raises:
        SessionError: There is none.
        StorageError: It cannot be removed.
    """
    try:
        _path(folder, session_id).unlink()
    except FileNotFoundError:
        remedy = "`alita sessions list` shows all sessions."
        raise SessionError(f"There is no session {session_id}.", remedy=remedy) from None
    except OSError as error:
        raise unwritable(folder, error.strerror) from error


def _path(folder: Path, session_id: str) -> Path:
    return folder / f"{session_id}.json"
