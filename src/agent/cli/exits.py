"""The exit codes of `alita`: one table, from which help, documentation and behaviour come."""

from __future__ import annotations

EXIT_CODES: tuple[tuple[int, str, str], ...] = (
    (0, "answered", "answered"),
    (1, "failed", "failed"),
    (2, "", "bad usage or configuration"),
    (3, "no_answer", "finished without an answer"),
    (4, "declined", "declined"),
    (124, "limit", "a limit was reached; the best answer so far is printed"),
    (130, "interrupted", "interrupted"),
)
"""Code, the answer's status that it stands for, and what help says."""

BAD_USAGE = 2
INTERRUPTED = 130

_BY_STATUS = {status: code for code, status, _ in EXIT_CODES if status}


def exit_code(status: str) -> int:
    """The exit code of an answer's status."""
    return _BY_STATUS[status]
