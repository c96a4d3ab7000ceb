"""Where servers are described, which entries count, and changing the files without losing what else is in them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.clients.config_parser import (
    Parsed,
    Problem,
    Scope,
    ServerEntry,
    as_form,
    has_comments,
    load_jsonc,
    parse,
)
from mcp_tools.errors import ServersFileError
from mcp_tools.text import one_line
from mcp_tools.tool import Json

USER_FILE = "mcp.json"
"""In the user's config folder."""
PROJECT_FILE = ".mcp.json"
"""In a project: the form that other clients read too. `alita mcp add --scope project` writes it."""
PROJECT_FILES = (PROJECT_FILE, ".cursor/mcp.json", ".vscode/mcp.json")
LARGEST_FILE = 1_000_000


def configured(user_folder: Path, project: Path) -> Parsed:
    """Every server of this user in this project. The user's own come first; of one name, the first counts."""
    parts = [read(user_folder / USER_FILE, "user"), *(read(project / name, "project") for name in PROJECT_FILES)]
    entries: dict[str, ServerEntry] = {}
    problems = [problem for part in parts for problem in part.problems]
    for entry in (entry for part in parts for entry in part.entries):
        first = entries.setdefault(entry.name, entry)
        if first is not entry and replace(first, path=entry.path, scope=entry.scope) != entry:
            problems.append(Problem(f"{entry.path}: {one_line(entry.name, 60)}", f"{first.path} has that name too"))
    return Parsed(tuple(entries.values()), tuple(problems))


def read(path: Path, scope: Scope) -> Parsed:
    """The servers of a file; none where there is no file."""
    try:
        text = _text(path)
    except ServersFileError as error:
        return Parsed(problems=(Problem(str(path), error.message),))
    return Parsed() if text is None else parse(text, path, scope)


def put(path: Path, entry: ServerEntry, lock: Path) -> None:
    """Adds a server to a file, or changes it there.

    Raises:
        ServersFileError: The file cannot be read or written, or has comments that would be lost.
    """
    with _changing(path, lock) as servers:
        known = servers.get(entry.name)
        others = {key: value for key, value in known.items() if key not in _OURS} if isinstance(known, dict) else {}
        servers[entry.name] = others | as_form(entry)


def take_out(path: Path, name: str, lock: Path) -> None:
    """Removes a server from a file.

    Raises:
        ServersFileError: The file cannot be read or written, or has comments that would be lost.
    """
    with _changing(path, lock) as servers:
        servers.pop(name, None)


_OURS = frozenset({"type", "command", "args", "env", "cwd", "url", "headers", "disabled", "enabled", "alita"})


@contextlib.contextmanager
def _changing(path: Path, lock: Path) -> Iterator[dict[str, Json]]:
    """The servers of a file, to be changed in place; written whole or not at all."""
    from filelock import FileLock, Timeout

    try:
        private_folder(lock.parent)
        with FileLock(lock, timeout=10):
            document = _document(path)
            key = "servers" if "mcpServers" not in document and isinstance(document.get("servers"), dict) else ""
            servers = document.setdefault(key or "mcpServers", {})
            if not isinstance(servers, dict):
                raise ServersFileError(f"{path}: `{key or 'mcpServers'}` is no object.", remedy="Correct it by hand.")
            yield servers
            write_atomically(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    except Timeout:
        raise ServersFileError(f"{path} is being changed by another process.", remedy="Try again.") from None
    except OSError as error:
        raise ServersFileError(f"{path} cannot be written: {error.strerror or error}.") from None


def _document(path: Path) -> dict[str, Json]:
    text = _text(path)
    if text is None or not text.strip():
        return {}
    try:
        document = load_jsonc(text)
    except ValueError as error:
        raise ServersFileError(f"{path} is not JSON: {error}.", remedy="Correct it by hand.") from None
    if has_comments(text):
        raise ServersFileError(f"{path} has comments, which would be lost.", remedy="Change it by hand.")
    if not isinstance(document, dict):
        raise ServersFileError(f"{path} is no JSON object.", remedy="Correct it by hand.")
    return document


def _text(path: Path) -> str | None:
    try:
        if not path.is_file():  # a FIFO would never end
            return None
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise ServersFileError(f"{path} has more than {LARGEST_FILE:,} bytes.")
        return content.decode()
    except OSError as error:
        raise ServersFileError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise ServersFileError(f"{path} is not UTF-8.") from None


def write_atomically(path: Path, text: str) -> None:
    """Writes a file whole or not at all. A new one is the user's alone: it may hold keys.

    Raises:
        OSError: It cannot be written.
    """
    path = path.resolve()
    private_folder(path.parent)
    write_whole(path, text.encode(), keep_mode=True)
