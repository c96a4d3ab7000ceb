"""Every slash command: help, completion and the documentation's table come from here."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from agent.cli.interactive.commands import (
    basics,
    conversations,
    last_answer,
    library,
    past_runs,
)
from agent.errors import UsageError

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal

_COMMAND = re.compile(r"/([A-Za-z]+)(?:\s+(.*))?\s*", re.DOTALL)


class Command(NamedTuple):
    """One slash command."""

    name: str
    argument: str
    """What stands behind it, as help shows it; brackets mean that it may be left out."""
    summary: str
    run: Callable[[Terminal, str], Awaitable[None]]
    completes: str = ""
    """The kind of its argument: `commands`, `files`, `models`, `modes`, `runs`, `sessions` or `tools`."""

    @property
    def usage(self) -> str:
        """`/name ARGUMENT`."""
        return f"/{self.name} {self.argument}".strip()


COMMANDS: tuple[Command, ...] = (
    Command("help", "[COMMAND]", "list commands and keys, or tell about one", basics.help_, "commands"),
    Command("exit", "", "leave; the session is saved", basics.exit_),
    Command("new", "", "begin a new session", conversations.new),
    Command("model", "[NAME]", "show the model, or use another", basics.model, "models"),
    Command("route", "[RUN]", "show what was decided in the last run, step by step", past_runs.route, "runs"),
    Command("tools", "[WORDS]", "list the tools, or those that fit the words", library.list_),
    Command("show", "TOOL", "show a tool: its source and what is known of it", library.show, "tools"),
    Command("create", "QUESTION", "make a tool for questions like this one", library.create),
    Command("approve", "[MODE]", "show or set whether new tools are kept: ask, auto or never", basics.approve, "modes"),
    Command("cost", "", "show tokens and money of each turn", basics.cost),
    Command("trace", "[RUN]", "show every call of the last run", past_runs.trace, "runs"),
    Command("sessions", "", "list the sessions, the newest first", conversations.list_),
    Command("resume", "[SESSION]", "go on with an earlier session", conversations.resume, "sessions"),
    Command(
        "continue", "[RUN]", "go on with a run that was stopped, the newest if not named", past_runs.continue_, "runs"
    ),
    Command(
        "attach", "[FILE]", "attach a file to the next question; - drops those attached", last_answer.attach, "files"
    ),
    Command("copy", "", "copy the last answer", last_answer.copy),
    Command("save", "FILE", "write the last answer to a file", last_answer.save, "files"),
    Command("retry", "", "ask the last question again, not from the cache", conversations.retry),
    Command("undo", "", "forget the last turn", conversations.undo),
    Command("edit", "", "write the next question in your editor", basics.edit_),
    Command("verbose", "", "show model calls too, or no longer", basics.verbose),
    Command("mcp", "", "list the servers of other people's tools", basics.mcp),
    Command("doctor", "", "check that everything alita needs is there", basics.doctor),
)
"""The one registry."""
_BY_NAME = {command.name: command for command in COMMANDS}


def find_command(name: str) -> Command:
    """The command of a name, with or without its slash.

    Raises:
        UsageError: There is none.
    """
    name = name.strip().removeprefix("/").lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    near = get_close_matches(name, _BY_NAME, n=1, cutoff=0.5)
    remedy = f"Did you mean /{near[0]}? /help lists all commands." if near else "/help lists all commands."
    raise UsageError(f"There is no command /{name}.", remedy=remedy)


def command_of(text: str) -> tuple[Command, str] | None:
    """The command that an entry is, with its argument; None when it is a question, as `/etc/hosts says …` is.

    Raises:
        UsageError: It looks like a command, and is none, or lacks its argument.
    """
    found = _COMMAND.fullmatch(text.strip())
    if found is None:
        return None
    command, argument = find_command(found[1]), (found[2] or "").strip()
    if argument and not command.argument:
        raise UsageError(f"/{command.name} takes nothing behind it.", remedy=f"Usage: {command.usage}")
    if command.argument and not command.argument.startswith("[") and not argument:
        raise UsageError(f"/{command.name} needs {command.argument}.", remedy=f"Usage: {command.usage}")
    return command, argument
