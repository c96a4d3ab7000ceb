"""Options before a command, `alita -m slow doctor`: moved behind its name, or set for the whole command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.cli import options, output
from agent.cli.main import COMMANDS, load
from agent.cli.options import SETTINGS, flags_of
from agent.errors import UsageError

if TYPE_CHECKING:
    from typer.core import TyperCommand

_FOR_EVERY_COMMAND = {*SETTINGS, "quiet", "verbose", "color"}
"""Parameters of a question that may precede any command."""
_HELP = {"--help": 0, "-h": 0}
Counts = dict[str, int]
"""Options by their names, each with the number of its values."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A command line that begins with its command; as a context, it applies the options that the command lacks."""

    arguments: list[str]
    settings: dict[str, Any]
    quiet: bool
    color: str

    def __enter__(self) -> None:
        options.before_command, output.quiet = self.settings, self.quiet
        output.choose_color(self.color)

    def __exit__(self, *_: object) -> None:
        options.before_command, output.quiet = {}, False


def place(arguments: Sequence[str]) -> Placed | None:
    """Finds the command behind options, and puts the options where it takes them.

    Returns:
        None if there is no command, so that the words are a question.

    Raises:
        UsageError: An option is not for this command.
    """
    from typer.main import get_command

    verbs = {command.name: command for command in COMMANDS}
    question: Any = get_command(load(verbs["ask"]))
    asked = _options(question) | _HELP
    for position, word in enumerate(arguments):
        if word == "--":
            break
        if word not in verbs:
            continue
        command: Any = get_command(load(verbs[word]))
        path, leading, rest = [word], list(arguments[:position]), list(arguments[position + 1 :])
        leaf = command
        if subcommands := getattr(command, "commands", None):
            known = {**asked, **{name: n for each in subcommands.values() for name, n in _options(each).items()}}
            named = [i for i, each in enumerate(rest) if each in subcommands and _split(rest[:i], known) is not None]
            if named:
                at = named[0]
                leaf, path = subcommands[rest[at]], [word, rest[at]]
                leading, rest = leading + rest[:at], rest[at + 1 :]
            elif word == "gaia":  # which runs a benchmark unless told otherwise
                leaf = subcommands["run"]
        own = _options(leaf) | _HELP
        if (found := _split(leading, asked | own)) is not None:
            return _placed(question, path, own, found, rest)
    return None


def question_words(arguments: Sequence[str]) -> list[str]:
    """The words of a question behind its options; none if the options cannot be read."""
    from typer.main import get_command

    question: Any = get_command(load(COMMANDS[0]))
    for position, word in enumerate(arguments):
        if not word.startswith("-") and _split(arguments[:position], _options(question)) is not None:
            return list(arguments[position:])
    return []


def _placed(
    question: TyperCommand, path: list[str], own: Counts, found: list[tuple[str, list[str]]], rest: list[str]
) -> Placed:
    command = f"alita {' '.join(path)}"
    moved = [each for name, each in found if name in own]
    others = [each for name, each in found if name not in own]
    words = [word for each in others for word in each]
    given = question.make_context("alita", words, allow_extra_args=False).params if words else {}
    allowed = {name for each in question.params if each.name in _FOR_EVERY_COMMAND for name in each.opts}
    for name, _ in found:
        if name not in own and name not in allowed:
            raise UsageError(
                f"{command} has no option {name}.",
                remedy=f"{command} --help\n       To ask “{' '.join(path)} …” as a question, put -- before it.",
            )
    settings = flags_of({name: value for name, value in given.items() if name in SETTINGS})
    arguments = [*path, *(word for each in moved for word in each), *rest]
    quiet, color = bool(given.get("quiet")), str(given.get("color") or "auto")
    return Placed(arguments, {n: v for n, v in settings.items() if v is not None}, quiet, color)


def _options(command: TyperCommand) -> Counts:
    return {
        name: 0 if getattr(each, "is_flag", False) else each.nargs
        for each in command.params
        if each.param_type_name == "option"
        for name in (*each.opts, *each.secondary_opts)
    }


def _split(words: Sequence[str], known: Counts) -> list[tuple[str, list[str]]] | None:
    """Each option with its words; None if some word is not an option of these."""
    found: list[tuple[str, list[str]]] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, equals, _ = word.partition("=") if word.startswith("--") else (word[:2], "", "")
        if (values := known.get(name)) is None:
            return None
        if word.startswith("--") or len(word) == 2:
            if len(waiting) < (more := 0 if equals else values):
                return None
            found.append((name, [word, *waiting[:more]]))
            del waiting[:more]
        elif values:
            found.append((name, [word]))  # -mslow
        else:
            found.append((name, [name]))  # -qv
            waiting.insert(0, f"-{word[2:]}")
    return found
