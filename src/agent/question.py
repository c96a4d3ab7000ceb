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
    """A folder of the user's that programs may read."""

    path: Path | None
    """None takes back what was granted earlier in the conversation."""
    writes: bool = False
    """True if they work on a copy; the user may apply the changes."""


class Purpose(StrEnum):
    """The purpose of a run, chosen once when it begins."""

    ANSWER = "answer"
    CREATE = "create"
    """A tool for such questions, found in the library or created."""
    HAND_OVER = "hand_over"
    """An answer for the run that hands the question over."""

    @property
    def wants_tool(self) -> bool:
        """True if only a tool counts as a result, so the run may only use or create one."""
        return self is Purpose.CREATE

    @property
    def is_users(self) -> bool:
        """True if the user asked and may send messages; the limits of the run are this question's own."""
        return self is not Purpose.HAND_OVER

    @property
    def is_judged(self) -> bool:
        """True if a doubtful answer goes back for another attempt."""
        return self is Purpose.ANSWER

    @property
    def takes_known_answers(self) -> bool:
        """True if arithmetic or an earlier answer may replace the run."""
        return self is Purpose.ANSWER


NOT_KEPT = "No tool was kept. Ask for something that can be computed, and put all values into the question."
LONGEST_QUESTION = 100_000
"""Characters. More is data, and belongs into a file."""
_FILE = re.compile(
    r"\[IMPORTANT CONTEXT:\s*files?\b(?:\s+(?:path|at|is)\b)?\s*[:=]?\s*"
    r"(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\]\n]+?))\s*\]",
    re.IGNORECASE,
)


def usable(text: str) -> str:
    """The question without blanks around it, its lines ended as on Unix.

    Raises:
        UsageError: It is empty or too long.
    """
    question = text.replace("\r\n", "\n").strip()
    if not question:
        raise UsageError("The question is empty.", remedy='Ask something: alita "What is the 57th Fibonacci number?"')
    if len(question) > LONGEST_QUESTION:
        raise UsageError(
            f"The question has {len(question):,} characters; the limit is {LONGEST_QUESTION:,}.",
            remedy='Put the data in a file and attach it: alita --file data.txt "…"',
        )
    return question


def files_named(text: str) -> list[Path]:
    """The files that a question attaches with `[IMPORTANT CONTEXT: file PATH]`.

    Only for what the user typed: text of a pipe, a page, a data set or a client names no files of this machine.
    """
    return [Path(next(filter(None, found.groups()))).expanduser() for found in _FILE.finditer(text)]
