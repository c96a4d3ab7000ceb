"""The user's decisions about what a project's files define, kept outside the project.

A project's file is untrusted: its servers run code or receive variables, and its models decide on actions. A decision
holds for one project and exactly this content; changes are asked about again.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from mcp_tools.clients.config_files import Expanded, expand
from mcp_tools.clients.config_parser import ServerEntry
from mcp_tools.clients.definitions import ExternalTool
from mcp_tools.errors import ServersFileError, os_errors_as
from mcp_tools.json_file import JsonFile

FILE = "decisions.json"
Verdict = Literal["trusted", "refused"]


class _Project(BaseModel):
    verdicts: dict[str, Verdict] = {}
    off: list[str] = []


class _Document(BaseModel):
    form: Literal[1] = Field(1, alias="schema")
    projects: dict[str, _Project] = {}

    def of(self, project: Path) -> _Project:
        """Decisions about a project."""
        return self.projects.setdefault(str(project.resolve()), _Project())


class Decisions:
    """The decisions of this user.

    Args:
        path: Their file, in the user's data folder. Unreadable decisions count as undecided.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = JsonFile(path, _Document, empty={"schema": 1})

    def of(self, digest: str, project: Path) -> Verdict | None:
        """Return the decision about a content of a project's file; None when nothing was."""
        return self._file.remembered().of(project).verdicts.get(digest)

    def is_off(self, entry: ServerEntry, project: Path) -> bool:
        """Return True if the user switched a project's server off for themselves."""
        return entry.name in self._file.remembered().of(project).off

    def decide(self, digest: str, project: Path, verdict: Verdict) -> None:
        """Keeps a decision.

        Raises:
            ServersFileError: It cannot be written.
        """
        with self._changing(project) as decided:
            decided.verdicts[digest] = verdict

    def switch(self, entry: ServerEntry, project: Path, *, off: bool) -> None:
        """Switch a project's server off or on for this user; the project's file is not changed.

        Raises:
            ServersFileError: It cannot be written.
        """
        with self._changing(project) as decided:
            decided.off = [name for name in decided.off if name != entry.name] + ([entry.name] if off else [])

    @contextlib.contextmanager
    def _changing(self, project: Path) -> Iterator[_Project]:
        what = f"The decision cannot be kept: {self.path} cannot be written"
        remedy = "Make the folder writable, or set ALITA_HOME to another place."
        with os_errors_as(ServersFileError, what, remedy), self._file.changing() as document:
            yield document.of(project)


PINS_FILE = "mcp-seen.json"


@dataclass(frozen=True, slots=True)
class Changed:
    """A tool of which its server says something else than when it was trusted."""

    server: str
    tool: str
    definition: str
    """Its present description as JSON."""


class _Pin(BaseModel):
    trusted: str
    """SHA-256 of the trusted definition."""
    now: str | None = None


class Contact(BaseModel):
    """State of a server at its last call."""

    ok: bool
    notes: list[str] = []
    """Why it could not be used, or what was left out of its list."""


class _Pins(BaseModel):
    form: Literal[2] = Field(2, alias="schema")
    servers: dict[str, dict[str, _Pin]] = {}
    """By the digest of a server's entry, then by the tool's own name."""
    contacts: dict[str, Contact] = {}
    """By the same digest."""


class Seen:
    """The definitions that were seen: the first one of a tool is trusted, a later one once the user allows it.

    Args:
        path: Their file. Unreadable entries count as unseen; entries that cannot be written are lost.
    """

    def __init__(self, path: Path) -> None:
        self._file = JsonFile(path, _Pins, empty={"schema": 2})

    def changed(self, entry: ServerEntry, tools: Sequence[ExternalTool]) -> dict[str, Changed]:
        """The tools of a server that are not as they were trusted, by its own names; remembers what is new."""
        pins = self._file.remembered()
        if _noted(pins, entry, tools):
            with contextlib.suppress(OSError), self._file.changing() as pins:
                _noted(pins, entry, tools)
        listed = {tool.tool for tool in tools}
        return {one.tool: one for one in _changes(entry, pins) if one.tool in listed}

    def contact(self, entry: ServerEntry) -> Contact | None:
        """Return the state of a server at its last call; None if it never was."""
        return self._file.remembered().contacts.get(entry.digest)

    def found(self, entry: ServerEntry, contact: Contact) -> None:
        """Remembers how a server was found."""
        if self.contact(entry) != contact:
            with contextlib.suppress(OSError), self._file.changing() as pins:
                pins.contacts[entry.digest] = contact

    def pending(self, entry: ServerEntry) -> list[Changed]:
        """The tools of a server that were not as they were trusted when it last listed them."""
        return _changes(entry, self._file.remembered())

    def trust(self, entry: ServerEntry, tools: Iterable[str]) -> None:
        """Trusts what the server last said of these tools."""
        with contextlib.suppress(OSError), self._file.changing() as pins:
            known = pins.servers.get(entry.digest, {})
            for name in tools:
                if name in known and (now := known[name].now):
                    known[name] = _Pin(trusted=_hash(now))


def _noted(pins: _Pins, entry: ServerEntry, tools: Sequence[ExternalTool]) -> bool:
    """Note a server's present descriptions; return True if they are new."""
    known = pins.servers.setdefault(entry.digest, {})
    before = dict(known)
    for tool in tools:
        now = tool.pinned()
        pin = known.get(tool.tool) or _Pin(trusted=_hash(now))
        known[tool.tool] = _Pin(trusted=pin.trusted, now=None if pin.trusted == _hash(now) else now)
    return known != before


def _changes(entry: ServerEntry, pins: _Pins) -> list[Changed]:
    known = pins.servers.get(entry.digest, {})
    return [Changed(entry.name, name, pin.now) for name, pin in known.items() if pin.now]


def _hash(definition: str) -> str:
    return hashlib.sha256(definition.encode("utf-8", "surrogatepass")).hexdigest()


State = Literal["ready", "off", "undecided", "refused", "unusable"]


@dataclass(frozen=True, slots=True)
class Standing:
    """One configured server and whether it may be started."""

    entry: ServerEntry
    state: State
    expanded: Expanded | None = None
    reason: str = ""
    remedy: str = ""


def standing_of(
    entry: ServerEntry, decisions: Decisions, environment: Mapping[str, str], project: Path, *, decided: bool = False
) -> Standing:
    """Return True if a server may be started.

    If the user asks for this very server now (`decided`), neither trust nor its being off matters.
    """
    enable = f"alita mcp enable {entry.name}"
    serves = "serve" in entry.arguments
    if serves and (Path(entry.command).stem == "alita" or any("agent.cli.main" in word for word in entry.arguments)):
        # other clients have our own server in the files that are read here: it would ask itself
        return Standing(entry, "off", reason="it is alita itself")
    if not decided:
        if entry.is_off or (entry.scope == "project" and decisions.is_off(entry, project)):
            return Standing(entry, "off", reason="it is disabled", remedy=enable)
        verdict = decisions.of(entry.digest, project) if entry.scope == "project" else "trusted"
        if verdict is None:
            return Standing(
                entry, "undecided", reason="this project defines it and you have not allowed it", remedy=enable
            )
        if verdict == "refused":
            return Standing(entry, "refused", reason="you refused it", remedy=enable)
    try:
        expanded = expand(entry, environment, project)
    except ServersFileError as error:
        return Standing(entry, "unusable", reason=error.message, remedy=error.remedy)
    command = expanded.command if entry.command else ""
    if command and "/" not in command and shutil.which(command, path=environment.get("PATH")) is None:
        return Standing(entry, "unusable", reason=f"there is no command {entry.command}", remedy="Install it.")
    return Standing(entry, "ready", expanded)
