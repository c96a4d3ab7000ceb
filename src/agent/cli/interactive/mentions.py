"""`@file` in a question attaches the file; what is no file stays text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]+))')
_AFTER_A_NAME = ".,;:!?)]}'"


class Mentioned(NamedTuple):
    """A question, and the files that it named."""

    text: str
    """With the bare name where `@path` stood."""
    files: tuple[Path, ...]
    missing: tuple[str, ...]
    """What looks like a path, and is none."""


def mentioned(text: str, folder: Path) -> Mentioned:
    """Finds the files that a question names with `@name` or `@"a name with blanks"`.

    Args:
        text: What was typed.
        folder: Where relative names begin.
    """
    files: list[Path] = []
    missing: list[str] = []

    def replaced(found: re.Match[str]) -> str:
        name, rest = _split(found[1] or found[2], folder, quoted=bool(found[1]))
        path = _path(name, folder)
        if path is None:
            if "/" in name or "." in name.strip("."):
                missing.append(name)
            return found[0]
        if path not in files:
            files.append(path)
        return path.name + rest

    return Mentioned(_MENTION.sub(replaced, text), tuple(files), tuple(missing))


def quoted(name: str) -> str:
    """The name as it is written after `@`."""
    return f'"{name}"' if re.search(r"\s", name) else name


def _split(name: str, folder: Path, *, quoted: bool) -> tuple[str, str]:
    """The name, and the punctuation after it that is no part of it."""
    bare = name.rstrip(_AFTER_A_NAME)
    if quoted or _path(name, folder) is not None or _path(bare, folder) is None:
        return name, ""
    return bare, name[len(bare) :]


def _path(name: str, folder: Path) -> Path | None:
    try:
        path = folder / Path(name).expanduser()
        return path if name and path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None
