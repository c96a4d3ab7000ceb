"""Help, leaving, and what is switched."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast, get_args

from agent.cli.interactive.keys import KEYS
from agent.consent.approval import ApprovalMode
from agent.errors import UsageError
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
