"""`alita config show|set|unset|edit|path|trust`."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from agent.cli import options
from agent.cli.output import print_json, print_note, print_rows
from agent.configuration.paths import PROJECT_FILE, find_folders
from agent.errors import SettingsError, UsageError
from agent.store.user_files import write_file

app = options.new_app("Each setting and where it came from.")


@app.command()
def show(as_json: options.AsJson = False) -> None:
    """Prints every setting, its value and where it came from; keys are masked."""
    from agent.configuration.settings_sources import read_settings

    explained = read_settings().explain()
    if as_json:
        print_json({setting.name: {"value": setting.value, "source": setting.source} for setting in explained})
    else:
        print_rows([tuple(setting) for setting in explained])


@app.command("set")
def set_(
    name: Annotated[str, typer.Argument(help="The setting: alita config show lists them.")],
    value: Annotated[str, typer.Argument(help='Its value, as in TOML: 12, true, "text", ["a", "b"]; plain text, too.')],
    as_json: options.AsJson = False,
) -> None:
    """Writes a setting into your own settings file, whose comments stay."""
    import tomlkit

    from agent.configuration.settings_sources import KEYS, read_settings, require_known

    if name in KEYS:
        raise UsageError(f"{name} is a key, and does not belong into a settings file.", remedy="alita keys set")
    file = find_folders(os.environ).config_file
    wanted = _as_toml(value)
    require_known([name], file)
    try:
        read_settings({name: wanted})  # what it cannot be is told before it is written
    except SettingsError as error:
        flag = f" (flag --{name.replace('_', '-')})"
        raise SettingsError(error.message.replace(flag, ""), remedy=error.remedy) from None
    document = _document()
    document[name] = wanted
    _write(tomlkit.dumps(document), f"{name} = {value}", as_json=as_json)


@app.command()
def unset(
    name: Annotated[str, typer.Argument(help="The setting.")],
    as_json: options.AsJson = False,
) -> None:
    """Takes a setting out of your own settings file."""
    import tomlkit

    document = _document()
    if name not in document:
        raise UsageError(f"{find_folders(os.environ).config_file} does not set {name}.", remedy="alita config show")
    del document[name]
    _write(tomlkit.dumps(document), f"{name} is not set", as_json=as_json)


@app.command()
def edit() -> None:
    """Opens your own settings file in your editor, and says what is wrong in it afterwards."""
    from agent.cli.interactive.editor import edit_file
    from agent.configuration.settings_sources import read_settings
    from mcp_tools.atomic import private_folder

    file = find_folders(os.environ).config_file
    if not file.exists():
        private_folder(file.parent)
        write_file(file, "# alita's settings; `alita config show` lists them.\n")
    edit_file(file)
    read_settings()
    print_note(f"{file} is fine.")


def _document() -> Any:
    """The user's settings file, to be edited.

    Raises:
        SettingsError: It cannot be read.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    file = find_folders(os.environ).config_file
    try:
        return tomlkit.parse(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise SettingsError(f"{file} cannot be read: {error}.", remedy="alita config edit") from None


def _write(text: str, told: str, *, as_json: bool) -> None:
    from mcp_tools.atomic import private_folder

    file = find_folders(os.environ).config_file
    private_folder(file.parent)
    write_file(file, text)
    print_json({"ok": True, "path": str(file)}) if as_json else print_note(f"{file}: {told}")


def _as_toml(value: str) -> Any:
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


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
    from agent.cli.asking.trusting import choice_allowed, is_terminal
    from agent.configuration.project_choice import ProjectChoice
    from agent.configuration.settings_sources import read_settings
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
