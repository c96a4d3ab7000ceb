"""`alita config show|set|unset|edit|path|trust` and `alita keys set|list|delete`."""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import options
from agent.cli.output import print_json, print_note, print_rows
from agent.configuration.paths import PROJECT_FILE, find_folders
from agent.errors import SettingsError, UsageError
from agent.store.user_files import write_file

if TYPE_CHECKING:
    from agent.configuration.stored_keys import StoredKeys


app = options.new_app("Each setting and where it came from.")


@app.command()
def show(as_json: options.AsJson = False) -> None:
    """Prints every setting, its value and where it came from; keys are masked."""
    explained = options.settings().explain()
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

    from agent.configuration.settings_sources import KEYS, require_known

    if name in KEYS:
        raise UsageError(f"{name} is a key, and does not belong into a settings file.", remedy="alita keys set")
    file = find_folders(os.environ).config_file
    try:
        wanted = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:  # plain text
        wanted = value
    require_known([name], file)
    try:
        options.settings({name: wanted})  # an invalid value is reported before it is written
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
    from agent.cli.interactive.desktop import edit_file
    from mcp_tools.atomic import private_folder

    file = find_folders(os.environ).config_file
    if not file.exists():
        private_folder(file.parent)
        write_file(file, "# alita's settings; `alita config show` lists them.\n")
    edit_file(file)
    options.settings()
    print_note(f"{file} is fine.")


def _document() -> Any:
    """The user's settings file, to be edited."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    file = find_folders(os.environ).config_file
    try:
        return tomlkit.parse(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise SettingsError(f"{file} cannot be read: {error}.", remedy="alita config edit") from None


def _write(text: str, note: str, *, as_json: bool) -> None:
    from mcp_tools.atomic import private_folder

    file = find_folders(os.environ).config_file
    private_folder(file.parent)
    write_file(file, text)
    print_json({"ok": True, "path": str(file)}) if as_json else print_note(f"{file}: {note}")


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
    from agent.cli.confirmations import ask_about_choice, is_terminal
    from agent.configuration.project_choice import ProjectChoice
    from mcp_tools.clients.trust import FILE, Decisions

    settings = options.settings()
    choice, decisions = ProjectChoice.of(settings), Decisions(settings.data_dir / FILE)
    allowed = choice is None or yes or (is_terminal() and ask_about_choice(choice, decisions))
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


keys_app = options.new_app("Keys of services, kept in the system's keyring or in a file that only you can read.")

Name = Annotated[str, typer.Argument(metavar="VARIABLE", help="The variable that the key stands for.")]


@keys_app.command("set")
def set_key(name: Name = "OPENAI_API_KEY", as_json: options.AsJson = False) -> None:
    """Asks for a key without showing it, or reads it from a pipe, and keeps it."""
    from agent.configuration.settings import require_header_text

    _require_known(name)
    typed = typer.prompt(name, hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()
    value = str(typed).strip()
    if not value:
        raise UsageError("The key is empty.", remedy=f"alita keys set {name}")
    try:
        require_header_text(value)
    except ValueError as problem:
        raise UsageError(f"This cannot be a key: {problem}.", remedy=f"alita keys set {name}") from None
    keys = _keys()
    place = keys.keep(name, value)
    if as_json:
        print_json({"ok": True, "variable": name, "place": place})
        return
    print_note(f"Kept in {'the keyring' if place == 'keyring' else keys.path}.")
    if os.environ.get(name):
        print_note(f"The variable {name} is exported, too, and wins.")


@keys_app.command("list")
def list_keys(as_json: options.AsJson = False) -> None:
    """Lists whose keys are kept, and where; never a key."""
    keys = _keys()
    places = keys.places()
    if as_json:
        print_json([{"variable": name, "place": place} for name, place in places.items()])
        return
    print_rows([(name, "keyring" if place == "keyring" else str(keys.path)) for name, place in places.items()])
    if not places:
        print_note("No key is kept. Keep one with: alita keys set OPENAI_API_KEY")


@keys_app.command("delete")
def delete_key(name: Name, as_json: options.AsJson = False) -> None:
    """Forgets a key."""
    if not _keys().drop(name):
        raise UsageError(f"No key of {name} is kept.", remedy="alita keys list")
    print_json({"ok": True, "deleted": name}) if as_json else print_note(f"Deleted the key of {name}.")


def _keys() -> StoredKeys:
    from agent.configuration.paths import find_folders
    from agent.configuration.stored_keys import StoredKeys

    return StoredKeys(find_folders(os.environ).config)


def _require_known(name: str) -> None:
    """A key that nothing uses would be kept in vain."""
    from agent.configuration.settings_sources import KEYS, variables

    known = {variable for key in KEYS for variable in variables(key)}
    known |= {model.key for model in options.settings().models.values() if model.key}
    if name not in known:
        usual = ", ".join(sorted(name for name in known if not name.startswith("ALITA_")))
        raise UsageError(f"Nothing uses a key called {name!r}.", remedy=f"One of: {usual}")
