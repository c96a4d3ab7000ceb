"""What the user decided about what a project's files define, kept outside the project.

A project's file is untrusted: starting a server of it runs code, or sends variables to an address, and a model of it
decides what is done. A decision holds for one project and one content exactly as it stands; what was changed is asked
about again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from mcp_tools.clients.config_files import Expanded, expand, write_atomically
from mcp_tools.clients.config_parser import ServerEntry
from mcp_tools.clients.definitions import ExternalTool
from mcp_tools.errors import ServersFileError
from mcp_tools.tool import Json

FILE = "decisions.json"
"""In the user's data folder."""
Verdict = Literal["trusted", "refused"]
_SCHEMA = 1


class Decisions:
    """The decisions of this user.

    Args:
        path: Their file, in the user's data folder. What cannot be read counts as undecided.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def of(self, digest: str, project: Path) -> Verdict | None:
        """What was decided about a content of a project's file; None when nothing was."""
        verdict = self._of_project(project)["verdicts"].get(digest)
        return cast(Verdict, verdict) if verdict in get_args(Verdict) else None

    def is_off(self, entry: ServerEntry, project: Path) -> bool:
        """Whether the user switched a project's server off for themselves."""
        return entry.name in self._of_project(project)["off"]

    def decide(self, digest: str, project: Path, verdict: Verdict) -> None:
        """Keeps a decision.

        Raises:
            ServersFileError: It cannot be written.
        """
        document = self._document()
        _project(document, project)["verdicts"][digest] = verdict
        self._write(document)

    def switch(self, entry: ServerEntry, project: Path, *, off: bool) -> None:
        """Switches a project's server off or on for this user; the project's file stays as it is.

        Raises:
            ServersFileError: It cannot be written.
        """
        document = self._document()
        names = [name for name in _project(document, project)["off"] if name != entry.name]
        _project(document, project)["off"] = [*names, entry.name] if off else names
        self._write(document)

    def _of_project(self, project: Path) -> dict[str, Any]:
        return _project(self._document(), project)

    def _document(self) -> dict[str, Json]:
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            document = None
        if not isinstance(document, dict) or document.get("schema") != _SCHEMA:
            return {"schema": _SCHEMA, "projects": {}}
        return document

    def _write(self, document: dict[str, Json]) -> None:
        try:
            write_atomically(self.path, json.dumps(document, indent=2) + "\n")
        except OSError as error:
            raise ServersFileError(
                f"The decision cannot be kept: {self.path} cannot be written ({error.strerror or error}).",
                remedy="Make the folder writable, or set ALITA_HOME to another place.",
            ) from None


def _project(document: dict[str, Json], project: Path) -> dict[str, Any]:
    """The part of one project, in the document; what is damaged counts as nothing."""
    projects = document.get("projects")
    if not isinstance(projects, dict):
        projects = document["projects"] = {}
    part = projects.get(str(project.resolve()))
    if not isinstance(part, dict):
        part = projects[str(project.resolve())] = {}
    if not isinstance(part.get("verdicts"), dict):
        part["verdicts"] = {}
    if not isinstance(part.get("off"), list):
        part["off"] = []
    return part


PINS_FILE = "mcp-seen.json"
"""In the user's data folder."""
_SCHEMA_DEFINITION_PINS = 2


@dataclass(frozen=True, slots=True)
class Changed:
    """A tool of which its server says something else than when it was trusted."""

    server: str
    tool: str
    definition: str
    """What it says now, as JSON."""


class Seen:
    """The definitions that were seen: the first one of a tool is trusted, a later one once the user allows it.

    Args:
        path: Their file. What cannot be read was not seen; what cannot be written is forgotten.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def changed(self, entry: ServerEntry, tools: Sequence[ExternalTool]) -> dict[str, Changed]:
        """The tools of a server that are not as they were trusted, by its own names; remembers what is new."""
        document = self._document()
        before = _tools(document, entry)
        known = dict(before)
        for tool in tools:
            now = _definition(tool)
            seen = known.get(tool.tool) or {"trusted": _hash(now)}
            is_new = seen["trusted"] != _hash(now)
            known[tool.tool] = {"trusted": seen["trusted"], **({"now": now} if is_new else {})}
        if known != before:
            document["servers"][entry.digest] = known
            self._write(document)
        listed = {tool.tool for tool in tools}
        return {name: one for name, one in _changes(entry, known).items() if name in listed}

    def pending(self, entry: ServerEntry) -> list[Changed]:
        """The tools of a server that were not as they were trusted when it last listed them."""
        return list(_changes(entry, _tools(self._document(), entry)).values())

    def trust(self, entry: ServerEntry, tools: Iterable[str]) -> None:
        """Trusts what the server last said of these tools."""
        document = self._document()
        known = document["servers"][entry.digest] = _tools(document, entry)
        for name in tools:
            if now := known.get(name, {}).get("now"):
                known[name] = {"trusted": _hash(now)}
        self._write(document)

    def _write(self, document: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            write_atomically(self._path, json.dumps(document) + "\n")

    def _document(self) -> dict[str, Any]:
        try:
            document: Any = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            document = None
        if (
            isinstance(document, dict)
            and document.get("schema") == _SCHEMA_DEFINITION_PINS
            and isinstance(document.get("servers"), dict)
        ):
            return document
        return {"schema": _SCHEMA_DEFINITION_PINS, "servers": {}}


def _tools(document: dict[str, Any], entry: ServerEntry) -> dict[str, dict[str, str]]:
    """What is known of the tools of a server; what is damaged was not seen."""
    known = document["servers"].get(entry.digest)
    told = known if isinstance(known, dict) else {}
    return {
        name: seen for name, seen in told.items() if isinstance(seen, dict) and isinstance(seen.get("trusted"), str)
    }


def _changes(entry: ServerEntry, known: dict[str, dict[str, str]]) -> dict[str, Changed]:
    return {name: Changed(entry.name, name, seen["now"]) for name, seen in known.items() if "now" in seen}


def _definition(tool: ExternalTool) -> str:
    told = {
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.hints,
    }
    return json.dumps(told, sort_keys=True)


def _hash(definition: str) -> str:
    return hashlib.sha256(definition.encode("utf-8", "surrogatepass")).hexdigest()


State = Literal["ready", "off", "undecided", "refused", "unusable"]


@dataclass(frozen=True, slots=True)
class Standing:
    """One configured server and whether it may be started."""

    entry: ServerEntry
    state: State
    expanded: Expanded | None = None
    """Present when it is ready."""
    reason: str = ""
    """Why it is not started."""
    remedy: str = ""


def standing_of(
    entry: ServerEntry, decisions: Decisions, environment: Mapping[str, str], project: Path, *, decided: bool = False
) -> Standing:
    """Whether a server may be started.

    Args:
        entry: The server.
        decisions: What the user decided about servers of projects.
        environment: Where its variables are looked up.
        project: The folder that the user works in.
        decided: Whether the user asks for this very server now, so that neither trust nor its being off matters.
    """
    enable = f"alita mcp enable {entry.name}"
    if _is_alita(entry):
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


def _is_alita(entry: ServerEntry) -> bool:
    """Whether it is our own server, which other clients have in the files that are read here: it would ask itself."""
    serves = "serve" in entry.arguments
    return serves and (Path(entry.command).stem == "alita" or any("agent.cli.main" in word for word in entry.arguments))
