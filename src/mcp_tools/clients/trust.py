"""The user's decisions about the contents of project files, and the tool definitions that the user trusts.

A project's files are untrusted: they can name servers that run code or receive variables, and models that decide on
actions. A decision applies to one project and one exact content, so the user is asked again after any change. Decisions
are stored outside the project.
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

from mcp_tools.clients.config_files import ExpandedServer, expand
from mcp_tools.clients.config_parser import ServerEntry
from mcp_tools.clients.definitions import ExternalTool
from mcp_tools.data_files import JsonFile
from mcp_tools.errors import ServersFileError, os_errors_as

FILE = "decisions.json"
Verdict = Literal["trusted", "refused"]


class _Project(BaseModel):
    verdicts: dict[str, Verdict] = {}
    off: list[str] = []


class _TrustDocument(BaseModel):
    form: Literal[1] = Field(1, alias="schema")
    projects: dict[str, _Project] = {}

    def of(self, project: Path) -> _Project:
        """Return the decisions about a project."""
        return self.projects.setdefault(str(project.resolve()), _Project())


class Decisions:
    """The user's decisions.

    Args:
        path: The file with the decisions, in the user's data folder. An unreadable file counts as empty.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = JsonFile(path, _TrustDocument, empty={"schema": 1})

    def of(self, digest: str, project: Path) -> Verdict | None:
        """Return the decision about the content with this digest in a project, or None if there is none."""
        return self._file.remembered().of(project).verdicts.get(digest)

    def is_off(self, entry: ServerEntry, project: Path) -> bool:
        """Return True if the user has disabled a project's server."""
        return entry.name in self._file.remembered().of(project).off

    def decide(self, digest: str, project: Path, verdict: Verdict) -> None:
        """Store a decision.

        Raises:
            ServersFileError: The file cannot be written.
        """
        with self._changing(project) as decided:
            decided.verdicts[digest] = verdict

    def switch(self, entry: ServerEntry, project: Path, *, off: bool) -> None:
        """Disable or enable a project's server for this user. The project's file is not changed.

        Raises:
            ServersFileError: The file cannot be written.
        """
        with self._changing(project) as decided:
            decided.off = [name for name in decided.off if name != entry.name] + ([entry.name] if off else [])

    @contextlib.contextmanager
    def _changing(self, project: Path) -> Iterator[_Project]:
        what = f"The decision cannot be saved because {self.path} cannot be written"
        remedy = "Make the folder writable, or set ALITA_HOME to another folder."
        with os_errors_as(ServersFileError, what, remedy), self._file.changing() as document:
            yield document.of(project)


PINS_FILE = "mcp-seen.json"


@dataclass(frozen=True, slots=True)
class ChangedTool:
    """A tool with a definition that differs from the trusted one."""

    server: str
    tool: str
    definition: str


class _Pin(BaseModel):
    trusted: str
    """SHA-256 of the trusted definition."""
    now: str | None = None


class Contact(BaseModel):
    """The outcome of the last connection to a server."""

    ok: bool
    notes: list[str] = []
    """Reasons why the server could not be used, or notes about omitted tools."""


class _Pins(BaseModel):
    form: Literal[2] = Field(2, alias="schema")
    servers: dict[str, dict[str, _Pin]] = {}
    """Pins by the digest of a server's entry, then by the tool's name on the server."""
    contacts: dict[str, Contact] = {}
    """Last contacts by the digest of a server's entry."""


class ToolPins:
    """The trusted tool definitions. A tool's first definition is trusted; a change needs the user's consent.

    Args:
        path: The file with the definitions. An unreadable file counts as empty, and write errors are ignored.
    """

    def __init__(self, path: Path) -> None:
        self._file = JsonFile(path, _Pins, empty={"schema": 2})

    def changed(self, entry: ServerEntry, tools: Sequence[ExternalTool]) -> dict[str, ChangedTool]:
        """Store new definitions, and return the tools that differ from their trusted definitions, by original name."""
        pins = self._file.remembered()
        if _update_pins(pins, entry, tools):
            with contextlib.suppress(OSError), self._file.changing() as pins:
                _update_pins(pins, entry, tools)
        listed = {tool.tool for tool in tools}
        return {one.tool: one for one in _changed_tools(entry, pins) if one.tool in listed}

    def contact(self, entry: ServerEntry) -> Contact | None:
        """Return the outcome of the last connection, or None if there was none."""
        return self._file.remembered().contacts.get(entry.digest)

    def found(self, entry: ServerEntry, contact: Contact) -> None:
        """Store the outcome of a connection."""
        if self.contact(entry) != contact:
            with contextlib.suppress(OSError), self._file.changing() as pins:
                pins.contacts[entry.digest] = contact

    def pending(self, entry: ServerEntry) -> list[ChangedTool]:
        """Return the changed tools in the server's last list that the user has not accepted."""
        return _changed_tools(entry, self._file.remembered())

    def trust(self, entry: ServerEntry, tools: Iterable[str]) -> None:
        """Trust the newest definitions of these tools."""
        with contextlib.suppress(OSError), self._file.changing() as pins:
            known = pins.servers.get(entry.digest, {})
            for name in tools:
                if name in known and (now := known[name].now):
                    known[name] = _Pin(trusted=_hash(now))


def _update_pins(pins: _Pins, entry: ServerEntry, tools: Sequence[ExternalTool]) -> bool:
    """Store a server's current definitions, and return True if anything changed."""
    known = pins.servers.setdefault(entry.digest, {})
    before = dict(known)
    for tool in tools:
        now = tool.pinned()
        pin = known.get(tool.tool) or _Pin(trusted=_hash(now))
        known[tool.tool] = _Pin(trusted=pin.trusted, now=None if pin.trusted == _hash(now) else now)
    return known != before


def _changed_tools(entry: ServerEntry, pins: _Pins) -> list[ChangedTool]:
    known = pins.servers.get(entry.digest, {})
    return [ChangedTool(entry.name, name, pin.now) for name, pin in known.items() if pin.now]


def _hash(definition: str) -> str:
    return hashlib.sha256(definition.encode("utf-8", "surrogatepass")).hexdigest()


State = Literal["ready", "off", "undecided", "refused", "unusable"]


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A configured server, and whether it may be started."""

    entry: ServerEntry
    state: State
    expanded: ExpandedServer | None = None
    reason: str = ""
    remedy: str = ""


def status_of(
    entry: ServerEntry, decisions: Decisions, environment: Mapping[str, str], project: Path, *, decided: bool = False
) -> ServerStatus:
    """Decide whether a server may be started, with the reason if it may not.

    With `decided`, the user has asked for this particular server, so its trust and `disabled` are not checked.
    """
    enable = f"alita mcp enable {entry.name}"
    serves = "serve" in entry.arguments
    if serves and (Path(entry.command).stem == "alita" or any("agent.cli.main" in word for word in entry.arguments)):
        # Other clients' files may list our own server, which must not connect to itself.
        return ServerStatus(entry, "off", reason="it is alita's own server")
    if not decided:
        if entry.is_off or (entry.scope == "project" and decisions.is_off(entry, project)):
            return ServerStatus(entry, "off", reason="it is disabled", remedy=enable)
        verdict = decisions.of(entry.digest, project) if entry.scope == "project" else "trusted"
        if verdict is None:
            return ServerStatus(
                entry, "undecided", reason="this project defines it, and you have not allowed it", remedy=enable
            )
        if verdict == "refused":
            return ServerStatus(entry, "refused", reason="you refused it", remedy=enable)
    try:
        expanded = expand(entry, environment, project)
    except ServersFileError as error:
        return ServerStatus(entry, "unusable", reason=error.message, remedy=error.remedy)
    command = expanded.command if entry.command else ""
    if command and "/" not in command and shutil.which(command, path=environment.get("PATH")) is None:
        return ServerStatus(
            entry, "unusable", reason=f"the command {entry.command} was not found", remedy="Install it."
        )
    return ServerStatus(entry, "ready", expanded)
