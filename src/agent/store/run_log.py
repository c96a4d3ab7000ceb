"""The log of all runs: one file per day, with one JSON line per event, including the run's id."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.events import NOT_LOGGED, AnswerWritten, Event, ModelStarting, Note, RunFinished, RunStarted, Warned
from agent.models.protocol import Usage
from mcp_tools.atomic import private, private_folder
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_WIDTH = 300
_OF_ANSWER = ("status", "model", "steps", "actions", "seconds", "limit", "usage", "cost")


class RunLog:
    """Appends events to today's file, which processes can share. A failed write does not end the run.

    Args:
        folder: Folder of the log files, such as `2026-11-25.log`. Only the user can read them.
        days: Number of days for which files are kept. If 0, nothing is written.
    """

    def __init__(self, folder: Path, days: int) -> None:
        self._folder = folder
        self._days = days
        self._run_id = ""
        self._day = ""
        self._has_failed = False

    def write(self, event: Event) -> str:
        """Write an event. It must not contain keys.

        Returns:
            The reason if the write failed for the first time, otherwise an empty string.
        """
        if isinstance(event, RunStarted):
            self._run_id = event.run_id
        elif isinstance(event, RunFinished):  # not preceded by RunStarted if no run was needed
            self._run_id = event.answer.run_id
        if isinstance(event, AnswerWritten) or (isinstance(event, ModelStarting) and event.fraction is not None):
            return ""
        return self._append(event.kind, _facts(event))

    def fail(self, error: str, message: str) -> str:
        """Write an event for a run that ended without an answer. Return the same value as `write`."""
        return self._append("run_failed", {"error": error, "message": message})

    def _append(self, kind: str, facts: dict[str, Any]) -> str:
        if not self._days or self._has_failed:
            return ""
        now = datetime.now(UTC)
        short = {name: one_line(value, _WIDTH) if isinstance(value, str) else value for name, value in facts.items()}
        entry = {"time": now.isoformat(timespec="milliseconds"), "run": self._run_id, "event": kind, **short}
        day = entry["time"][:10]
        path = f"{self._folder}/{day}.log"
        try:
            if day != self._day:
                private_folder(self._folder)
                self._remove_old()
                self._day = day
            file = private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                os.write(file, json.dumps(entry).encode() + b"\n")
            finally:
                os.close(file)
        except OSError as error:
            self._has_failed = True
            return f"the log {path} cannot be written: {error.strerror or error}"
        return ""

    def _remove_old(self) -> None:
        for path in self._folder.glob("????-??-??.log"):
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - self._days * 24 * 3600:
                    path.unlink()


def _facts(event: Event) -> dict[str, Json]:
    """Return an event's fields without questions and findings. For an answer, only calls, tokens and time are kept."""
    if isinstance(event, Note | Warned | ModelStarting):
        return {"text": event.text}
    if isinstance(event, RunFinished):
        whole = event.answer.as_json()
        return {name: whole[name] for name in _OF_ANSWER if whole[name] is not None}
    logged = {field.name: getattr(event, field.name) for field in fields(event) if field.name not in NOT_LOGGED}
    logged = {name: value for name, value in logged.items() if value not in ("", ())}
    return {name: asdict(value) if isinstance(value, Usage) else value for name, value in logged.items()}
