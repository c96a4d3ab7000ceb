"""Every command, option and kind of argument, read from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from agent.cli.main import COMMANDS, load
from agent.hosts.clients import NAMES

_FILES = frozenset({"PATH", "FILE", "DIR", "NAME_OR_FILE"})
_NAMED: dict[tuple[str, str], str] = {
    ("tools", "NAME"): "tools",
    ("tools", "[NAME]..."): "tools",
    ("tools", "NAME_OR_FILE"): "tools",
    ("resume", "RUN"): "runs",
    ("runs", "RUN"): "runs",
}
"""What `alita completion words` lists, by command and metavar."""


@dataclass(frozen=True, slots=True)
class Value:
    """What may stand as an argument, or after an option."""

    choices: tuple[str, ...] = ()
    """A closed set of words."""
    names: str = ""
    """What `alita completion words` is asked for: `tools` or `runs`."""
    files: bool = False
    """Whether a path may stand there."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option."""

    spellings: tuple[str, ...]
    help: str
    value: Value | None
    """What follows it; None for a switch."""


@dataclass(frozen=True, slots=True)
class Completed:
    """One place of the command line: `alita`, `alita tools`, `alita tools show`."""

    path: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    """The words that lead on, with their help."""
    options: tuple[Option, ...]
    argument: Value


def completed() -> list[Completed]:
    """Every place of the command line, the first word first."""
    places = [place for command in COMMANDS for place in _places((command.name,), _click(command), Value())]
    root = next(place for place in places if place.path == ("ask",))
    version = Option(("--version",), "Show the version and exit.", None)
    names = tuple((command.name, command.summary) for command in COMMANDS)
    return [Completed((), names, (*root.options, version), Value()), *places]


def _click(command: Any) -> Any:
    from typer.main import get_command

    return get_command(load(command))


def _places(path: tuple[str, ...], command: Any, argument: Value) -> Iterator[Completed]:
    inner = {name: found for name, found in getattr(command, "commands", {}).items() if not found.hidden}
    words = tuple((name, _first_line(found.help)) for name, found in inner.items())
    options, arguments = [Option(("-h", "--help"), "Show this message and exit.", None)], []
    for parameter in command.params:
        if getattr(parameter, "hidden", False) and parameter.param_type_name == "option":
            continue
        if parameter.param_type_name == "argument":
            arguments.append(_value(path[0], parameter))
        elif "--help" not in parameter.opts:
            value = None if getattr(parameter, "is_flag", False) else _value(path[0], parameter)
            spellings = (*parameter.opts, *parameter.secondary_opts)
            options.append(Option(spellings, _first_line(parameter.help), value))
    yield Completed(path, words, tuple(options), arguments[0] if arguments else argument)
    for name, found in inner.items():
        yield from _places((*path, name), found, argument)


def _value(group: str, parameter: Any) -> Value:
    metavar = parameter.metavar or ""
    choices = _choices(parameter)
    if metavar == "CLIENT":
        choices = NAMES
    return Value(choices, _NAMED.get((group, metavar), ""), metavar in _FILES)


def _choices(parameter: Any) -> tuple[str, ...]:
    """The words of a closed set, as either generation of typer tells them."""
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(str(member.value) for member in kind)
    return tuple(str(choice) for choice in getattr(getattr(parameter, "type", None), "choices", ()))


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]
