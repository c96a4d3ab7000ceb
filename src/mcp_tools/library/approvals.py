"""Approvals: which source and which definition of a tool somebody vouched for, as hashes in one JSON file.

The file may be shared by several libraries and written by several processes. One that is damaged approves nothing: the
damage is told, and the file is put aside by the next approval.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.errors import LibraryError
from mcp_tools.library.folder import PRIVATE, within
from mcp_tools.tool import Capabilities, Json, Tool

_LOCK_SECONDS = 30.0
_VERSION = 1
_HERE = "."
"""The key of the library in whose own folder the file is: such a library may be moved."""


@dataclass(frozen=True, slots=True)
class Approval:
    """What of a tool was vouched for."""

    source: str
    """SHA-256 of the source."""
    definition: str
    """SHA-256 of the definition."""
    capabilities: str
    """SHA-256 of what it may touch, which the definition does not tell in full."""
    approved: str = ""
    """When, ISO 8601 in UTC."""

    @classmethod
    def of(cls, tool: Tool) -> Approval:
        """The approval of a tool as it is now."""
        from mcp_tools.definition import definition_hash

        moment = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(tool.source_hash, definition_hash(tool), _hash_of(tool.capabilities), moment)

    def differences(self, now: Approval) -> list[str]:
        """What is not as it was approved: `source`, `definition`, `capabilities`."""
        return [part for part in ("source", "definition", "capabilities") if getattr(self, part) != getattr(now, part)]


@dataclass(frozen=True, slots=True)
class Found:
    """The approvals of one library as the file holds them."""

    by_name: Mapping[str, Approval] = field(default_factory=dict)
    damage: str = ""
    """Why the file cannot be believed; then nothing is approved."""


class Approvals:
    """The approvals of one library.

    Args:
        folder: The library's.
        path: The file; None keeps it in the library's own `.alita/`.
    """

    def __init__(self, folder: Path, path: Path | None) -> None:
        self.path = path or folder / PRIVATE / "approvals.json"
        self._folder = folder
        self._is_own = path is None
        self._seen: tuple[tuple[int, int, int], dict[str, Json] | str] | None = None
        self._found: tuple[dict[str, Json], Found] | None = None

    @property
    def _key(self) -> str:
        return _HERE if self._is_own else str(self._folder.resolve())

    def read(self) -> Found:
        """What is approved now."""
        content = self._content()
        if isinstance(content, str):
            return Found(damage=content)
        if self._found is None or self._found[0] is not content:
            self._found = (content, self._entries(content))
        return self._found[1]

    def _entries(self, content: dict[str, Json]) -> Found:
        try:
            entries = content["libraries"].get(self._key, {})
            return Found({name: _approval(entry) for name, entry in entries.items()})
        except (KeyError, TypeError, AttributeError, ValueError):
            return Found(damage=f"{self.path} is damaged: it holds no approvals")

    def put(self, name: str, approval: Approval) -> Path | None:
        """Keeps an approval in the place of an older one.

        Returns:
            Where a damaged file was put aside, if there was one.

        Raises:
            LibraryError: The file cannot be written.
        """
        return self._change(lambda entries: entries.update({name: asdict(approval)}))

    def drop(self, name: str) -> None:
        """Forgets the approval of a tool that is gone."""
        if name in self.read().by_name:
            self._change(lambda entries: entries.pop(name, None))

    def _content(self) -> dict[str, Json] | str:
        """The file's content, or why it has none; read again only when it was replaced."""
        try:
            state = self.path.stat()
            stamp = (state.st_mtime_ns, state.st_size, state.st_ino)
            if self._seen is None or self._seen[0] != stamp:
                self._seen = (stamp, _parsed(self.path))
            return self._seen[1]
        except FileNotFoundError:
            return {"version": _VERSION, "libraries": {}}
        except OSError as error:
            return f"{self.path} cannot be read: {error.strerror or error}"

    def _change(self, change: Callable[[dict[str, Json]], object]) -> Path | None:
        from filelock import FileLock, Timeout

        try:
            if self._is_own:
                within(self._folder, PRIVATE, self.path.name)
            private_folder(self.path.parent)
            with FileLock(self.path.with_suffix(".lock"), timeout=_LOCK_SECONDS):
                aside = self._put_aside() if self.read().damage else None
                content = self._content()
                if isinstance(content, str):
                    raise LibraryError(content, remedy=f"make it readable: chmod u+rw {self.path}")
                libraries = content["libraries"]
                entries = dict(libraries.get(self._key, {}))
                change(entries)
                new = {**content, "libraries": {**libraries, self._key: entries}}
                write_whole(self.path, _text(new).encode())
                return aside
        except Timeout as error:
            raise LibraryError(
                f"another process has held the lock of {self.path} for {_LOCK_SECONDS:.0f} seconds",
                remedy="end that process, or try again",
            ) from error
        except OSError as error:
            raise LibraryError(
                f"the approvals in {self.path} cannot be written: {error.strerror or error}",
                remedy="make space, or make the folder writable",
            ) from error

    def _put_aside(self) -> Path | None:
        label = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        aside = self.path.with_name(f"{self.path.stem}.damaged-{label}.json")
        self.path.rename(aside)
        return aside


def _parsed(path: Path) -> dict[str, Json] | str:
    try:
        content = json.loads(path.read_bytes(), object_hook=_shared)
    except (ValueError, RecursionError) as error:
        return f"{path} is damaged: {error}"
    if not isinstance(content, dict) or not isinstance(content.get("libraries"), dict):
        return f"{path} is damaged: it holds no approvals"
    if content.get("version") != _VERSION:
        return f"{path} is of another version of alita: {content.get('version')!r}"
    return content


def _shared(entry: dict[str, Json]) -> dict[str, Json]:
    """The same hash is one object: it also stands in a verdict and in a catalogue, for each of many tools."""
    return {name: sys.intern(value) if isinstance(value, str) else value for name, value in entry.items()}


@functools.lru_cache(maxsize=256)
def _hash_of(capabilities: Capabilities) -> str:
    """Nearly all tools may touch the same, which is nothing. A limit that is not declared is not in it."""
    from mcp_tools.definition import canonical

    declared = {name: value for name, value in asdict(capabilities).items() if value is not None}
    return hashlib.sha256(canonical(declared)).hexdigest()


def _approval(entry: Json) -> Approval:
    if not all(isinstance(value, str) for value in entry.values()):
        raise ValueError("a hash is no text")
    return Approval(**entry)


def _text(content: dict[str, Json]) -> str:
    """JSON with one approval a line: indenting all of it takes ten times as long, and no longer reads better."""
    libraries = []
    for folder, entries in sorted(content["libraries"].items()):
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(entries.items()))
        libraries.append(f" {json.dumps(folder)}: {{\n{lines}\n }}")
    others = {key: value for key, value in content.items() if key != "libraries"}
    return f'{json.dumps(others)[:-1]}, "libraries": {{\n' + ",\n".join(libraries) + "\n}}\n"
