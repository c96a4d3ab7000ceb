"""Completion of commands, names, ids and files at the prompt, and the files mentioned in a question."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from prompt_toolkit.completion import Completer, Completion

from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from prompt_toolkit.document import Document

    from agent.configuration.settings import Settings
    from agent.consent.questions import ApprovalMode

_MENTION = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|([^\s"]+))')
_AFTER_A_NAME = ".,;:!?)]}'"


class Mentioned(NamedTuple):
    """A question and the files mentioned in it."""

    text: str
    """The question, with each `@path` replaced by the file's name."""
    files: tuple[Path, ...]
    missing: tuple[str, ...]
    """Words that look like paths but do not name an existing file."""


def mentioned(text: str, folder: Path) -> Mentioned:
    """Find the files mentioned in a question as `@name` or `@"a name with spaces"`."""
    files: list[Path] = []
    missing: list[str] = []

    def replaced(found: re.Match[str]) -> str:
        name, bare = found[1] or found[2], found[1] or found[2].rstrip(_AFTER_A_NAME)
        path = _file(name, folder)
        if path is None and (path := _file(bare, folder)) is None:
            if "/" in name or "." in name.strip("."):
                missing.append(name)
            return found[0]
        files.append(path)
        return path.name + (name[len(bare) :] if _file(name, folder) is None else "")

    replacement = _MENTION.sub(replaced, text)
    return Mentioned(replacement, tuple(dict.fromkeys(files)), tuple(missing))


def _file(name: str, folder: Path) -> Path | None:
    try:
        path = folder / Path(name).expanduser()
        return path if name and path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        return None


class Suggestion(NamedTuple):
    """A possible completion."""

    text: str
    summary: str = ""


Source = Callable[[], Iterable[Suggestion]]
MOST = 200
NEWEST = 50
_AFTER_AT = re.compile(r'(?:^|\s)@(?:"([^"\n]*)|([^\s"]*))$')
_COMMAND = re.compile(r"/([a-z]*)")
_ARGUMENT = re.compile(r"/([a-z]+)[ \t]+(.*)", re.DOTALL)


class Suggestions(Completer):
    """Suggests commands, their arguments, and files."""

    def __init__(
        self, commands: Iterable[Suggestion], kinds: Mapping[str, str], sources: Mapping[str, Source], folder: Path
    ) -> None:
        self._commands = list(commands)
        self._kinds = kinds
        self._sources = sources
        self._folder = folder

    def get_completions(self, document: Document, complete_event: object = None) -> Iterable[Completion]:
        """Yield completions for the text before the cursor. Ordinary words are not completed."""
        typed, choices = self.find(document.text_before_cursor)
        for choice in choices[:MOST]:
            shown, meta = one_line(choice.text, 40), one_line(choice.summary, 60)
            yield Completion(choice.text, -len(typed), display=shown, display_meta=meta)

    def find(self, before: str) -> tuple[str, list[Suggestion]]:
        """Return the text to be replaced, and its possible replacements."""
        if command := _COMMAND.fullmatch(before):
            return before, [choice for choice in self._commands if choice.text.startswith(command[0])]
        if argument := _ARGUMENT.fullmatch(before):
            kind, typed = self._kinds.get(argument[1], ""), argument[2]
            if kind == "files":
                return typed, self._files(typed)
            if kind == "verbs":
                *words, typed = typed.split(" ")
                kind, known = next_of_verb(words, typed)
                if kind == "files":
                    return typed, self._files(typed)
                if kind != "tools":
                    return typed, [choice for choice in known if choice.text.startswith(typed)]
            try:
                known = list(self._sources[kind]()) if kind in self._sources else []
            except (AlitaError, OSError):  # offer no completions if a folder cannot be read
                known = []
            begin = [choice for choice in known if choice.text.startswith(typed)]
            return typed, begin or [choice for choice in known if typed in choice.text]
        if mention := _AFTER_AT.search(before):
            typed = mention[2] if mention[1] is None else mention[1]
            found = [Suggestion(f'"{c.text}"' if re.search(r"\s", c.text) else c.text) for c in self._files(typed)]
            return typed if mention[1] is None else f'"{typed}', found
        return "", []

    def _files(self, typed: str) -> list[Suggestion]:
        """Return the files and folders that complete a path. Folders end with a slash."""
        head, _, name = typed.rpartition("/")
        start = f"{head}/" if "/" in typed else ""
        try:
            entries = sorted((self._folder / Path(start).expanduser()).iterdir(), key=lambda path: path.name)
        except (OSError, RuntimeError, ValueError):
            return []
        return [
            Suggestion(f"{start}{entry.name}{'/' if entry.is_dir() else ''}")
            for entry in entries
            if entry.name.isprintable() and entry.name.startswith(name or "") and (name or entry.name[0] != ".")
        ]


@functools.cache
def verbs_of_tools() -> Mapping[str, Any]:
    """Return the `alita tools` commands by name."""
    from typer.main import get_command

    from agent.cli.command_registry import load

    group: Any = get_command(load("tools"))
    commands: Mapping[str, Any] = group.commands
    return commands


def next_of_verb(words: Sequence[str], typed: str) -> tuple[str, list[Suggestion]]:
    """Return the kind of an `alita tools` command's next argument, and the possible commands or options."""
    verbs = verbs_of_tools()
    if not words:
        return "", [Suggestion(name, verb.help or "") for name, verb in verbs.items()]
    params = verbs[words[0]].params if words[0] in verbs else ()
    options = [param for param in params if param.param_type_name == "option"]
    if typed.startswith("-"):
        return "", [Suggestion(flag, param.help or "") for param in options for flag in param.opts if flag[:2] == "--"]
    given = [param for param in options if words[-1] in param.opts and not param.is_flag]
    wanted = {param.metavar or "" for param in given or params if given or param not in options}
    is_file = any(re.search("PATH|FILE|DIR", metavar) for metavar in wanted if "NAME" not in metavar)
    return "tools" if any("NAME" in metavar for metavar in wanted) else "files" if is_file else "", []


MODES: dict[ApprovalMode, str] = {
    "ask": "you see each new tool and decide whether to keep it",
    "auto": "every tool that passes its tests is kept",
    "never": "no tool is kept; its result still answers the question",
}


class Listed(Protocol):
    """The part of a slash command that completion needs."""

    @property
    def name(self) -> str:
        """The command's name without the slash."""

    @property
    def summary(self) -> str:
        """The command's one-line description."""

    @property
    def completes(self) -> str:
        """Kind of completions for the command's argument."""


def suggestions_of(settings: Settings, commands: Sequence[Listed]) -> Suggestions:
    """Return suggestions for the commands, and for alita's tools, runs, sessions and models."""
    from agent.models.protocol import EMBEDDED, ROLES
    from agent.store.runs import list_runs
    from agent.store.sessions import list_sessions

    named = {name for role in ROLES for name in settings.models_for(role)}
    models = sorted({EMBEDDED, settings.model, *settings.models, *named})
    sources: dict[str, Source] = {
        "commands": lambda: [Suggestion(command.name, command.summary) for command in commands],
        "models": lambda: map(Suggestion, models),
        "modes": lambda: [Suggestion(mode, meaning) for mode, meaning in MODES.items()],
        "runs": lambda: [
            Suggestion(run.run_id, one_line(run.question, 80)) for run in list_runs(settings.runs_dir, limit=NEWEST)
        ],
        "sessions": lambda: [Suggestion(s.id, s.title) for s in list_sessions(settings, limit=NEWEST)],
        "tools": lambda: _tools(settings),
    }
    names = [Suggestion(f"/{command.name}", command.summary) for command in commands]
    return Suggestions(names, {command.name: command.completes for command in commands}, sources, Path.cwd())


def _tools(settings: Settings) -> list[Suggestion]:
    """Return all tools with their descriptions, including tools that only consist of a source file so far."""
    from agent.store.tool_records import open_library
    from mcp_tools.library.tool_files import stamps

    descriptions = {tool.name: one_line(tool.summary, 80) for tool in open_library(settings).list()}
    names = sorted(name for name in {*stamps(settings.tools_dir), *descriptions} if name.isprintable())
    return [Suggestion(name, descriptions.get(name, "")) for name in names]
