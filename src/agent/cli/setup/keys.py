"""`alita keys set|list|delete`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import options
from agent.cli.output import print_json, print_note, print_rows
from agent.errors import UsageError

if TYPE_CHECKING:
    from agent.configuration.stored_keys import StoredKeys

app = options.new_app("Keys of services, kept in the system's keyring or in a file that only you can read.")

Name = Annotated[str, typer.Argument(metavar="VARIABLE", help="The variable that the key stands for.")]


@app.command("set")
def set_(name: Name = "OPENAI_API_KEY", as_json: options.AsJson = False) -> None:
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


@app.command("list")
def list_(as_json: options.AsJson = False) -> None:
    """Lists whose keys are kept, and where; never a key."""
    keys = _keys()
    places = keys.places()
    if as_json:
        print_json([{"variable": name, "place": place} for name, place in places.items()])
        return
    print_rows([(name, "keyring" if place == "keyring" else str(keys.path)) for name, place in places.items()])
    if not places:
        print_note("No key is kept. Keep one with: alita keys set OPENAI_API_KEY")


@app.command()
def delete(name: Name, as_json: options.AsJson = False) -> None:
    """Forgets a key."""
    if not _keys().drop(name):
        raise UsageError(f"No key of {name} is kept.", remedy="alita keys list")
    print_json({"ok": True, "deleted": name}) if as_json else print_note(f"Deleted the key of {name}.")


def _keys() -> StoredKeys:
    from agent.configuration.paths import find_folders
    from agent.configuration.stored_keys import StoredKeys

    return StoredKeys(find_folders(os.environ).config)


def _require_known(name: str) -> None:
    """A key that nothing uses would be kept in vain.

    Raises:
        UsageError: Nothing uses it.
    """
    from agent.configuration.settings_sources import KEYS, read_settings, variables

    known = {variable for key in KEYS for variable in variables(key)}
    known |= {model.key for model in read_settings().models.values() if model.key}
    if name not in known:
        usual = ", ".join(sorted(name for name in known if not name.startswith("ALITA_")))
        raise UsageError(f"Nothing uses a key called {name!r}.", remedy=f"One of: {usual}")
