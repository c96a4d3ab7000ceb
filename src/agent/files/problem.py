"""Why a file cannot be read, in a form that models and people can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent.errors import ModelFixableError

if TYPE_CHECKING:
    from agent.files.contents import ReadLimits

Reason = Literal[
    "missing",
    "empty",
    "truncated",
    "damaged",
    "encrypted",
    "mismatch",  # its name promises another kind
    "too_large",
    "bomb",  # it unpacks to more than it should
    "unsupported",
    "timeout",
    "range",  # a page that is not there
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


def too_large(name: str, limits: ReadLimits) -> FileProblem:
    """Reading needs more memory than it may take."""
    return FileProblem(
        "too_large",
        f"{name} needs more than {limits.memory >> 20:,} MiB of memory to be read.",
        remedy="Compute with it in a program that takes it in parts.",
    )


def damaged(name: str, kind: str, error: BaseException) -> FileProblem:
    """A parser failed at a file in a way of its own."""
    said = " ".join(str(error).split())[:200]
    return FileProblem(
        "damaged",
        f"{name} cannot be read as {kind}: {type(error).__name__}{': ' if said else ''}{said}",
        remedy="It may be damaged. Look at its bytes in a program.",
    )
