"""`alita mcp install|uninstall|json`: alita's server in the settings of other programs."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import options
from agent.cli.output import print_json, print_note, print_text
from agent.hosts.clients import NAMES
from mcp_tools.errors import UsageError

if TYPE_CHECKING:
    from agent.hosts.clients import Host, ServerCommand
    from agent.hosts.settings_file import Change


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Scope(StrEnum):
    """Whose settings are changed."""

    USER = "user"
    PROJECT = "project"


Client = Annotated[
    str,
    typer.Argument(
        metavar="CLIENT",
        help="One of claude-desktop, claude-code, cursor, vscode, gemini, codex and goose.",
        autocompletion=lambda incomplete: [name for name in NAMES if name.startswith(incomplete)],
    ),
]
InScope = Annotated[Scope, typer.Option("--scope", help="Your own settings, or those of the current project.")]
Name = Annotated[str, typer.Option("--name", metavar="NAME", help="What the client calls the server.")]
Tools = Annotated[str | None, typer.Option("--tools", metavar="PATTERN", help="What to offer, as for alita serve.")]


def install(
    client: Client,
    print_only: Annotated[bool, typer.Option("--print", help="Print the entry; write nothing.")] = False,
    scope: InScope = Scope.USER,
    name: Name = "alita",
    tools: Tools = None,
    tools_dir: options.ToolsDir = None,
    as_json: options.AsJson = False,
) -> None:
    """Enters alita's server into the settings of a client; a copy of the old file is kept beside it."""
    from agent.hosts.clients import find_host
    from agent.hosts.settings_file import planned, snippet, write

    host = find_host(client)
    entry = host.entry(_server(tools_dir, tools), _valid(name))
    path = _path(host, scope)
    if print_only:
        if as_json:
            print_json({"ok": True, "client": client, "path": str(path), "entry": {host.key: {name: entry}}})
        else:
            print_note(f"{host.title} reads {path}:")
            print_text(snippet(host, name, entry))
        return
    change = planned(host, path, name, entry)
    backup = write(change) if change.is_needed else None
    if as_json:
        print_json({**_done(host, change, backup), "entry": entry})
    elif not change.is_needed:
        print_note(f"{host.title} has it already: nothing was changed in {path}.")
    else:
        print_note(f"Entered {name} into {path}.")
        if backup:
            print_note(f"The old file is kept as {backup}.")
        print_note(f"For {host.title} to see it: {host.afterwards}.")
        if scope is Scope.PROJECT:
            print_note("The entry names paths of this machine: others who share the project need their own.")
        print_note("No key is written: keep yours in your settings file, `alita config path` shows where.")


def uninstall(
    client: Client,
    scope: InScope = Scope.USER,
    name: Name = "alita",
    as_json: options.AsJson = False,
) -> None:
    """Takes alita's server out of the settings of a client; a copy of the old file is kept beside it."""
    from agent.hosts.clients import find_host
    from agent.hosts.settings_file import planned, write

    host = find_host(client)
    path = _path(host, scope)
    change = planned(host, path, _valid(name), None)
    backup = write(change) if change.is_needed else None
    if as_json:
        print_json(_done(host, change, backup))
    elif not change.is_needed:
        print_note(f"{host.title} has no {name} in {path}: nothing was changed.")
    else:
        print_note(f"Took {name} out of {path}.")
        print_note(f"The old file is kept as {backup}.")


def json_(name: Name = "alita", tools: Tools = None, tools_dir: options.ToolsDir = None) -> None:
    """Prints the mcpServers JSON that most other clients take."""
    print_json({"mcpServers": {_valid(name): _server(tools_dir, tools).as_json()}})


def _server(tools_dir: Path | None, tools: str | None) -> ServerCommand:
    """The command, with the library of this folder: the client starts it in another."""
    from agent.configuration.paths import TOOLS_FOLDER
    from agent.hosts.clients import server_command

    settings = options.settings(options.flags({"tools_dir": tools_dir}))
    usual = settings.data_dir / TOOLS_FOLDER
    return server_command(None if settings.tools_dir == usual else settings.tools_dir, tools=tools)


def _path(host: Host, scope: Scope) -> Path:
    from agent.hosts.clients import Machine

    return host.path(scope.value, Machine.this(), Path.cwd())


def _valid(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a server.", remedy="Use 1 to 64 of A-Z a-z 0-9 _ and -.")
    return name


def _done(host: Host, change: Change, backup: Path | None) -> dict[str, Any]:
    return {
        "ok": True,
        "client": host.name,
        "path": str(change.path),
        "changed": change.is_needed,
        "backup": str(backup) if backup else None,
    }
