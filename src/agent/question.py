"""Questions and their limits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mcp_tools.errors import UsageError

COPIED_FOLDER, MANIFEST, REMOVED_FILES = "folder", "folder.json", "folder_removed"
"""Names in a run: the copy of the user's folder, the record of the copy, and files removed from the folder."""


@dataclass(frozen=True, slots=True)
class FolderGrant:
    """A folder of the user that programs may read."""

    path: Path | None
    """The folder; None revokes an earlier grant of the conversation."""
    writes: bool = False
    """True if programs may change a copy. The user can then apply the changes."""


class Purpose(StrEnum):
    """The purpose of a run, chosen once when it begins."""

    ANSWER = "answer"
    CREATE = "create"
    """Find or create a tool for such questions."""
    HAND_OVER = "hand_over"
    """Answer a question that another run handed over."""

    @property
    def wants_tool(self) -> bool:
        """True if the result must be a tool, so that the run may only use or create one."""
        return self is Purpose.CREATE

    @property
    def is_users(self) -> bool:
        """True if the user asked the question and may send messages. The run then has its own limits."""
        return self is not Purpose.HAND_OVER

    @property
    def is_judged(self) -> bool:
        """True if the run tries again after a doubtful answer."""
        return self is Purpose.ANSWER

    @property
    def takes_known_answers(self) -> bool:
        """True if arithmetic or an earlier answer may replace the run."""
        return self is Purpose.ANSWER


NOT_KEPT = "No tool was kept. Ask for something that can be computed, and put all values into the question."
LONGEST_QUESTION = 100_000
"""Maximum characters of a question. Longer text is data and belongs in a file."""
_FILE = re.compile(
    r"\[IMPORTANT CONTEXT:\s*files?\b(?:\s+(?:path|at|is)\b)?\s*[:=]?\s*"
    r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\]\n]+?))\s*\]",
    re.IGNORECASE,
)


def usable(text: str) -> str:
    """Return the question without surrounding blanks and with Unix line endings.

    Raises:
        UsageError: The question is empty or too long.
    """
    question = text.replace("\r\n", "\n").strip()
    if not question:
        raise UsageError("The question is empty.", remedy='Add a question: alita "What is the 57th Fibonacci number?"')
    if len(question) > LONGEST_QUESTION:
        raise UsageError(
            f"The question has {len(question):,} characters; the limit is {LONGEST_QUESTION:,}.",
            remedy='Put the data in a file and attach it: alita --file data.txt "…"',
        )
    return question


def files_named(text: str) -> list[Path]:
    """Return the files that a question attaches with `[IMPORTANT CONTEXT: file PATH]`.

    Use this only for text that the user typed. Text from a pipe, page, data set or client must not attach local files.
    """
    return [Path(next(filter(None, found.groups()))).expanduser() for found in _FILE.finditer(text)]
