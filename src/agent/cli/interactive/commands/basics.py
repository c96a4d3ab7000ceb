"""Commands of a session about itself: help, costs, keys, the model, the machine and other people's servers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

from agent.cli.screens.lines import cost_text, time_text
from agent.consent.approval import ApprovalMode
from agent.errors import SettingsError, UsageError
from agent.models.protocol import Usage
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal


_MODES: dict[ApprovalMode, str] = {
    "ask": "you see each new tool and decide whether it is kept",
    "auto": "every proved tool is kept",
    "never": "no tool is kept; its result answers the question all the same",
}


async def help_(terminal: Terminal, argument: str) -> None:
    """Lists the commands and the keys, or tells about one command."""
    from agent.cli.interactive.commands.registry import COMMANDS, find_command

    if argument:
        command = find_command(argument)
        terminal.screen.rows([(command.usage, command.summary)])
        return
    terminal.screen.note("Ask a question, or use a command:")
    terminal.screen.rows([(command.usage, command.summary) for command in COMMANDS])
    terminal.screen.rows([("!COMMAND", "run a command of your shell")])
    terminal.screen.note("Keys:")
    terminal.screen.rows([(key.keys, key.does) for key in KEYS])


async def exit_(terminal: Terminal, argument: str) -> None:
    """Leaves."""
    terminal.leaving = True


async def approve(terminal: Terminal, argument: str) -> None:
    """Shows the approval mode, or sets it."""
    if argument:
        if argument not in get_args(ApprovalMode):
            raise UsageError(f"There is no approval mode {one_line(argument)!r}.", remedy="One of: ask, auto, never.")
        terminal.mode = cast(ApprovalMode, argument)
    terminal.screen.note(f"Approval is {terminal.mode}: {_MODES[terminal.mode]}.")


async def verbose(terminal: Terminal, argument: str) -> None:
    """Switches the lines of model calls on or off."""
    terminal.verbose = not terminal.verbose
    terminal.screen.note("Model calls are shown." if terminal.verbose else "Model calls are not shown.")


async def edit_(terminal: Terminal, argument: str) -> None:
    """Opens the editor; what is saved stands at the prompt."""
    from agent.cli.interactive.editor import edit

    terminal.draft = await asyncio.to_thread(edit, "")
    if not terminal.draft:
        terminal.screen.note("Nothing was written.")


async def cost(terminal: Terminal, argument: str) -> None:
    """Shows tokens, money and time of each turn and of all; an unknown price makes the sum unknown."""
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


class Key(NamedTuple):
    """One key, or what is typed like one."""

    keys: str
    does: str


KEYS: tuple[Key, ...] = (
    Key("Enter", "ask, or do the command"),
    Key("Alt-Enter", "begin a new line; so does Esc, then Enter. A pasted text keeps its lines"),
    Key("Tab", "complete commands, names of tools, ids of runs and sessions, and files"),
    Key("Shift-Tab", "the next approval mode: ask, auto, never"),
    Key("Up, Down", "earlier entries; inside a text of several lines, its lines"),
    Key("Ctrl-R", "search earlier entries"),
    Key("Ctrl-X Ctrl-E", "write the entry in your editor ($VISUAL or $EDITOR)"),
    Key("Ctrl-C", "while a question is worked on: finish the step and save; again: stop at once"),
    Key("Ctrl-C", "at the prompt: clear the line; on an empty line twice: leave"),
    Key("Ctrl-D", "on an empty line: leave"),
    Key("@file", 'attach a file to the question; @"a name" when it has blanks'),
)


async def model(terminal: Terminal, argument: str) -> None:
    """Shows the model, or changes it once the new one is found usable."""
    if not argument:
        source = next(line.source for line in terminal.settings.explain() if line.name == "model")
        terminal.screen.note(f"The model is {terminal.settings.model} ({source}). /model NAME uses another.")
        return
    from agent.cli.setup.diagnosis import model_findings
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
    """Looks at everything that a question needs."""
    from agent.cli.setup.diagnosis import diagnose

    terminal.screen.note("Looking …")
    findings = await asyncio.to_thread(diagnose, terminal.settings)
    for finding in findings:
        state = "ok" if finding.ok else "missing" if finding.needed else "not there"
        terminal.screen.rows([(state, finding.name, finding.detail)])
        if not finding.ok:
            terminal.screen.quote(f"    {finding.remedy}")


async def mcp(terminal: Terminal, argument: str) -> None:
    """Lists the servers of other people's tools, and why some are not used."""
    from agent.consent.external_tools import ConfiguredServers

    found = await asyncio.to_thread(ConfiguredServers, terminal.settings, Path.cwd())
    terminal.screen.rows([(s.entry.name, s.state, f"{s.reason} {s.remedy}".strip()) for s in found.standings])
    for problem in found.problems:
        terminal.screen.note(f"{problem.where}: {problem.message}")
    if not found.standings:
        terminal.screen.note("No server is configured. Add one with: alita mcp add")
