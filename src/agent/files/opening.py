"""What every reader asks of a file before it opens it."""

from __future__ import annotations

from agent.files.contents import Source
from agent.files.problem import FileProblem


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


def without_package(package: str, extra: str, use: str) -> FileProblem:
    """The problem of a machine that lacks a package."""
    return FileProblem(
        "unsupported",
        f"The package {package} is not installed, so {use}.",
        remedy=f"Install it with: pip install 'alita[{extra}]'",
    )
