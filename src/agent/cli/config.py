"""`alita config show|path`."""

from __future__ import annotations

import os
from pathlib import Path

from agent.cli import options
from agent.cli.output import print_json, print_rows
from agent.folders import PROJECT_FILE, find_folders

app = options.new_app("Each setting and where it came from.")


@app.command()
def show(as_json: options.AsJson = False) -> None:
    """Prints every setting, its value and where it came from; keys are masked."""
    from agent.layers import read_settings

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
