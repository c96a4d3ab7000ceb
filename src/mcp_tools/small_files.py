"""Reading files that anybody may have written: regular files only, up to a size, JSON and TOML up to a depth.

Every file of a project, and every file that alita keeps for itself, is read through here: a pipe is never waited for, a
device never read, and no content ends a command.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path

from mcp_tools.tool import Json

SETTINGS = 256_000
"""Bytes of a settings file."""
RECORD = 32_000_000
"""Bytes of a file with one record: a run, a session, a list of decisions."""
JOURNAL = 256_000_000
"""Bytes of a file with many records: a journal, a ledger, a set of questions."""
DEEPEST = 100
_MOST_DOTS = 200
"""In one line of TOML: the time that a key takes grows with the square of its parts."""


def read_small(path: Path, limit: int, *, follow: bool = True) -> bytes:
    """The content of a regular file.

    Args:
        path: The file.
        limit: The most bytes that it may have.
        follow: True if it may be a link.

    Raises:
        OSError: It is not there, is no regular file, or is larger.
    """
    link = 0 if follow else os.O_NOFOLLOW
    _require_regular(path.stat(follow_symlinks=follow), path)  # opening alone may wake a device
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | link), "rb") as file:
        found = os.fstat(file.fileno())
        _require_regular(found, path)
        content = b"" if found.st_size > limit else file.read(limit + 1) or b""
    if max(found.st_size, len(content)) > limit:  # a file of /proc has no size
        raise OSError(errno.EFBIG, f"It has more than {limit:,} bytes", str(path))
    return content


def plain_files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files below a folder, by their names below it; links and special files are left out.

    A file with a second name counts as a link, too, since it may belong elsewhere.
    """
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        waiting.append(Path(entry.path))
                    elif stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                        yield os.path.relpath(entry.path, folder), found
        except OSError:  # not there, closed to us, or too deep
            continue


def is_text(name: str) -> bool:
    """True if the name of a file is valid Unicode."""
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def leads_out(path: Path, folder: Path) -> bool:
    """Return True if a path in a folder is a link, or behind one, that leads out of the folder."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _require_regular(found: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "It is a link", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "It is not a regular file", str(path))


def json_of(content: bytes | str) -> Json:
    """The value of a JSON text.

    Raises:
        ValueError: It is not JSON in UTF-8, or is nested too deeply.
    """
    text = content if isinstance(content, str) else content.decode("utf-8", "surrogatepass")
    try:
        value: Json = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    require_shallow(value)
    return value


def toml_of(content: bytes) -> dict[str, Json]:
    """The tables of a TOML text.

    Raises:
        ValueError: It is not TOML in UTF-8, is nested too deeply, or has a number or key beyond all use.
    """
    text = content.decode().removeprefix("\ufeff")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MOST_DOTS:
            raise ValueError(f"line {number} has more than {_MOST_DOTS} dots")
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    require_shallow(values, largest=2**63)
    return values


def require_shallow(value: Json, *, largest: float = math.inf) -> None:
    """Refuses what later code could not walk through.

    Raises:
        ValueError: It is nested too deeply, or has a whole number beyond the largest.
    """
    level = [value]
    for _ in range(DEEPEST):
        inner: list[Json] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
            elif isinstance(one, int) and abs(one) >= largest:
                raise ValueError("it has a number that is too large")
        if not inner:
            return
        level = inner
    raise ValueError(f"it is nested more than {DEEPEST} deep")
