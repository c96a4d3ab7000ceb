"""Renders what `alita --help` prints, from the registries: `python -m agent.cli.help` writes it anew."""

from __future__ import annotations

from pathlib import Path

from agent.cli.exits import EXIT_CODES
from agent.cli.main import COMMANDS

HELP_FILE = Path(__file__).with_name("help.txt")
WIDTH = 78


def render_help() -> str:
    """The options of a question, every command, every exit code."""
    from typer.main import get_command

    from agent.cli.ask import app

    command = get_command(app)
    context = command.make_context("alita", [], resilient_parsing=True, terminal_width=WIDTH)
    with context:
        asking = command.get_help(context)
    help_ = asking[asking.rindex("-h, --help") :]
    version = "-V, --version".ljust(help_.index("Show this"))
    longest = max(len(command.name) for command in COMMANDS)
    commands = "".join(f"  {command.name:<{longest}} {command.summary}\n" for command in COMMANDS)
    codes = "".join(f"  {code:>3}  {meaning}\n" for code, _, meaning in EXIT_CODES)
    return (
        f"{asking}\n  {version}Show the version and exit.\n\n"
        f"Commands (alita COMMAND --help tells more):\n{commands}\nExit codes:\n{codes}"
    )


if __name__ == "__main__":
    HELP_FILE.write_text(render_help(), encoding="utf-8")
