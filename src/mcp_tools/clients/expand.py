"""`${NAME}` in an entry becomes the variable's value; what came from there is a secret from then on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_tools.child import NEUTRAL
from mcp_tools.clients.config_parser import ServerEntry, is_secret_name
from mcp_tools.errors import ServersFileError

_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_PLAIN_VARIABLES = frozenset({"HOME", "USER", "LOGNAME", "PATH", "PWD", "LANG", "SHELL", "TMPDIR", "TERM"})
"""Their values are no secrets, and stand in ordinary text."""
_PLAIN_VALUE = re.compile(r"[A-Za-z]{1,20}|[a-z]{1,10}(?:-[a-z0-9]{1,10}){1,2}|\d{1,5}|/[\w./-]*")
"""Words, regions, ports and paths: no secrets, unless the variable's name says so."""
_SHORTEST_SECRET = 6
"""Shorter values would be found everywhere."""
HIDDEN = "[hidden]"


@dataclass(frozen=True, slots=True)
class Expanded:
    """What is started or reached, with every variable in its place. Never printed, never written down."""

    entry: ServerEntry
    command: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: Path
    url: str
    headers: dict[str, str]
    secrets: tuple[str, ...]
    """The values that nobody may see, longest first."""

    def hide(self, text: str) -> str:
        """The text without the secrets of this server."""
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return text


def expand(entry: ServerEntry, environment: Mapping[str, str], current: Path) -> Expanded:
    """Puts the values of variables into an entry.

    Args:
        entry: The server.
        environment: Where variables are looked up; an input `ID` is the variable of that name in capitals.
        current: The folder that the user works in.

    Raises:
        ServersFileError: A variable is not set and has no default.
    """
    secrets: set[str] = set()

    def filled(text: str) -> str:
        return _REFERENCE.sub(lambda match: _value(match[1], entry, environment, current, secrets.add), text)

    variables = {name: filled(value) for name, value in entry.environment.items()}
    headers = {name: filled(value) for name, value in entry.headers.items()}
    secrets.update(_secret_values({**variables, **headers}))
    url = filled(entry.url)
    _require_one_line([url, *headers.values()], entry)
    return Expanded(
        entry,
        filled(entry.command),
        tuple(map(filled, entry.arguments)),
        variables,
        _folder(entry, filled(entry.folder), environment, current),
        url,
        headers,
        tuple(sorted((s for s in secrets if len(s) >= _SHORTEST_SECRET), key=len, reverse=True)),
    )


def _folder(entry: ServerEntry, named: str, environment: Mapping[str, str], current: Path) -> Path:
    """Where the server runs: what is in the current folder is code for a server of that project alone."""
    if named or entry.scope == "project":
        return current / Path(named).expanduser()
    return Path(environment.get("HOME") or NEUTRAL)


def _value(
    reference: str,
    entry: ServerEntry,
    environment: Mapping[str, str],
    current: Path,
    hide: Callable[[str], None],
) -> str:
    places = {
        "workspaceFolder": str(current),
        "workspaceFolderBasename": current.name,
        "userHome": environment.get("HOME", ""),
        "pathSeparator": "/",
        "/": "/",
    }
    if reference in places:
        return places[reference]
    if reference.startswith("input:"):
        identifier = reference.removeprefix("input:")
        name, default = re.sub(r"\W", "_", identifier).upper(), entry.inputs.get(identifier)
    elif match := _VARIABLE.fullmatch(reference):
        name, default = match[1], match[2]
    else:
        raise ServersFileError(
            f"The server {entry.name!r} uses ${{{reference}}}, which means nothing here.",
            remedy=f"In {entry.path}, write ${{NAME}} or ${{NAME:-default}}.",
        )
    value = environment.get(name)
    if value is None or (not value and default is not None):
        if default is None:
            raise ServersFileError(
                f"The server {entry.name!r} needs the variable {name}, which is not set.",
                remedy=f"Export {name}, or write ${{{name}:-default}} in {entry.path}.",
            )
        return default
    if is_secret_name(name) or not (name in _PLAIN_VARIABLES or _PLAIN_VALUE.fullmatch(value)):
        hide(value)
    return value


def _secret_values(named: Mapping[str, str]) -> Iterator[str]:
    """Values whose names say that they are secret, and of `Bearer x` the x too."""
    for name, value in named.items():
        if is_secret_name(name):
            yield value
            yield value.rpartition(" ")[2]


def _require_one_line(values: list[str], entry: ServerEntry) -> None:
    if not all(value.isprintable() and value.isascii() for value in values):
        raise ServersFileError(
            f"The address or a header of the server {entry.name!r} holds a character that no request can carry.",
            remedy="Look at the variables that it uses: perhaps one ends with a line break.",
        )
