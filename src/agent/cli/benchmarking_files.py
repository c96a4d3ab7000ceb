"""What a benchmark may write: its own files, and nothing that the user has put there."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

from agent.errors import RunError, StorageError, UsageError
from agent.gaia.places import Places

_LOOKED_AT = 1 << 16
"""Bytes of a file that tell whose it is."""
_RESULTS, _SUBMISSION = b'"schema"', b'"model_answer"'


def require_ours(questions: Path, places: Places, submission: Path | None, *, resume: bool) -> None:
    """Nothing that is there may be lost; and what cannot be written is told before, not after.

    Args:
        questions: The question file, or the name of a split of the hub.
        places: Where results and ledger stand.
        submission: The leaderboard's file.
        resume: Whether what an earlier run of this benchmark wrote may be replaced.

    Raises:
        UsageError: Two of the files are one.
        RunError: A file is there already.
        StorageError: A folder is missing or cannot be written.
    """
    named = {"the questions": questions, "--output": places.output, "the ledger": places.ledger}
    if submission is not None:
        named["--submission"] = submission
    for (one, path), (other, same) in combinations(named.items(), 2):
        if path.resolve() == same.resolve():
            raise UsageError(f"{path} would be {one} and {other}.", remedy="Name another file for one of them.")
    _require_writable(places.output)
    _require_replaceable("--output", places.output, _RESULTS, places.ledger, resume=resume)
    if submission is not None:
        _require_writable(submission)
        if not submission.absolute().parent.is_dir():
            folder = submission.absolute().parent
            raise StorageError(f"{folder} is no folder.", remedy="Make it first, or name a file in another folder.")
        _require_replaceable("--submission", submission, _SUBMISSION, places.ledger, resume=resume)


def require_empty(places: Places) -> None:
    """A benchmark that begins finds no tools of another one in the library that its questions share.

    Raises:
        RunError: There are some.
    """
    if not places.ledger.exists() and any(places.library.glob("*.py")):
        raise RunError(
            f"{places.library} holds tools already, and a new benchmark with --library warm begins without any.",
            remedy=f"Move them away, name another --output, or begin with them: --tools-dir {places.library}",
        )


def _require_writable(path: Path) -> None:
    if path.is_dir():
        raise StorageError(f"{path} is a folder.", remedy="Name a file.")
    folder = path.absolute().parent
    if folder.exists() and not os.access(folder, os.W_OK):
        raise StorageError(f"{folder} cannot be written.", remedy="Name a file in another folder.")


def _require_replaceable(option: str, path: Path, mark: bytes, ledger: Path, *, resume: bool) -> None:
    """Refuses a file that is there, unless it is derived from the ledger that is gone on with."""
    if not path.exists():
        return
    if not ledger.exists():
        raise RunError(
            f"{path} is there already, and its ledger {ledger} is not.",
            remedy=f"Move it away, or name another {option}.",
        )
    if not _holds(path, mark):
        raise RunError(
            f"{path} is there already, and no benchmark wrote it.", remedy=f"Move it away, or name another {option}."
        )
    if not resume:
        raise RunError(f"{path} is there already.", remedy=f"Add --resume to go on with it, or name another {option}.")


def _holds(path: Path, mark: bytes) -> bool:
    """Whether a file begins as what a benchmark writes; one without a byte has nothing to lose."""
    try:
        with path.open("rb") as file:
            begins = file.read(_LOOKED_AT)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.", remedy="Name another file.") from None
    return mark in begins or not begins
