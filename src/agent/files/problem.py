"""Why a file cannot be read, in a form that models and people can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent.errors import ModelFixableError

if TYPE_CHECKING:
    from agent.files.contents import ReadLimits, Source

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


def parser_failed(name: str, kind: str, error: BaseException) -> FileProblem:
    """A parser failed at a file in a way of its own."""
    said = " ".join(str(error).split())[:200]
    return FileProblem(
        "damaged",
        f"{name} cannot be read as {kind}: {type(error).__name__}{': ' if said else ''}{said}",
        remedy="It may be damaged. Look at its bytes in a program.",
    )


def name_of(source: Source) -> str:
    """How messages call the file."""
    return source.name or source.path.name


def beginning(source: Source, size: int = 1024) -> bytes:
    """The first bytes of a file.

    Raises:
        FileProblem: It is missing, cannot be opened, or has no bytes.
    """
    try:
        with source.path.open("rb") as file:
            head = file.read(size)
    except OSError as error:
        raise FileProblem(
            "missing", f"{name_of(source)} cannot be opened: {error.strerror or error}.", remedy="Check its name."
        ) from None
    if not head:
        raise FileProblem("empty", f"{name_of(source)} is empty: it has no bytes.", remedy="There is nothing to read.")
    return head


def damaged(source: Source, what: str, why: object = "") -> FileProblem:
    """The problem of a file whose content does not hold together."""
    said = f": {why}" if str(why) else ""
    return FileProblem(
        "damaged",
        f"{name_of(source)} cannot be read as {what}{said}.",
        remedy="It may be damaged or of another kind. Look at its bytes in a program.",
    )


def locked(source: Source) -> FileProblem:
    """The problem of a file that needs a password."""
    return FileProblem(
        "encrypted",
        f"{name_of(source)} is locked by a password.",
        remedy="Its content cannot be had without the password.",
    )


def without_package(package: str, extra: str, use: str) -> FileProblem:
    """The problem of a machine that lacks a package."""
    return FileProblem(
        "unsupported",
        f"The package {package} is not installed, so {use}.",
        remedy=f"Install it with: pip install 'alita[{extra}]'",
    )
