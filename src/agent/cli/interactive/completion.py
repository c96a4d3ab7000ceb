"""What may come next: commands, names, ids and files, found without knowing how they are shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.consent.approval import ApprovalMode


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


Source = Callable[[], Iterable[Choice]]
NOTHING = Found(0, ())


class Completion:
    """Finds what may come next.

    Args:
        commands: Every slash command, with its slash.
        kinds: For a command's name, the kind of its argument: `files`, or one of the sources.
        sources: For a kind, all of its choices.
        folder: Where relative file names begin.
    """

    def __init__(
        self, commands: Sequence[Choice], kinds: Mapping[str, str], sources: Mapping[str, Source], folder: Path
    ) -> None:
        self._commands = commands
        self._kinds = kinds
        self._sources = sources
        self._folder = folder

    def find(self, before: str) -> Found:
        """The choices for the text before the cursor; none in the midst of ordinary words."""
        if command := _COMMAND.fullmatch(before):
            return _fitting(self._commands, command[0])
        if argument := _ARGUMENT.fullmatch(before):
            kind, typed = self._kinds.get(argument[1], ""), argument[2]
            if kind == "files":
                return _fitting(files(typed, self._folder), typed)
            try:
                return _fitting(self._sources[kind](), typed) if kind in self._sources else NOTHING
            except (AlitaError, OSError):  # what cannot be read offers nothing
                return NOTHING
        if mention := _AFTER_AT.search(before):
            typed = mention[2] if mention[1] is None else mention[1]
            choices = [choice for choice in files(typed, self._folder) if choice.text.startswith(typed)]
            start = len(typed) + (mention[1] is not None)
            return Found(start, [Choice(quoted(choice.text), choice.summary) for choice in choices[:MOST]])
        return NOTHING


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


MODES: dict[ApprovalMode, str] = {
    "ask": "you see each new tool and decide whether it is kept",
    "auto": "every proved tool is kept",
    "never": "no tool is kept; its result answers the question all the same",
}
NEWEST = 50
"""Runs and sessions that are offered."""


def sources_of(settings: Settings) -> Mapping[str, Source]:
    """For each kind of argument, what it may be."""

    def tools() -> Iterator[Choice]:
        from mcp_tools.library import Library

        for tool in Library(settings.tools_dir, settings.approvals_file).list():
            yield Choice(tool.name, one_line(tool.description, 80))

    def runs() -> Iterator[Choice]:
        from agent.store.runs import list_runs

        for run in list_runs(settings.runs_dir, limit=NEWEST):
            yield Choice(run.run_id, one_line(run.question, 80))

    def sessions() -> Iterator[Choice]:
        from agent.store.sessions import list_sessions

        for session in list_sessions(settings.sessions_dir, limit=NEWEST):
            yield Choice(session.id, session.title)

    def models() -> Iterator[Choice]:
        from agent.models.protocol import EMBEDDED, ROLES

        named = {name for role in ROLES for name in settings.models_for(role)}
        yield from (Choice(name) for name in sorted({EMBEDDED, settings.model, *settings.models, *named}))

    def modes() -> Iterator[Choice]:
        yield from (Choice(mode, meaning) for mode, meaning in MODES.items())

    def commands() -> Iterator[Choice]:
        from agent.cli.interactive.commands import COMMANDS

        yield from (Choice(command.name, command.summary) for command in COMMANDS)

    return {
        "tools": tools,
        "runs": runs,
        "sessions": sessions,
        "models": models,
        "modes": modes,
        "commands": commands,
    }
