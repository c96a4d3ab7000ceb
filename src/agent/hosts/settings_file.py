"""Changes one entry of a client's settings file: never anything else, never without a backup, whole or not at all."""

from __future__ import annotations

import copy
import json
import shutil
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.errors import SettingsError, StorageError
from agent.hosts.clients import FormatName, Host
from agent.hosts.json_text import JsonText
from agent.hosts.toml_text import DamagedTextError, TextFormat, UnusualTextError
from mcp_tools.atomic import write_whole

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Change:
    """What a settings file would become."""

    path: Path
    """The file itself, behind any links."""
    before: str | None
    """None where there is no file."""
    after: str

    @property
    def is_needed(self) -> bool:
        """Whether the file would change."""
        return (self.before or "") != self.after


def text_format(name: FormatName) -> TextFormat:
    """How texts of a format are edited."""
    if name == "toml":
        from agent.hosts.toml_text import TomlText

        return TomlText()
    if name == "yaml":
        from agent.hosts.toml_text import YamlText

        return YamlText()
    return JsonText(comments=name == "jsonc")


def snippet(host: Host, name: str, entry: dict[str, Any]) -> str:
    """The entry alone, as it is pasted into the client's settings."""
    return text_format(host.format).put("", host.key, name, entry)


def planned_entry(host: Host, path: Path, name: str, entry: dict[str, Any]) -> Change:
    """The file with alita's entry, in the place of an older one of that name.

    Raises:
        SettingsError: The file is damaged, or written in a way that only its owner can edit.
    """
    before = _read(path)
    form, text = text_format(host.format), (before or "").removeprefix(_BOM)
    settings = _parsed(form, host, path, text)
    servers = settings.get(host.key)
    if isinstance(servers, dict) and servers.get(name) == entry:
        return Change(path.resolve(), before, before or "")
    wanted = copy.deepcopy(settings)
    try:
        if servers is not None and not isinstance(servers, dict):
            raise UnusualTextError(f"{host.key!r} holds no servers by name")
        wanted[host.key] = {**(servers or {}), name: entry}
        after = form.put(text, host.key, name, entry)
        _require_only(form, after, wanted, host.key)
    except UnusualTextError as unusual:
        pasted = snippet(host, name, entry)
        raise SettingsError(
            f"{path} is not edited: {unusual}.", remedy=f"Write this into it yourself:\n{pasted}"
        ) from None
    return _change(path, before, after)


def planned_removal(host: Host, path: Path, name: str) -> Change:
    """The file without the entry of that name.

    Raises:
        SettingsError: The file is damaged, or written in a way that only its owner can edit.
    """
    before = _read(path)
    form, text = text_format(host.format), (before or "").removeprefix(_BOM)
    settings = _parsed(form, host, path, text)
    servers = settings.get(host.key)
    if not isinstance(servers, dict) or name not in servers:
        return Change(path.resolve(), before, before or "")
    wanted = copy.deepcopy(settings)
    del wanted[host.key][name]
    try:
        after = form.remove(text, host.key, name)
        _require_only(form, after, wanted, host.key)
    except UnusualTextError as unusual:
        raise SettingsError(f"{path} is not edited: {unusual}.", remedy=f"Remove {name!r} from it yourself.") from None
    return _change(path, before, after)


def write(change: Change) -> Path | None:
    """Puts the new text in place.

    Returns:
        The copy of the old file, if there was one.

    Raises:
        SettingsError: The file is read-only, or was changed since it was read.
        StorageError: It cannot be written.
    """
    path = change.path
    if _is_read_only(path):
        raise SettingsError(f"{path} is read-only.", remedy=f"chmod u+w {path}, or paste what --print prints.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = _backup(path) if change.before is not None else None
        if _read(path) != change.before:
            raise SettingsError(f"{path} was changed by another program meanwhile.", remedy="Run the command again.")
        write_whole(path, change.after.encode(), keep_mode=True)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror or error}.",
            remedy="Make the folder writable, or paste what --print prints.",
        ) from None
    return backup


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{path} is not UTF-8: {error.reason} at byte {error.start}.", remedy="Save it as UTF-8."
        ) from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror or error}.") from None


def _parsed(form: TextFormat, host: Host, path: Path, text: str) -> dict[str, Any]:
    try:
        return form.parse(text)
    except DamagedTextError as damage:
        raise SettingsError(
            f"{path} is damaged, {damage}.",
            remedy=f"Correct that place; until then {host.title} cannot read it either. Nothing was changed.",
        ) from None


def _require_only(form: TextFormat, after: str, wanted: dict[str, Any], key: str) -> None:
    """The proof of an edit: read again, the text says what it said, and our entry.

    A key without servers and no key mean the same.
    """
    try:
        found = form.parse(after)
    except DamagedTextError as damage:
        raise UnusualTextError(f"the result would be damaged, {damage}") from None
    said, meant = ({name: value for name, value in one.items() if name != key or value} for one in (found, wanted))
    if json.dumps(said, sort_keys=True, default=str) != json.dumps(meant, sort_keys=True, default=str):
        raise UnusualTextError("the edit would change more than one entry")


def _change(path: Path, before: str | None, after: str) -> Change:
    mark = _BOM if (before or "").startswith(_BOM) else ""
    return Change(path.resolve(), before, mark + after)


def _is_read_only(path: Path) -> bool:
    """Also for an administrator, whom the system lets write what is read-only."""
    return path.exists() and not path.stat().st_mode & stat.S_IWUSR


def _backup(path: Path) -> Path:
    """A copy beside the file, with its rights and its times."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    copy_at = path.with_name(f"{path.name}.backup-{moment}")
    number = 1
    while copy_at.exists():
        number += 1
        copy_at = path.with_name(f"{path.name}.backup-{moment}-{number}")
    shutil.copy2(path, copy_at)
    return copy_at
