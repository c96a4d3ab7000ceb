"""What may come next: commands, names, ids and files, found without knowing how they are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from agent.cli.interactive.mentions import quoted

MOST = 200
"""Choices that are offered at once."""
_AFTER_AT = re.compile(r'(?:^|\s)@(?:"([^"\n]*)|([^\s"]*))$')
_COMMAND = re.compile(r"/([a-z]*)")
_ARGUMENT = re.compile(r"/([a-z]+)[ \t]+(.*)", re.DOTALL)


class Choice(NamedTuple):
    """One thing that may come next."""

    text: str
    summary: str = ""


class Found(NamedTuple):
    """The choices, and how much of the text before the cursor each of them replaces."""

    replaced: int
    choices: Sequence[Choice]


Source = Callable[[str], Iterable[Choice]]
"""Choices for what has been typed of a word; those that do not begin so are left out afterwards."""
NOTHING = Found(0, ())


class Completion:
    """Finds what may come next.

    Args:
        commands: Every slash command, with its slash.
        kinds: For a command's name, the kind of its argument.
        sources: For a kind, where its choices come from.
        folder: Where relative file names begin.
    """

    def __init__(
        self, commands: Sequence[Choice], kinds: Mapping[str, str], sources: Mapping[str, Source], folder: Path
    ) -> None:
        self._commands = commands
        self._kinds = kinds
        self._sources: dict[str, Source] = {**sources, "files": lambda typed: files(typed, folder)}
        self._folder = folder

    def find(self, before: str) -> Found:
        """The choices for the text before the cursor; none in the midst of ordinary words."""
        if command := _COMMAND.fullmatch(before):
            return _fitting(self._commands, command[0])
        if argument := _ARGUMENT.fullmatch(before):
            return self._argument(self._kinds.get(argument[1], ""), argument[2])
        if mention := _AFTER_AT.search(before):
            return self._mention(mention)
        return NOTHING

    def _argument(self, kind: str, typed: str) -> Found:
        source = self._sources.get(kind)
        return _fitting(source(typed), typed) if source else NOTHING

    def _mention(self, mention: re.Match[str]) -> Found:
        typed = mention[2] if mention[1] is None else mention[1]
        start = len(typed) + (mention[1] is not None)
        choices = [choice for choice in files(typed, self._folder) if choice.text.startswith(typed)]
        return Found(start, [Choice(quoted(choice.text), choice.summary) for choice in choices[:MOST]])


def files(typed: str, folder: Path) -> list[Choice]:
    """Files and folders that a path may go on with; a folder ends with a slash."""
    head, _, name = typed.rpartition("/")
    start = f"{head}/" if "/" in typed else ""
    try:
        entries = sorted((folder / Path(start).expanduser()).iterdir(), key=lambda path: path.name)
    except (OSError, RuntimeError, ValueError):
        return []
    wanted = [e for e in entries if e.name.isprintable() and (name.startswith(".") or not e.name.startswith("."))]
    return [Choice(f"{start}{e.name}{'/' if e.is_dir() else ''}") for e in wanted]


def _fitting(choices: Iterable[Choice], typed: str) -> Found:
    """Those that begin as typed; for ids, also those that contain it."""
    known = list(choices)
    fitting = [c for c in known if c.text.startswith(typed)] or [c for c in known if typed and typed in c.text]
    return Found(len(typed), fitting[:MOST])
