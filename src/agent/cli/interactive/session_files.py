"""The files of a session: attached, pasted, downloaded and made ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import RunError
from agent.running import PICTURES, WEB
from agent.store.own_runs import OwnRuns
from agent.store.runs import Run, describe_file, load_run
from agent.store.sessions import StoredSession, files_of
from agent.store.transcripts import transcript_of

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_OF_A_RUN = {WEB: "downloaded", PICTURES: "downloaded", "workspace": "made"}


def session_files(settings: Settings, session: StoredSession) -> list[tuple[str, ...]]:
    """Return a row for each file: how it came, its size or what became of it, and its path."""
    runs, rows = settings.runs_dir, {}
    own = files_of(settings.sessions_dir, session.id)
    for run in _runs(settings, session):
        for file in run.files:
            path = Path(file.path)
            rows[path] = ("pasted" if path.is_relative_to(own) else "attached", _state(path, file.sha256))
    homes = [transcript_of(OwnRuns(settings), session.turns).home, *(turn.run_id for turn in session.turns)]
    for home in dict.fromkeys(filter(None, homes)):
        for folder, kind in _OF_A_RUN.items():
            for path in sorted((runs / home / folder).glob("**/*")):
                if path.is_file() and not path.name.startswith("."):
                    rows[path] = (kind, _size(path))
    return [(*facts, str(path)) for path, facts in rows.items()]


def _runs(settings: Settings, session: StoredSession) -> Iterator[Run]:
    for turn in session.turns:
        try:
            if turn.run_id:
                yield load_run(settings.runs_dir, turn.run_id)
        except RunError:  # it was deleted
            continue


def _state(path: Path, sha256: str) -> str:
    if not path.is_file():
        return "gone"
    return _size(path) + ("" if describe_file(path).sha256 == sha256 else ", changed")


def _size(path: Path) -> str:
    return f"{path.stat().st_size:,} bytes"
