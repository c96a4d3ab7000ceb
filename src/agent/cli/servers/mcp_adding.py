"""What `alita mcp add` does: a server from the command line, or those of another client's file, into a file of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent.cli.output import print_note
from agent.configuration.settings import Settings
from agent.errors import UsageError
from mcp_tools.clients.config_files import PROJECT_FILE, USER_FILE, put, read
from mcp_tools.clients.config_parser import (
    REFUSED_VARIABLE,
    Scope,
    ServerEntry,
    is_secret_name,
    parse_document,
    steering_variables,
)
from mcp_tools.clients.trust import FILE, Decisions

_USAGE = "alita mcp add NAME COMMAND [ARGS]..., or: alita mcp add NAME --url URL"


def described(
    words: Sequence[str],
    *,
    url: str,
    env: Sequence[str],
    headers: Sequence[str],
    seconds: float | None,
    roots: bool,
) -> ServerEntry:
    """The server that a command line describes.

    Raises:
        UsageError: It is no whole description.
    """
    if not words:
        raise UsageError("The server has no name.", remedy=_USAGE)
    name, *command = words
    if url and command:
        raise UsageError(f"It has both an address and a command: {command[0]!r}.", remedy=_USAGE)
    if not url and not command:
        raise UsageError(f"No command or --url is given for {name!r}.", remedy=_USAGE)
    form = {
        **({"url": url} if url else {"command": command[0], "args": command[1:]}),
        "env": _pairs(env, "--env", "="),
        "headers": _pairs(headers, "--header", "=:"),
        "alita": {**({"callSeconds": seconds} if seconds is not None else {}), **({"roots": True} if roots else {})},
    }
    parsed = parse_document({"mcpServers": {name: form}}, Path(), "user")
    if parsed.problems:
        raise UsageError(f"{name}: {parsed.problems[0].message}.", remedy=_USAGE)
    return parsed.entries[0]


def kept(settings: Settings, entry: ServerEntry, scope: Scope) -> ServerEntry:
    """The server as it stands in a file from now on. Whoever adds it trusts it.

    Raises:
        UsageError: The file has another server of that name.
        ServersFileError: The file cannot be changed.
    """
    path = _file(settings, scope)
    placed = replace(entry, scope=scope, path=path)
    if any(known.name == entry.name for known in read(path, scope).entries):
        raise UsageError(f"{path} has a server {entry.name!r} already.", remedy=f"alita mcp remove {entry.name}")
    if scope == "project" and (steering := steering_variables(entry)):
        raise UsageError(
            f"{entry.name}: {REFUSED_VARIABLE.format(steering[0])}.",
            remedy="Add the server for you alone: --scope user",
        )
    put(path, placed, settings.data_dir / "mcp.lock")
    if scope == "user":
        _warn_of_files_here(placed)
    if scope == "project":
        _warn_of_secrets(placed)
        written = next((known for known in read(path, scope).entries if known.name == entry.name), placed)
        Decisions(settings.data_dir / FILE).decide(written.digest, Path.cwd(), "trusted")
    return placed


def imported(settings: Settings, file: Path, names: Sequence[str], scope: Scope) -> list[ServerEntry]:
    """The servers of another client's settings file, those of the given names or all; known names are left as they are.

    Raises:
        UsageError: The file has no server, or not the named one.
        ServersFileError: Ours cannot be changed.
    """
    if not file.is_file():
        raise UsageError(f"There is no file {file}.")
    parsed = read(file, "user")
    for problem in parsed.problems:
        print_note(f"{problem.where}: {problem.message}")
    found = {entry.name: entry for entry in parsed.entries}
    if missing := [name for name in names if name not in found]:
        raise UsageError(f"{file} has no server {missing[0]!r}.", remedy=f"It has: {', '.join(found) or 'none'}.")
    if not found:
        raise UsageError(f"{file} has no server that can be used.")
    known = {entry.name for entry in read(_file(settings, scope), scope).entries}
    wanted = [entry for name, entry in found.items() if not names or name in names]
    for entry in wanted:
        if entry.name in known:
            print_note(f"{entry.name} is left as it is: {_file(settings, scope)} has it already.")
    return [kept(settings, entry, scope) for entry in wanted if entry.name not in known]


def _file(settings: Settings, scope: Scope) -> Path:
    return settings.config_dir / USER_FILE if scope == "user" else Path.cwd() / PROJECT_FILE


def _pairs(given: Sequence[str], option: str, signs: str) -> dict[str, str]:
    found = {}
    for pair in given:
        at = min((pair.index(sign) for sign in signs if sign in pair), default=0)
        if not at:
            raise UsageError(f"{option} {pair!r} is no NAME=VALUE.", remedy=f"Write {option} NAME=VALUE.")
        found[pair[:at].strip()] = pair[at + 1 :].strip()
    return found


def _warn_of_secrets(entry: ServerEntry) -> None:
    """A project's file is shared: a key does not belong there."""
    for name, value in {**entry.environment, **entry.headers}.items():
        if is_secret_name(name) and "${" not in value:
            print_note(f"{entry.path} is shared and holds the value of {name}; write ${{NAME}} instead.")


def _warn_of_files_here(entry: ServerEntry) -> None:
    """A server of the user runs in the home folder, wherever alita is called."""
    words = [word for word in (entry.command, *entry.arguments) if not word.startswith("-")]
    for word in () if entry.folder or entry.url else words:
        if not Path(word).is_absolute() and Path(word).is_file() and ("/" in word or word != entry.command):
            print_note(
                f"{word} is a file of this folder, but {entry.name} runs in your home folder. "
                f"If you mean that file, write its whole path: {Path(word).absolute()}"
            )
