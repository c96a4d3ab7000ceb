"""Every slash command of a session: help, completion and the documentation's table come from here."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agent.cli.interactive.completion import MODES
from agent.cli.interactive.conversation_commands import (
    attach,
    continue_,
    copy,
    new,
    resume,
    retry,
    route,
    save,
    sessions,
    trace,
    undo,
)
from agent.cli.screens.lines import cost_text, time_text
from agent.errors import SettingsError, UsageError
from agent.models.protocol import Usage
from mcp_tools.library import Library
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal


async def help_(terminal: Terminal, argument: str) -> None:
    """List commands and keys, or tell about one."""
    if argument:
        command = find_command(argument)
        terminal.screen.rows([(command.usage, command.summary)])
        return
    terminal.screen.note("Ask a question, or use a command:")
    terminal.screen.rows([(command.usage, command.summary) for command in COMMANDS])
    terminal.screen.rows([("!COMMAND", "run a command of your shell")])
    terminal.screen.note("Keys:")
    terminal.screen.rows(KEYS)


async def exit_(terminal: Terminal, argument: str) -> None:
    """Leave; the session is saved."""
    terminal.leaving = True


async def approve(terminal: Terminal, argument: str) -> None:
    """Show or set whether new tools are kept: ask, auto or never."""
    if argument:
        if argument not in MODES:
            raise UsageError(f"There is no approval mode {one_line(argument)!r}.", remedy="One of: ask, auto, never.")
        terminal.mode = argument
    terminal.screen.note(f"Approval is {terminal.mode}: {MODES[terminal.mode]}.")


async def verbose(terminal: Terminal, argument: str) -> None:
    """Show model calls too, or no longer."""
    terminal.verbose = not terminal.verbose
    terminal.screen.note("Model calls are shown." if terminal.verbose else "Model calls are not shown.")


async def edit_(terminal: Terminal, argument: str) -> None:
    """Write the next question in your editor."""
    from agent.cli.interactive.desktop import edit

    terminal.draft = await asyncio.to_thread(edit, "")
    if not terminal.draft:
        terminal.screen.note("Nothing was written.")


async def cost(terminal: Terminal, argument: str) -> None:
    """Show tokens and money of each turn."""
    turns = terminal.session.turns
    if not turns:
        terminal.screen.note("Nothing was asked yet.")
        return
    rows = [(f"{n}", *_took(turn.usage, turn.seconds), one_line(turn.question, 60)) for n, turn in enumerate(turns, 1)]
    total = sum((turn.usage for turn in turns), Usage())
    rows.append(("all", *_took(total, sum(turn.seconds for turn in turns)), ""))
    terminal.screen.rows(rows)


def _took(usage: Usage, seconds: float) -> tuple[str, str, str]:
    tokens = usage.input_tokens + usage.output_tokens
    return f"{tokens:,} tokens", cost_text(usage) if usage.calls else "no cost", time_text(seconds)


KEYS: tuple[tuple[str, str], ...] = (
    ("Enter", "ask, or do the command"),
    ("Alt-Enter", "begin a new line; so does Esc, then Enter. A pasted text keeps its lines"),
    ("Tab", "complete commands, names of tools, ids of runs and sessions, and files"),
    ("Shift-Tab", "the next approval mode: ask, auto, never"),
    ("Up, Down", "earlier entries; inside a text of several lines, its lines"),
    ("Ctrl-R", "search earlier entries"),
    ("Ctrl-X Ctrl-E", "write the entry in your editor ($VISUAL or $EDITOR)"),
    ("Ctrl-C", "while a question is worked on: finish the step and save; again: stop at once"),
    ("Ctrl-C", "at the prompt: clear the line; on an empty line twice: leave"),
    ("Ctrl-D", "on an empty line: leave"),
    ("@file", 'attach a file to the question; @"a name" when it has blanks'),
)
"""Each key, or what is typed like one, and what it does."""


async def model(terminal: Terminal, argument: str) -> None:
    """Show the model, or use another."""
    if not argument:
        source = next(line.source for line in terminal.settings.explain() if line.name == "model")
        terminal.screen.note(f"The model is {terminal.settings.model} ({source}). /model NAME uses another.")
        return
    from agent.cli.doctor import model_findings
    from agent.models.protocol import EMBEDDED

    settings = terminal.settings_with(argument)
    for finding in await asyncio.to_thread(lambda: list(model_findings(settings))):
        if finding.ok:
            continue
        if argument != EMBEDDED:
            raise SettingsError(f"{finding.detail}; the model stays {terminal.settings.model}.", remedy=finding.remedy)
        terminal.screen.note("Its weights (1.1 GB) are fetched with the next question.")
    await terminal.switch(settings)
    terminal.screen.note(f"The model is {argument} from now on.")


async def doctor(terminal: Terminal, argument: str) -> None:
    """Check that everything alita needs is there."""
    from agent.cli.doctor import diagnose

    terminal.screen.note("Looking …")
    findings = await asyncio.to_thread(diagnose, terminal.settings)
    for finding in findings:
        state = "ok" if finding.ok else "missing" if finding.needed else "not there"
        terminal.screen.rows([(state, finding.name, finding.detail)])
        if not finding.ok:
            terminal.screen.quote(f"    {finding.remedy}")


async def mcp(terminal: Terminal, argument: str) -> None:
    """List the servers of other people's tools."""
    from agent.consent.external_tools import ConfiguredServers

    found = await asyncio.to_thread(ConfiguredServers, terminal.settings, Path.cwd())
    terminal.screen.rows([(s.entry.name, s.state, f"{s.reason} {s.remedy}".strip()) for s in found.standings])
    for problem in found.problems:
        terminal.screen.note(f"{problem.where}: {problem.message}")
    if not found.standings:
        terminal.screen.note("No server is configured. Add one with: alita mcp add")


FOUND = 10


async def tools(terminal: Terminal, argument: str) -> None:
    """List the tools, or those that fit the words."""
    library = _library(terminal)
    found = [hit.tool for hit in library.search(argument, FOUND)] if argument else library.list()
    terminal.screen.rows([(tool.name, str(tool.status), one_line(tool.description, 200)) for tool in found])
    if not found:
        terminal.screen.note("No tool fits." if argument else f"No tools are in {library.folder} yet.")
    for flaw in library.flaws():
        terminal.screen.note(f"{flaw.message} {flaw.remedy}")


async def show(terminal: Terminal, argument: str) -> None:
    """Show a tool: its source and what is known of it."""
    from agent.cli.tools import tool_rows

    library = _library(terminal)
    tool = library.get(argument)
    terminal.screen.rows(tool_rows(library, tool))
    terminal.screen.code(tool.source)


async def create(terminal: Terminal, argument: str) -> None:
    """Make a tool for questions like this one."""
    before = len(terminal.refused)
    answer = await terminal.ask(argument, wish="create")
    if len(terminal.refused) > before:
        return  # it was shown, and the user said no
    if answer.tools_created:
        terminal.screen.note(f"New: {', '.join(answer.tools_created)}. Questions like this one use it from now on.")
    elif answer.tools_used:
        terminal.screen.note(f"The library has the tool for this already: {', '.join(answer.tools_used)}.")
    elif answer.status in {"answered", "no_answer"}:
        terminal.screen.note(
            "No tool was kept. Ask for something that is computed from its values, with all values in the question."
        )


def _library(terminal: Terminal) -> Library:
    return Library(terminal.settings.tools_dir, terminal.settings.approvals_file)


_COMMAND = re.compile(r"/([A-Za-z]+)(?:\s+(.*))?\s*", re.DOTALL)


class Command(NamedTuple):
    """One slash command."""

    name: str
    argument: str
    """What follows the name, as help shows it; brackets mean that it may be left out."""
    run: Callable[[Terminal, str], Awaitable[None]]
    """What it does; its docstring is what help says."""
    completes: str = ""
    """The kind of its argument: `commands`, `files`, `models`, `modes`, `runs`, `sessions` or `tools`."""

    @property
    def summary(self) -> str:
        """What help says, as the rest of a line."""
        text = (self.run.__doc__ or "").rstrip(".")
        return text[:1].lower() + text[1:]

    @property
    def usage(self) -> str:
        """`/name ARGUMENT`."""
        return f"/{self.name} {self.argument}".strip()


COMMANDS: tuple[Command, ...] = (
    Command("help", "[COMMAND]", help_, "commands"),
    Command("exit", "", exit_),
    Command("new", "", new),
    Command("model", "[NAME]", model, "models"),
    Command("route", "[RUN]", route, "runs"),
    Command("tools", "[WORDS]", tools),
    Command("show", "TOOL", show, "tools"),
    Command("create", "QUESTION", create),
    Command("approve", "[MODE]", approve, "modes"),
    Command("cost", "", cost),
    Command("trace", "[RUN]", trace, "runs"),
    Command("sessions", "", sessions),
    Command("resume", "[SESSION]", resume, "sessions"),
    Command("continue", "[RUN]", continue_, "runs"),
    Command("attach", "[FILE]", attach, "files"),
    Command("copy", "", copy),
    Command("save", "FILE", save, "files"),
    Command("retry", "", retry),
    Command("undo", "", undo),
    Command("edit", "", edit_),
    Command("verbose", "", verbose),
    Command("mcp", "", mcp),
    Command("doctor", "", doctor),
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
