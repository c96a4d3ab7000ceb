"""`alita completion bash|zsh|fish`: the script that lets a shell complete commands, options and tools."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import typer

from agent.cli import options
from agent.cli.output import print_text

app = options.new_app("Prints the completion script of a shell: source <(alita completion bash)")

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
"""A shell expands what it is given: anything else might be a command."""


class Words(StrEnum):
    """What has names that only a look at the disk can tell."""

    TOOLS = "tools"
    RUNS = "runs"


@app.command()
def bash() -> None:
    """Prints the script for bash: source <(alita completion bash)."""
    from agent.cli.completing import bash as shell
    from agent.cli.completing.commands import completed

    print_text(shell.script(completed()))


@app.command()
def zsh() -> None:
    """Prints the script for zsh: source <(alita completion zsh)."""
    from agent.cli.completing import zsh as shell
    from agent.cli.completing.commands import completed

    print_text(shell.script(completed()))


@app.command()
def fish() -> None:
    """Prints the script for fish: alita completion fish | source."""
    from agent.cli.completing import fish as shell
    from agent.cli.completing.commands import completed

    print_text(shell.script(completed()))


@app.command(hidden=True)
def words(kind: Annotated[Words, typer.Argument(help="What to name.")]) -> None:
    """Prints the names that stand on the disk, one a line."""
    from agent.configuration.settings_sources import read_settings

    settings = read_settings()
    if kind is Words.TOOLS:
        from mcp_tools.library.tool_files import stamps

        names = list(stamps(settings.tools_dir))
    else:
        folder = settings.runs_dir
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    print_text("\n".join(sorted(name for name in names if _PLAIN.fullmatch(name))))
