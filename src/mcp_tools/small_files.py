"""Read untrusted files: only regular files, with size limits and, for JSON and TOML, depth limits.

All of a project's files and all of alita's own files are read through this module. Pipes and devices are never opened,
and no content can exhaust memory or the stack.
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
RECORD = 32_000_000
"""Size limit, in bytes, of a file with one record, such as a run, a session or a list of decisions."""
JOURNAL = 256_000_000
"""Size limit, in bytes, of a file with many records, such as a journal, a ledger or a set of questions."""
MAX_DEPTH = 100
_MAX_DOTS = 200
"""Maximum number of dots in a line of TOML. Parsing a key takes time quadratic in the number of its parts."""


def read_small(path: Path, limit: int, *, follow: bool = True) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file.
        limit: Size limit in bytes.
        follow: True to follow symbolic links.

    Raises:
        OSError: The file does not exist, is not a regular file, or is too large.
    """
    link = 0 if follow else os.O_NOFOLLOW
    _require_regular(path.stat(follow_symlinks=follow), path)  # opening a device can have side effects
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | link), "rb") as file:
        found = os.fstat(file.fileno())
        _require_regular(found, path)
        content = b"" if found.st_size > limit else file.read(limit + 1) or b""
    if max(found.st_size, len(content)) > limit:  # files in /proc report a size of 0
        raise OSError(errno.EFBIG, f"It has more than {limit:,} bytes", str(path))
    return content


def plain_files(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the relative path and status of each regular file below a folder, skipping links and special files.

    Files with several hard links are also skipped, because they may belong to another folder.
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
        except OSError:  # missing, not readable, or nested too deeply
            continue


def is_text(name: str) -> bool:
    """Return True if a file name is valid Unicode."""
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def leads_out(path: Path, folder: Path) -> bool:
    """Return True if a symbolic link takes a path outside the folder."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _require_regular(found: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "It is a link", str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "It is not a regular file", str(path))


def json_of(content: bytes | str) -> Json:
    """Parse JSON.

    Raises:
        ValueError: The content is not UTF-8 JSON, or is nested too deeply.
    """
    text = content if isinstance(content, str) else content.decode("utf-8", "surrogatepass")
    try:
        value: Json = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    require_shallow(value)
    return value


def toml_of(content: bytes) -> dict[str, Json]:
    """Parse TOML.

    Raises:
        ValueError: The content is not UTF-8 TOML, is nested too deeply, or has an extreme number or key.
    """
    text = content.decode().removeprefix("\ufeff")
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MAX_DOTS:
            raise ValueError(f"line {number} has more than {_MAX_DOTS} dots")
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    require_shallow(values, largest=2**63)
    return values


def require_shallow(value: Json, *, largest: float = math.inf) -> None:
    """Check that a value is shallow enough for later code to traverse.

    Raises:
        ValueError: The value is nested too deeply, or contains an integer of at least `largest`.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Json] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
            elif isinstance(one, int) and abs(one) >= largest:
                raise ValueError("it contains a number that is too large")
        if not inner:
            return
        level = inner
    raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
