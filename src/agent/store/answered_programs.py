"""The programs that answered questions, by the form of the question: one that comes again is offered as a tool."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.create.question_template import form_of

_LONGEST = 8_000
"""Characters of a program that is kept: a prompt may show it."""


class AnsweredPrograms:
    """One small file for each form of question. A damaged or unwritable folder is an empty one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, question: str) -> str:
        """The program that answered the same question, maybe with other values; empty where there is none."""
        try:
            return self._path(question).read_text("utf-8")
        except (OSError, ValueError):
            return ""

    def put(self, question: str, program: str) -> None:
        """Keeps the program, whole or not at all."""
        if len(program) <= _LONGEST:
            with contextlib.suppress(OSError, ValueError):
                private_folder(self._folder)
                write_whole(self._path(question), program.encode())

    def _path(self, question: str) -> Path:
        digest = hashlib.sha256(form_of(question).text.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest[:32]}.py"
