"""Long pastes. The prompt replaces a long paste with a short label. A very long paste becomes a file of the session."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from agent.store.redact import Redactor
from agent.user_files import write_file, writing
from mcp_tools.atomic import private_folder
from mcp_tools.text import one_line

FOLD_LINES = 8
FOLD_CHARACTERS = 1_000
"""A paste with more characters than this, or with more than `FOLD_LINES` lines, is shown as a label."""
FILE_CHARACTERS = 20_000
"""A paste with more characters than this becomes a file."""
_LABEL = re.compile(r"\[pasted[^\[\]\n]+\]")


def in_short(question: str) -> str:
    """Return a question with the middle of a long paste left out."""
    lines = question.rstrip("\n").split("\n")
    if len(lines) > FOLD_LINES:
        lines[1:-1] = [f"[… {len(lines) - 2} lines]"]
    return "\n".join(one_line(line, FOLD_CHARACTERS) if len(line) > FOLD_CHARACTERS else line for line in lines)


class Pastes:
    """The pastes of a session that are shown as labels.

    Args:
        folder: Returns the folder for the session's files.
        redactor: Removes keys from pastes that become files.
    """

    def __init__(self, folder: Callable[[], Path], redactor: Redactor) -> None:
        self._folder, self._redactor = folder, redactor
        self._texts: dict[str, str] = {}
        self._files: dict[str, Path] = {}

    def fold(self, text: str) -> str:
        """Return what the prompt shows for a paste: the text if it is short, otherwise a label.

        Raises:
            StorageError: The paste is so long that it becomes a file, but the file cannot be written.
        """
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if len(text) > FILE_CHARACTERS:
            return self._as_file(text)
        lines = text.rstrip("\n").count("\n") + 1
        if lines <= FOLD_LINES and len(text) <= FOLD_CHARACTERS:
            return text
        size = f"{lines} lines" if lines > FOLD_LINES else f"{len(text):,} characters"
        number = 1
        while self._texts.get(label := f"[pasted {size}{f' #{number}' if number > 1 else ''}]", text) != text:
            number += 1
        self._texts[label] = text
        return label

    def _as_file(self, text: str) -> str:
        path = self.keep("pasted", text)
        label = f"[{path.name}, {path.stat().st_size / 1e6:.1f} MB]"
        self._files[label] = path
        return label

    def keep(self, name: str, text: str) -> Path:
        """Write a text to a new file of the session, with keys removed.

        Raises:
            StorageError: The file cannot be written.
        """
        folder, number = self._folder(), 1
        while (path := folder / f"{name}_{number}.txt").exists():
            number += 1
        with writing(folder):
            private_folder(folder)
        write_file(path, self._redactor.text(text))
        return path

    def open(self, text: str) -> str:
        """Replace the labels in an entry with the pasted texts. Labels of files are kept."""
        return _LABEL.sub(lambda found: self._texts.get(found[0], found[0]), text)

    def expand(self, text: str) -> str:
        """Return an entry as it is sent, with pasted texts in full and files as `@"path"`."""

        def whole(found: re.Match[str]) -> str:
            path = self._files.get(found[0])
            return f'@"{path}"' if path else self._texts.get(found[0], found[0])

        return _LABEL.sub(whole, text)

    def has_file(self, text: str) -> bool:
        """Return True if an entry contains a paste that became a file."""
        return any(label in text for label in self._files)

    def fold_again(self, text: str) -> str:
        """Return an entry as the prompt showed it, undoing `expand`."""
        for label, whole in self._texts.items():
            text = text.replace(whole, label)
        for label, path in self._files.items():
            text = text.replace(f'@"{path}"', label)
        return text

    def discard(self) -> None:
        """Delete the files of a session that was never saved."""
        shutil.rmtree(self._folder(), ignore_errors=True)
