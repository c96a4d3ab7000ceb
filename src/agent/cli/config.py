"""`alita config show|path|trust`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from agent.cli import options
from agent.cli.output import print_json, print_note, print_rows
from agent.errors import UsageError
from agent.paths import PROJECT_FILE, find_folders

app = options.new_app("Each setting and where it came from.")


@app.command()
def show(as_json: options.AsJson = False) -> None:
    """Prints every setting, its value and where it came from; keys are masked."""
    from agent.settings_sources import read_settings

    explained = read_settings().explain()
    if as_json:
        print_json({setting.name: {"value": setting.value, "source": setting.source} for setting in explained})
    else:
        print_rows([tuple(setting) for setting in explained])


@app.command()
def path(as_json: options.AsJson = False) -> None:
    """Prints where the settings files are, the user's first."""
    files = [find_folders(os.environ).config_file, Path.cwd() / PROJECT_FILE, Path.cwd() / ".env"]
    if as_json:
        print_json({"files": [{"path": str(file), "exists": file.is_file()} for file in files]})
    else:
        print_rows([(str(file), "" if file.is_file() else "(not there)") for file in files])


@app.command()
def trust(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Allow it without asking.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Lets the files of this folder choose who answers, after a look at what they choose."""
    from agent.cli.trusting import choice_allowed, is_terminal
    from agent.project_choice import ProjectChoice
    from agent.settings_sources import read_settings
    from mcp_tools.clients.trust import FILE, Decisions

    settings = read_settings()
    choice, decisions = ProjectChoice.of(settings), Decisions(settings.data_dir / FILE)
    allowed = choice is None or yes or (is_terminal() and choice_allowed(choice, decisions))
    if choice is None:
        print_note("No file of this folder chooses who answers.")
    elif not allowed and not is_terminal():
        raise UsageError(f"This would allow: {choice.told}", remedy="If you trust it: alita config trust --yes")
    elif allowed:
        decisions.decide(choice.digest, choice.project, "trusted")
        print_note(f"Allowed: {choice.told}")
    if as_json:
        print_json({"ok": allowed, "allowed": [line._asdict() for line in choice.settings] if choice else []})
    raise typer.Exit(0 if allowed else 1)
