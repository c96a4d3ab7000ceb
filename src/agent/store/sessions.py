"""Session files: conversations that can be continued, read, exported and deleted.

One file for each session, written whole or not at all and readable by its user alone. A file carries a revision;
who saves a session that another process has gone on with meanwhile gets a session of its own, so that no turn is lost.
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
from agent.errors import RunError, SessionError
from agent.store.own_runs import OwnRuns
from agent.store.redact import Redactor
from agent.store.runs import Run, fitting_id, ids_in, list_runs, load_run, new_id
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
    """One conversation with its name and its place in time."""

    id: str
    model: str
    started: float
    conversation: Conversation = field(default_factory=Conversation)
    revision: int = 0
    """How often it was saved; 0 for one that is not on disk."""
    parent: str | None = None
    """The session that this one branched off, when two processes went on with one."""
    changed: float = 0.0
    is_own: bool = True
    """False for a file that this user's alita did not write: its questions are not the user's words."""

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
        own = {name: getattr(self, name) for name in ("id", "title", "model", "started", "revision", "parent")}
        return {"schema": SCHEMA, **own, **self.conversation.as_json()}


Format = Literal["md", "json"]
_FETCHED = re.compile(
    r"!(?=\[)|<(?=\s*/?(?:img|picture|source|svg|image|iframe|video|audio|embed|object|link|input|style|script)\b)"
    r"|<(?=[a-z][\w-]*(?:\s|$|/(?!>)))",
    re.I,
)
"""The beginning of a picture in Markdown, of an HTML element that loads something, and of any with attributes."""
_SPELLED = {"!": "&#33;", "<": "&lt;"}


def export_session(session: StoredSession, form: Format) -> str:
    """The session as text, which ends with a line feed.

    Markdown is free of control characters, and whoever opens it fetches no picture from elsewhere.
    """
    if form == "json":
        return json.dumps(session.as_json(), indent=2) + "\n"
    head = f"# {one_line(session.title)}\n\nSession {session.id}, {_when(session.started)}, model {session.model}\n"
    return _fetching_nothing(head + "".join(f"\n{_turn(number, turn)}" for number, turn in enumerate(session.turns, 1)))


def _fetching_nothing(text: str) -> str:
    """Markdown whose pictures are text. Code shows none and stays; what is code may change by it, hence the loop."""
    from markdown_it import MarkdownIt

    lines, parse = text.split("\n"), MarkdownIt("commonmark").parse
    while True:
        code: set[int] = set()
        for token in parse("\n".join(lines)):
            if token.type in ("fence", "code_block") and token.map:
                code.update(range(*token.map))
        spelled = [
            line if number in code else _FETCHED.sub(lambda found: _SPELLED[found[0]], line)
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


_LOCK = ".lock"
_LOOKED_BACK = 20


def new_session(model: str) -> StoredSession:
    """An empty session, which is on disk once it is saved."""
    return StoredSession(new_id(), model, time.time())


def save_session(folder: Path, session: StoredSession, redactor: Redactor) -> StoredSession:
    """Writes a session without keys.

    Returns:
        The session to go on with. It has another id than before when the file was changed by another process since it
        was read: then both are kept.

    Raises:
        StorageError: The folder cannot be written.
    """
    with _writing(folder):
        if session.revision != _revision_on_disk(folder, session.id):
            branched_off = session.id if session.revision else session.parent
            free = next(each for each in iter(new_id, "") if not _path(folder, each).exists())
            session = replace(session, id=free, parent=branched_off, revision=0)
        saved = replace(session, revision=session.revision + 1, changed=time.time())
        _write(folder, saved.id, redactor.json(saved.as_json()))
    return saved


def _write(folder: Path, session_id: str, data: dict[str, Json]) -> None:
    signed = Signer(folder.parent).signed(session_id, data)
    write_file(_path(folder, session_id), json.dumps(signed, ensure_ascii=False, indent=1))


def with_late_answer(session: StoredSession, runs: Path) -> StoredSession:
    """Return the session with the saved answer of its last run, if a kill came before the turn was saved with it."""
    last = session.turns[-1] if session.turns else None
    if last is not None and last.status == "interrupted" and last.run_id:
        with contextlib.suppress(RunError):
            answer = load_run(runs, last.run_id).answer
            if answer is not None and answer.status == "answered":
                session.conversation.drop_last()
                session.conversation.add(Turn.of(last.question, answer))
    return session


def require_own(session: StoredSession) -> StoredSession:
    """Return a session that may be continued.

    Raises:
        SessionError: It came from elsewhere, and the user does not trust it.
    """
    if session.is_own:
        return session
    questions = count_of(len(session.turns), "question")
    raise SessionError(
        f"The session {session.id} was not saved here, or by an older version. "
        f"Continuing it takes its {questions} for yours.",
        remedy=f"To see it: alita sessions show {session.id}. If you trust it: alita sessions trust {session.id}",
    )


def trust_session(folder: Path, session_id: str) -> None:
    """Takes a session that came from elsewhere for one that was saved here.

    Raises:
        SessionError: There is none, or its file is damaged.
        StorageError: The folder cannot be written.
    """
    with _writing(folder):
        _write(folder, session_id, load_session(folder, session_id).as_json())


def load_session(folder: Path, session_id: str) -> StoredSession:
    """Reads a session by its full id.

    Raises:
        SessionError: There is none, or its file is damaged.
    """
    path = _path(folder, session_id)
    try:
        data = json_of(read_small(path, RECORD))
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
            int(data["revision"]),
            data["parent"],
            path.stat().st_mtime,
            Signer(folder.parent).holds(session_id, data),
        )
    except FileNotFoundError:
        remedy = "`alita sessions list` shows all sessions."
        raise SessionError(f"There is no session {session_id}.", remedy=remedy) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it is damaged ({one_line(str(error))})"
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
    sessions = list_sessions(settings.sessions_dir, limit=1, own=True)
    own = OwnRuns(settings)
    found = list_runs(settings.runs_dir, limit=_LOOKED_BACK)
    run = next((run for run in found if run.answer and run.answer.text and own.has(run)), None)
    if run is not None and run.answer is not None:
        known = {turn.run_id for session in sessions for turn in session.turns}
        if run.run_id not in known and not (sessions and run.started < sessions[0].changed):
            session = _before(run, settings, sessions)
            session.conversation.add(Turn.of(run.question, run.answer))
            return session
    if not sessions and (foreign := list_sessions(settings.sessions_dir, limit=1)):
        require_own(foreign[0])
    if not sessions and found:
        own.require(found[0])
    if not sessions:
        raise SessionError("There is no conversation yet.", remedy='Ask something first: alita "…"')
    return sessions[0]


def _before(run: Run, settings: Settings, sessions: list[StoredSession]) -> StoredSession:
    """The conversation that a run followed up on, which was interrupted and ended later; else a new one."""
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


def list_sessions(folder: Path, *, limit: int | None = None, own: bool = False) -> list[StoredSession]:
    """Sessions, or only those that were saved here (`own`), the one used last first.

    `damaged_sessions` has those that cannot be read.
    """

    def last_use(session_id: str) -> tuple[int, str]:
        path = _path(folder, session_id)
        return path.stat().st_mtime_ns if path.exists() else 0, session_id

    found: list[StoredSession] = []
    for session_id in sorted(ids_in(folder, ".json"), key=last_use, reverse=True):
        if limit is not None and len(found) >= limit:
            break
        with contextlib.suppress(SessionError):
            session = load_session(folder, session_id)
            found += [session] if session.is_own or not own else []
    return found


def damaged_sessions(folder: Path) -> list[SessionError]:
    """Why files in the folder cannot be read, each with its remedy."""
    found = []
    for session_id in ids_in(folder, ".json"):
        try:
            load_session(folder, session_id)
        except SessionError as error:
            found.append(error)
    return found


def delete_session(folder: Path, session_id: str) -> None:
    """Removes a session by its full id, also a damaged one.

    Raises:
        SessionError: There is none.
        StorageError: It cannot be removed.
    """
    with _writing(folder):
        try:
            _path(folder, session_id).unlink()
        except FileNotFoundError:
            remedy = "`alita sessions list` shows all sessions."
            raise SessionError(f"There is no session {session_id}.", remedy=remedy) from None
        shutil.rmtree(files_of(folder, session_id), ignore_errors=True)


def files_of(folder: Path, session_id: str) -> Path:
    """Return the folder of a session's own files, such as long pastes; it goes with the session."""
    return folder / session_id


def _revision_on_disk(folder: Path, session_id: str) -> int:
    """0 when there is no file, -1 when it cannot be read."""
    if not _path(folder, session_id).exists():
        return 0
    try:
        return load_session(folder, session_id).revision
    except SessionError:
        return -1


def _path(folder: Path, session_id: str) -> Path:
    return folder / f"{session_id}.json"


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Holds the lock of the folder between processes, for as long as one file takes to write."""
    from filelock import FileLock

    with writing(folder):
        private_folder(folder)
        with FileLock(folder / _LOCK, mode=0o600):
            yield
