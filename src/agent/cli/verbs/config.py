"""`alita config show|set|unset|edit|path|trust` and `alita keys set|list|delete`."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import options
from agent.cli.confirmations import ask_about_choice, is_terminal
from agent.cli.options import opt
from agent.cli.output import Result, done, listing, print_note
from agent.configuration.paths import PROJECT_FILE, find_folders
from agent.configuration.project_choice import ProjectChoice
from agent.configuration.settings import UNSET, require_header_text
from agent.configuration.settings_file import SettingsFile
from agent.configuration.settings_sources import KEYS, require_known, variables
from agent.configuration.stored_keys import OF_HOST, StoredKeys
from agent.errors import UsageError
from agent.store.redact import MIN_SECRET_CHARS
from agent.user_files import write_file
from mcp_tools import child
from mcp_tools.atomic import private_folder
from mcp_tools.clients.trust import FILE, Decisions
from mcp_tools.errors import os_errors_as
from mcp_tools.hosts import read_host, read_key_name
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings


app = options.App("Show and change settings.")


@app.command()
def show(
    name: Annotated[str | None, typer.Argument(help="Only this setting.")] = None,
    as_json: options.AsJson = False,
) -> Result:
    """Prints every setting, its value and its source. Keys are masked."""
    return shown(options.settings(), name or "")


def shown(settings: Settings, name: str = "") -> Result:
    """Return all settings, or the one with the given name."""
    lines = [line for line in settings.explain() if not name or line.name == name]
    if not lines:
        require_known([name])
        raise UsageError(f"There is no setting {one_line(name)}.", remedy="alita config show lists all settings.")
    form = {line.name: {"value": None if line.value == UNSET else line.value, "source": line.source} for line in lines}
    return Result(form, [tuple(line) for line in lines])


@app.command("set")
def set_(
    name: Annotated[str, typer.Argument(help="Name of the setting; alita config show lists all.")],
    value: Annotated[str, typer.Argument(help='Value as in TOML: 12, true, "text", ["a", "b"]; or plain text.')],
    as_json: options.AsJson = False,
) -> Result:
    """Writes a setting to your own settings file. Comments are kept."""
    SettingsFile(_file()).set(name, value, lambda given: options.settings(**given))
    return done(f"{_file()}: {name} = {value}", path=str(_file()))


@app.command()
def unset(name: Annotated[str, typer.Argument(help="Name of the setting.")], as_json: options.AsJson = False) -> Result:
    """Removes a setting from your own settings file."""
    SettingsFile(_file()).unset(name)
    return done(f"{_file()}: {name} removed", path=str(_file()))


@app.command()
def edit() -> None:
    """Opens your own settings file in your editor, then checks it."""
    file = _file()
    if not file.exists():
        private_folder(file.parent)
        write_file(file, "# alita's settings; `alita config show` lists them.\n")
    open_editor(file)
    options.settings()
    print_note(f"{file} is valid.")


_FOR_AN_EDITOR = (
    *("TERM*", "COLOR*", "LC_*", "USER", "LOGNAME", "SHELL", "TMPDIR", "VIM*", "NVIM_*", "EMACS*", "ALTERNATE_EDITOR"),
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_*"),
)


def open_editor(file: Path) -> None:
    """Open a file in the user's editor, without API keys in its environment, and wait until the editor exits.

    Raises:
        UsageError: The editor cannot be started, or exited with an error.
    """
    command = [*shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "nano"), str(file)]
    env = child.environment(*_FOR_AN_EDITOR)
    with os_errors_as(UsageError, f"The editor {command[0]} could not be started", "Set one: export EDITOR=nano"):
        process = child.popen(command, env=env, cwd=file.parent, stdin=None, stdout=None, stderr=None, on_terminal=True)
    if code := process.wait():
        raise UsageError(f"The editor {command[0]} exited with status {code}.")


def _file() -> Path:
    return find_folders(os.environ).config_file


@app.command()
def path(as_json: options.AsJson = False) -> Result:
    """Prints the paths of the settings files, yours first."""
    files = [_file(), Path.cwd() / PROJECT_FILE, Path.cwd() / ".env"]
    form = {"files": [{"path": str(file), "exists": file.is_file()} for file in files]}
    return Result(form, [(str(file), "" if file.is_file() else "(does not exist)") for file in files])


@app.command()
def trust(
    yes: Annotated[bool, opt("--yes -y", "Allow without asking.")] = False,
    as_json: options.AsJson = False,
) -> Result:
    """Shows which model this folder's settings choose, and asks whether to allow it."""
    settings = options.settings()
    choice, decisions = ProjectChoice.of(settings), Decisions(settings.data_dir / FILE)
    if choice is None:
        return done("No file in this folder chooses a model.", allowed=[])
    allowed = yes or (is_terminal() and ask_about_choice(choice, decisions))
    if not allowed and not is_terminal():
        raise UsageError(f"This would allow: {choice.in_one_line}", remedy="If you trust it: alita config trust --yes")
    if allowed:
        decisions.decide(choice.digest, choice.project, "trusted")
    form = {"ok": allowed, "allowed": [line._asdict() for line in choice.settings]}
    return Result(form, note=f"Allowed: {choice.in_one_line}" if allowed else "", code=0 if allowed else 1)


keys_app = options.App("API keys, stored in the system keyring or in a file that only you can read.")

Name = Annotated[str, typer.Argument(metavar="VARIABLE", help="Name of the key's variable, such as OPENAI_API_KEY.")]


@keys_app.command("set")
def set_key(
    name: Name = "OPENAI_API_KEY",
    host: Annotated[
        str | None,
        opt("--host HOST", "A key for created tools, sent to this host alone (plain HTTP: http://localhost:8000)."),
    ] = None,
    as_json: options.AsJson = False,
) -> Result:
    """Asks for a key without showing it, or reads it from a pipe, and stores it."""
    if host is not None:
        return _set_host_key(name, host)
    known = {variable for key in KEYS for variable in variables(key)}
    known |= {model.key for model in options.settings().models.values() if model.key}
    if name not in known:  # no service uses a key with this name
        usual = ", ".join(sorted(name for name in known if not name.startswith("ALITA_")))
        raise UsageError(f"No service uses a key named {name!r}.", remedy=f"Use one of these names: {usual}")
    keys = _keys()
    place = keys.keep(name, _typed_key(name))
    location = "the keyring" if place == "keyring" else keys.path
    wins = f"\nThe exported variable {name} takes precedence over it." if os.environ.get(name) else ""
    return done(f"Stored in {location}.{wins}", variable=name, place=place)


def _typed_key(name: str) -> str:
    typed = typer.prompt(name, hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()
    value = str(typed).strip()
    if not value:
        raise UsageError("The key is empty.", remedy=f"alita keys set {name}")
    try:
        require_header_text(value)
    except ValueError as problem:
        raise UsageError(f"This is not a valid key: {problem}.", remedy=f"alita keys set {name}") from None
    return value


def _set_host_key(name: str, host: str) -> Result:
    try:
        name, of = read_key_name(name), read_host(host.lower())
    except ValueError as problem:
        raise UsageError(f"{problem}.", remedy="For example: alita keys set WEATHER --host api.example.com") from None
    if of.scheme != "https" and not of.is_local:
        raise UsageError(f"Keys are sent only over HTTPS, but {of} uses plain HTTP.", remedy=f"Use --host {of.name}")
    value = _typed_key(name)
    if len(value) < MIN_SECRET_CHARS:  # too short to be redacted in output
        raise UsageError(f"A key for a host must have at least {MIN_SECRET_CHARS} characters; got {len(value)}.")
    keys = _keys()
    place = keys.keep(f"{name}{OF_HOST}{of}", value)
    for other in _of_hosts(keys, name) - {f"{name}{OF_HOST}{of}"}:
        keys.drop(other)
    location, shown = (
        "the keyring" if place == "keyring" else keys.path,
        f"https://{of}" if of.scheme == "https" else of,
    )
    return done(f"Stored in {location}: {name}, for {shown} alone.", name=name, host=str(of), place=place)


def _of_hosts(keys: StoredKeys, name: str) -> set[str]:
    """Return the keys stored under this name for individual hosts."""
    return {kept for kept in keys.places() if kept.startswith(f"{name}{OF_HOST}")}


@keys_app.command("list")
def list_keys(as_json: options.AsJson = False) -> Result:
    """Lists which keys are stored, and where. The keys are not shown."""
    keys = _keys()
    places = keys.places()
    form, rows = [], []
    for kept, place in places.items():
        name, _, host = kept.partition(OF_HOST)
        form.append({"variable": name, "place": place} | ({"host": host} if host else {}))
        rows.append((name, host, "keyring" if place == "keyring" else str(keys.path)))
    return listing(form, rows, "No key is stored. Store one with: alita keys set OPENAI_API_KEY")


@keys_app.command("delete")
def delete_key(name: Name, as_json: options.AsJson = False) -> Result:
    """Deletes a stored key."""
    keys = _keys()
    dropped = [kept for kept in (name, *_of_hosts(keys, name)) if keys.drop(kept)]
    if not dropped:
        raise UsageError(f"No key is stored for {name}.", remedy="alita keys list")
    return done(f"Deleted the key for {name}.", deleted=name)


def _keys() -> StoredKeys:
    return StoredKeys(find_folders(os.environ).config)
