"""Finds the paths that the user's text names or forbids, and recognises paths in arguments."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path

_ANCHORED = re.compile(r"(?:~|/|\.\.?[/\\]|[A-Za-z]:[/\\]|file:|\\\\).*", re.DOTALL)
_HIDDEN = re.compile(r"(?:^|[/\\])(?:\.{1,2}(?:$|[/\\])|\.[^\s\d./\\])")
_TAKES_PATH = re.compile(r"path|file|folder|dir|source|target|dest|root|location|src|dst", re.IGNORECASE)
_FOLDER = re.compile(r"(?<![\w/.:])(?:~|/|\.\.?/)[^<>\"'“”‘’`|\n]*")
_NAME = re.compile(r"(?<![\w/.~-])[\w~.-]{0,400}[/.][\w/.~-]{0,400}\w[/.]?|(?<![\w/.~-])~?/(?![\w.])")
_PART = re.compile(r"[^\s,;]+")
_END = ".,;:!?"
_MAX_PATH_WORDS = 20
MAX_PATH = 4096
REFUSAL = "No, because: "
"""Precedes the user's reason for refusing a call. Paths in the reason are forbidden."""
_NEAR_CHARS = 120
"""Number of characters before and after a path that are searched for words such as "never"."""
_CLAUSE = re.compile(r"[,;:!?\n]|\.(?=\s|$)|\b(?:but|however|instead|sondern|aber|mais|sino|pero)\b", re.IGNORECASE)
_ACCESS = (
    r"(?:touch|read|open|writ|chang|edit|modif|delet|remov|us|look|access|go|list|search|send|mov|cop|shar|overwrit|"
    r"enter|includ|creat|sav|stor|put|list|tak|ask|load|show|print|alter|visit|see|scan)\w*"
)
_FORBIDS_NEXT = re.compile(
    r"\b(?:never|do not|don['’]?t|must not|mustn['’]?t|should not|shouldn['’]?t|may not|without|avoid)\s+"
    rf"(?:\w+\s+){{0,3}}?{_ACCESS}\b|\b(?:except|excluding|exclude|skip|ignore|avoid|other than|apart from|"
    r"nothing (?:in|of|from|below|under)|"
    r"(?:stay|keep|hands|keep your hands) (?:out|away|off)|au(?:ß|ss)er|sauf|excepto|nicht|niemals|nie|kein\w*|ohne|"
    r"jamais|sans|nunca|sin)\b",
    re.IGNORECASE,
)
_FORBIDS_BEFORE = re.compile(
    r"^\W*(?:(?:is|are|must|should|may|can|darf|soll|ist|est|es)\b\W*(?:\w+\W+){0,3}?(?:not|never|nicht|kein|pas|no|private|"
    r"privat|privé|privado|secret|confidential|taboo|tabu|forbidden|off|untouched)|(?:isn|aren|mustn|shouldn|can)['’]?t"
    r"|alone|untouched|unread|nicht|pas)\b",
    re.IGNORECASE,
)


def is_path(value: str, argument: str = "") -> bool:
    """Return True if a server may open an argument as a file.

    Absolute paths, hidden files, and existing files relative to the home folder count, since servers run there.

    Args:
        value: The argument's value.
        argument: The argument's name. A single word is a path only if this name suggests one, such as `file`.
    """
    if _ANCHORED.fullmatch(value):
        return True
    if not value or len(value) > MAX_PATH or "\n" in value or "://" in value:
        return False
    is_there = _is_there(value)
    if _HIDDEN.search(value) and (is_there or not re.search(r"\s", value)):
        return True
    return is_there and bool(re.search(r"[/\\.]", value) or _TAKES_PATH.search(argument))


def _is_there(value: str) -> bool:
    """Return True if a relative path, or its folder, exists in the user's home."""
    home = os.path.expanduser("~")  # noqa: PTH111 - works for a user without a home
    above = os.path.dirname(value)  # noqa: PTH120 - pathlib takes `.` for the folder of a bare name
    return os.path.lexists(f"{home}/{value}") or (above != "" and os.path.lexists(f"{home}/{above}"))


class NamedPaths:
    """The paths that the user names and forbids.

    Args:
        wanted: The user's text.
    """

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted

    def names(self, path: str) -> bool:
        """Return True if the user wrote exactly this path and did not forbid it."""
        if len(path) > MAX_PATH or self.forbids(path):
            return False
        home = os.path.expanduser("~")  # noqa: PTH111
        forms = {path, os.path.expanduser(path)}  # noqa: PTH111
        forms |= {f"~{form[len(home) :]}" for form in forms if form.startswith(f"{home}/")}
        forms |= {form.rstrip("/") for form in forms if form.strip("/")}
        return any(
            re.search(rf"(?<![\w/.~-]){re.escape(form)}/?(?![\w/\\~-]|\.\w)", self._wanted) for form in forms if form
        )

    def below(self, path: str) -> str:
        """Return the rest of a path below a folder that the user names; empty if there is no such folder."""
        if len(path) > MAX_PATH or not _ANCHORED.fullmatch(path) or self.forbids(path):
            return ""
        if path != os.path.normpath(path) or ".." in path.split("/"):
            return ""
        for folder in self._folders:
            try:
                place, above = (Path(one).expanduser().resolve() for one in (path, folder))
            except (OSError, RuntimeError, ValueError):  # a loop of links, an unknown user, or an invalid file name
                continue
            if path.startswith(f"{folder}/") and place.is_relative_to(above):
                return path[len(folder) + 1 :]
        return ""

    def forbids(self, path: str) -> bool:
        """Return True if the user forbids a path or one of its parents."""
        place = _normal(path)
        for forbidden in self._forbidden:
            if place == forbidden or place.startswith(f"{forbidden.rstrip('/')}/"):
                return True
            if not forbidden.startswith("/") and f"/{place}/".endswith(f"/{forbidden}/"):
                return True
        return False

    @cached_property
    def _folders(self) -> list[str]:
        """The folders that the user names. A path with spaces stands for the longest part that exists."""
        found = []
        for text in _FOLDER.findall(self._wanted):
            parts = list(_growing(text))
            existing = [one for one in parts if len(one) > 1 and _exists(one)]
            found += existing[-1:] or parts[:1]
        return [one for one in found if len(one) > 1]

    @cached_property
    def _forbidden(self) -> tuple[str, ...]:
        refusals = [line for line in self._wanted.splitlines() if line.startswith(REFUSAL)]
        found = [
            _normal(form)
            for line in refusals
            for name in _NAME.finditer(line)
            for form in _growing(line[name.start() :])
        ]
        start = 0
        for end in [*(match.start() for match in _CLAUSE.finditer(self._wanted)), len(self._wanted)]:
            clause = self._wanted[start:end]
            start = end
            for name in _NAME.finditer(clause):
                before, after = (
                    clause[max(0, name.start() - _NEAR_CHARS) : name.start()],
                    clause[name.end() :][:_NEAR_CHARS],
                )
                if _FORBIDS_NEXT.search(before) or _FORBIDS_BEFORE.search(after):
                    found += map(_normal, _growing(clause[name.start() :]))
        return tuple(dict.fromkeys(found))


def _growing(text: str) -> Iterator[str]:
    """Yield the first word of the text, the first two words, and so on, since a path may contain spaces."""
    text = text.replace("\\ ", " ")
    for part in islice(_PART.finditer(text), _MAX_PATH_WORDS):
        yield text[: part.end()].rstrip(f"{_END}/")


def _normal(path: str) -> str:
    """Return a path without `..`. In an absolute path, symbolic links are resolved."""
    if len(path) > MAX_PATH:
        return path
    place = os.path.normpath(os.path.expanduser(path.removeprefix("file://")))  # noqa: PTH111
    try:
        return os.path.realpath(place) if place.startswith("/") else place
    except ValueError:  # not a valid file name
        return place


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(Path(path).expanduser())
    except (OSError, RuntimeError, ValueError):
        return False
