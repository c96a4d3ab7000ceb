"""Why a file cannot be read, in a form that models and people can act on."""

from __future__ import annotations

from typing import Literal

from agent.errors import ModelFixableError

Reason = Literal[
    "missing", "empty", "truncated", "damaged", "encrypted", "mismatch", "too_large", "bomb", "unsupported", "timeout"
]


class FileProblem(ModelFixableError):
    """A file cannot be read, or not in the way that was asked for.

    Args:
        reason: What kind of problem it is.
        message: What happened, with the name of the file.
        remedy: What to do next.
    """

    def __init__(self, reason: Reason, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.reason: Reason = reason
