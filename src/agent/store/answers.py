"""Answers of finished runs by question, files and configuration: a question repeated within a day costs nothing."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from agent.answer import Answer
from agent.store.runs import InputFile
from agent.version import alita_version

SECONDS_KEPT = 24 * 3600.0
"""How long an answer stands: what was right yesterday, of prices, news or days until a date, need not be so today."""


class AnswerCache:
    """One small file for each answered question. A damaged or unwritable cache is an empty one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, question: str, files: Sequence[InputFile], configuration: dict[str, str]) -> Answer | None:
        """The answer given before to the same question with the same files and configuration."""
        path = self._path(question, files, configuration)
        try:
            if not 0 <= time.time() - path.stat().st_mtime < SECONDS_KEPT:
                path.unlink()
                return None
            return Answer.from_json(json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, question: str, files: Sequence[InputFile], configuration: dict[str, str], answer: Answer) -> None:
        """Keeps an answer, whole or not at all."""
        path = self._path(question, files, configuration)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(answer.as_json(), ensure_ascii=True), encoding="utf-8")
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)

    def _path(self, question: str, files: Sequence[InputFile], configuration: dict[str, str]) -> Path:
        key = [alita_version(), question, [file.sha256 for file in files], configuration]
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self._folder / f"{digest[:32]}.json"
