"""Configuration files of external servers: read them, change an entry, and expand variables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mcp_tools.atomic import backup_of, private_folder, write_whole
from mcp_tools.child import NEUTRAL_FOLDER
from mcp_tools.clients.config_parser import (
    FORM_KEYS,
    ConfigProblem,
    Parsed,
    Scope,
    ServerEntry,
    as_form,
    has_comments,
    is_secret_name,
    load_jsonc,
    parse,
)
from mcp_tools.errors import ServersFileError, os_errors_as
from mcp_tools.small_files import read_small
from mcp_tools.text import one_line
from mcp_tools.tool import Json

USER_FILE = "mcp.json"
PROJECT_FILE = ".mcp.json"
"""Name of the project file that `alita mcp add --scope project` writes and that other clients also read."""
PROJECT_FILES = (PROJECT_FILE, ".cursor/mcp.json", ".vscode/mcp.json")
MAX_FILE_BYTES = 1_000_000


def configured_servers(user_folder: Path, project: Path) -> Parsed:
    """Return the servers for this user and project. The user's own file comes first; the first entry per name wins."""
    parts = [
        read_servers(user_folder / USER_FILE, "user"),
        *(read_servers(project / name, "project") for name in PROJECT_FILES),
    ]
    entries: dict[str, ServerEntry] = {}
    problems = [problem for part in parts for problem in part.problems]
    for entry in (entry for part in parts for entry in part.entries):
        first = entries.setdefault(entry.name, entry)
        if first is not entry and first.model_copy(update={"path": entry.path, "scope": entry.scope}) != entry:
            problems.append(
                ConfigProblem(
                    f"{entry.path}: {one_line(entry.name, 60)}", f"{first.path} already defines a server with this name"
                )
            )
    return Parsed(tuple(entries.values()), tuple(problems))


def read_servers(path: Path, scope: Scope) -> Parsed:
    """Return the servers in a file. If it does not exist, there are none."""
    try:
        text = _file_text(path)
    except ServersFileError as error:
        return Parsed(problems=(ConfigProblem(str(path), error.message),))
    return Parsed() if text is None else parse(text, path, scope)


def write_entry(path: Path, name: str, entry: ServerEntry | None) -> Path | None:
    """Add, change or (with `entry=None`) remove a server in a file. The rest of the file is preserved.

    Returns:
        Path of a backup of the old file. None if the file is new, or if it is ours and a server was only added.

    Raises:
        ServersFileError: The file cannot be read or written, or contains comments that would be lost.
    """
    before = _file_text(path)
    text = before or "{}"
    try:
        document = load_jsonc(text)
        if not isinstance(document, dict):
            raise ValueError("it is not a JSON object")
        has_other = "mcpServers" not in document and isinstance(document.get("servers"), dict)
        servers = document.setdefault("servers" if has_other else "mcpServers", {})
        if not isinstance(servers, dict):
            raise ValueError("`mcpServers` is not an object")
    except ValueError as error:
        raise ServersFileError(
            f"{path} is not a valid list of servers: {error}.", remedy="Correct the file by hand."
        ) from None
    if has_comments(text):
        raise ServersFileError(f"{path} contains comments, which would be lost.", remedy="Edit the file by hand.")
    only_adds = name not in servers and entry is not None and text == _formatted(document)
    known = servers.pop(name, {})
    if entry is not None:
        others = {key: value for key, value in known.items() if key not in FORM_KEYS} if isinstance(known, dict) else {}
        servers[name] = others | as_form(entry)
    with os_errors_as(ServersFileError, f"{path} cannot be written"):
        path = path.resolve()
        private_folder(path.parent)  # readable only by the user, because the file may contain API keys
        backup = None if before is None or only_adds else backup_of(path)
        write_whole(path, _formatted(document).encode(), keep_mode=True)
    return backup


def _formatted(document: Json) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _file_text(path: Path) -> str | None:
    with os_errors_as(ServersFileError, f"{path} cannot be read"):
        if not path.is_file():  # reading a FIFO would block
            return None
        return read_small(path, MAX_FILE_BYTES).decode()


_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_PUBLIC_VARIABLES = frozenset({"HOME", "USER", "LOGNAME", "PATH", "PWD", "LANG", "SHELL", "TMPDIR", "TERM"})
"""Variables with values that are never secret and that occur in ordinary text."""
_ORDINARY_VALUE = re.compile(r"[A-Za-z]{1,20}|[a-z]{1,10}(?:-[a-z0-9]{1,10}){1,2}|\d{1,5}|/[\w./-]*")
"""Pattern for words, regions, ports and paths. They are secret only if the variable's name says so."""
_MIN_SECRET_CHARS = 6
"""Minimum length of values to hide. Shorter ones would match everywhere."""
HIDDEN = "[hidden]"


@dataclass(frozen=True, slots=True)
class ExpandedServer:
    """A server's command or address with all variables expanded. Never print or store it."""

    entry: ServerEntry
    command: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: Path
    url: str
    headers: dict[str, str]
    secrets: tuple[str, ...]
    """Secret values to hide in all output, longest first."""

    def hide(self, text: str) -> str:
        """Return the text with this server's secrets replaced."""
        for secret in self.secrets:
            text = text.replace(secret, HIDDEN)
        return text


def expand(entry: ServerEntry, environment: Mapping[str, str], current: Path) -> ExpandedServer:
    """Expand the variables in an entry. An input `${input:ID}` is read from the environment variable `ID`.

    Args:
        entry: The server's entry.
        environment: The values of the variables.
        current: The user's working folder.

    Raises:
        ServersFileError: A variable is not set and has no default.
    """
    secrets: set[str] = set()

    def filled(text: str) -> str:
        return _REFERENCE.sub(lambda match: _value(match[1], entry, environment, current, secrets.add), text)

    variables = {name: filled(value) for name, value in entry.environment.items()}
    headers = {name: filled(value) for name, value in entry.headers.items()}
    url, folder = filled(entry.url), filled(entry.folder)
    for name, value in {**variables, **headers}.items():
        if is_secret_name(name):
            secrets |= {value, value.rpartition(" ")[2]}  # also hide the x of `Bearer x`
    if not all(value.isprintable() and value.isascii() for value in (url, *headers.values())):
        raise ServersFileError(
            f"The address or a header of the server {entry.name!r} contains a character that requests cannot contain.",
            remedy="Check the variables that it uses. One of them may end with a line break.",
        )
    # Only a project's own server may load code from the current folder.
    is_here = folder or entry.scope == "project"
    return ExpandedServer(
        entry,
        filled(entry.command),
        tuple(map(filled, entry.arguments)),
        variables,
        current / Path(folder).expanduser() if is_here else Path(environment.get("HOME") or NEUTRAL_FOLDER),
        url,
        headers,
        tuple(sorted((s for s in secrets if len(s) >= _MIN_SECRET_CHARS), key=len, reverse=True)),
    )


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
        name, default = re.sub(r"\W", "_", reference.removeprefix("input:")).upper(), None
    elif match := _VARIABLE.fullmatch(reference):
        name, default = match[1], match[2]
    else:
        raise ServersFileError(
            f"The server {entry.name!r} uses ${{{reference}}}, which is not supported.",
            remedy=f"Write ${{NAME}} or ${{NAME:-default}} in {entry.path}.",
        )
    value = environment.get(name)
    if not value and default is not None:
        return default
    if value is None:
        raise ServersFileError(
            f"The server {entry.name!r} needs the variable {name}, which is not set.",
            remedy=f"Export {name}, or write ${{{name}:-default}} in {entry.path}.",
        )
    if is_secret_name(name) or not (name in _PUBLIC_VARIABLES or _ORDINARY_VALUE.fullmatch(value)):
        hide(value)
    return value
