"""The library from within a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_tools.library import Library
from mcp_tools.text import one_line
from mcp_tools.tool import Tool

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal

FOUND = 10


async def list_(terminal: Terminal, argument: str) -> None:
    """Lists the tools, or those that fit some words."""
    library = _library(terminal)
    found = [hit.tool for hit in library.search(argument, FOUND)] if argument else library.list()
    terminal.screen.rows([(tool.name, str(tool.status), one_line(tool.description, 200)) for tool in found])
    if not found:
        terminal.screen.note("No tool fits." if argument else f"No tools are in {library.folder} yet.")
    for flaw in library.flaws():
        terminal.screen.note(f"{flaw.message} {flaw.remedy}")


async def show(terminal: Terminal, argument: str) -> None:
    """Shows a tool: what it takes, what is known of it, and its source."""
    library = _library(terminal)
    tool = library.get(argument)
    stats = library.stats(tool.name)
    terminal.screen.rows(
        [
            ("tool", _signature(tool)),
            ("status", str(tool.status)),
            ("purpose", one_line(tool.description, 500)),
            ("calls", f"{stats.calls}, {stats.successes} succeeded"),
            ("made by", one_line(str(tool.provenance.get("model", "unknown")))),
            ("file", str(library.path(tool.name))),
        ]
    )
    terminal.screen.code(tool.source)


async def create(terminal: Terminal, argument: str) -> None:
    """Makes the tool that answers a question, or finds it, and tells which tool answers such questions from now on."""
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


def _signature(tool: Tool) -> str:
    properties = tool.input_schema.get("properties", {})
    takes = ", ".join(f"{name}: {schema.get('type', 'any')}" for name, schema in properties.items())
    return one_line(f"{tool.name}({takes})", 300)
