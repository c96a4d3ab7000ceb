"""Changes a single entry of a client's settings file, atomically and with a backup."""

from __future__ import annotations

import copy
import json
import re
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
import yaml  # type: ignore[import-untyped]  # its types are a package of their own
from tomlkit.exceptions import TOMLKitError

from agent.errors import SettingsError, StorageError
from agent.hosts.clients import ClientProgram, FormatName
from mcp_tools.atomic import backup_of, write_whole
from mcp_tools.clients.config_parser import has_comments, load_jsonc
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import RECORD, read_small
from mcp_tools.text import one_line

_INDENT = re.compile(r"\n([ \t]+)")
_YAML_COMMENT = re.compile(r"(?:^|\s)#", re.MULTILINE)


class _UneditableError(ValueError):
    """Raised for a text that cannot be edited automatically without loss."""


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A planned change to a settings file."""

    path: Path
    """Path of the file with links resolved."""
    before: str | None
    """Text before the change; None if the file does not exist."""
    after: str

    @property
    def is_needed(self) -> bool:
        """True if the change alters the text."""
        return (self.before or "") != self.after


def read_text(form: FormatName, text: str) -> dict[str, Any]:
    """Parse the text of a settings file, which may be empty.

    Raises:
        ValueError: The text is invalid. The message states the position.
    """
    loads = {"json": lambda text: load_jsonc(text) if text.strip() else {}, "toml": tomllib.loads}
    try:
        found = loads.get(form, yaml.safe_load)(text)
    except yaml.YAMLError as error:
        raise ValueError(one_line(str(error), 300)) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict | None):
        raise ValueError("it is not an object of named settings")
    return found or {}


def edited(form: FormatName, text: str, key: str, name: str, entry: dict[str, Any] | None) -> str:
    """Return the text with an entry added or replaced under a top-level key, or removed if `entry` is None.

    Raises:
        ValueError: Comments would be lost. In TOML, comments are kept.
    """
    if form == "yaml":
        return _edited_yaml(text, key, name, entry)
    if form == "json" and text.strip() and has_comments(text):
        raise _UneditableError("it contains comments or trailing commas, which would be lost")
    document: Any = tomlkit.parse(text) if form == "toml" else json.loads(text.strip() or "{}")
    if key not in document:
        document[key] = tomlkit.table(is_super_table=True) if form == "toml" else {}
    if entry is None:
        del document[key][name]
    else:
        document[key][name] = entry
    if form == "toml":
        return tomlkit.dumps(document)
    indent = found[1] if (found := _INDENT.search(text)) else None if "{" in text and len(text) > 3 else 2
    written = json.dumps(document, indent=indent, ensure_ascii=bool(text) and text.isascii())
    return written if text and not text.endswith("\n") else f"{written}\n"


def _edited_yaml(text: str, key: str, name: str, entry: dict[str, Any] | None) -> str:
    """Change only the entry's nodes, so that all other values keep their formatting."""
    if _YAML_COMMENT.search(text):
        raise _UneditableError("it seems to contain comments, which would be lost")
    root = yaml.compose(text) or yaml.compose("{}")
    root.flow_style = False
    servers = next((value for head, value in root.value if head.value == key), None)
    if servers is None or not isinstance(servers, yaml.MappingNode):
        root.value = [pair for pair in root.value if pair[0].value != key]
        [(head, servers)] = yaml.compose(f"{key}: {{}}").value
        root.value.append((head, servers))
    new = yaml.compose(yaml.safe_dump({name: entry}, sort_keys=False, allow_unicode=True)).value if entry else []
    places = [at for at, (head, _) in enumerate(servers.value) if head.value == name]
    at = places[0] if places else len(servers.value)
    servers.value[at : at + len(places)] = new
    servers.flow_style = servers.flow_style and not new
    return str(yaml.serialize(root, allow_unicode=True, width=4096))


def snippet(host: ClientProgram, name: str, entry: dict[str, Any]) -> str:
    """Return only the entry, to be pasted into the client's settings."""
    return edited(host.format, "", host.key, name, entry)


def planned(host: ClientProgram, path: Path, name: str, entry: dict[str, Any] | None) -> SettingsChange:
    """Plan to add or replace alita's entry, or to remove it if `entry` is None.

    Raises:
        SettingsError: The file is invalid, or cannot be edited automatically.
    """
    before = _read(path)
    text = before or ""
    try:
        settings = read_text(host.format, text)
    except ValueError as damage:
        raise SettingsError(
            f"{path} cannot be parsed: {damage}.",
            remedy=f"Correct the file first; {host.title} cannot read it either. Nothing was changed.",
        ) from None
    servers = settings.get(host.key) or {}
    if isinstance(servers, dict) and servers.get(name) == entry:
        return SettingsChange(path.resolve(), before, before or "")
    try:
        if not isinstance(servers, dict):
            raise _UneditableError(f"{host.key!r} is not an object of named servers")
        wanted = copy.deepcopy(settings)
        wanted[host.key] = {**servers, name: entry} if entry else {k: v for k, v in servers.items() if k != name}
        after = edited(host.format, text, host.key, name, entry)
        if {host.key: {}, **read_text(host.format, after)} != wanted:
            raise _UneditableError("the edit would change more than one entry")
    except (_UneditableError, TOMLKitError) as problem:
        what = (
            f"Add this to the file yourself:\n{snippet(host, name, entry)}"
            if entry
            else f"Remove {name!r} from the file yourself."
        )
        raise SettingsError(f"{path} was not edited: {problem}.", remedy=what) from None
    return SettingsChange(path.resolve(), before, after)


def write(change: SettingsChange) -> Path | None:
    """Write the planned change.

    Returns:
        Path of the backup of the old file, if there was one.

    Raises:
        SettingsError: The file is read-only, or has been changed since it was read.
        StorageError: The file cannot be written.
    """
    path = change.path
    # Checked explicitly, because root can write read-only files.
    if path.exists() and not path.stat().st_mode & stat.S_IWUSR:
        raise SettingsError(f"{path} is read-only.", remedy=f"Run chmod u+w {path}, or paste the output of --print.")
    remedy = "Make the folder writable, or paste the output of --print."
    with os_errors_as(StorageError, f"{path} cannot be written", remedy):
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = None if change.before is None else backup_of(path)
        if _read(path) != change.before:
            raise SettingsError(f"Another program changed {path} in the meantime.", remedy="Run the command again.")
        write_whole(path, change.after.encode(), keep_mode=True)
    return backup


def _read(path: Path) -> str | None:
    with os_errors_as(SettingsError, f"{path} cannot be read"):
        return read_small(path, RECORD).decode() if path.exists() else None
