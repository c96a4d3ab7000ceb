"""What the user decided about what a project's files define, kept outside the project.

A project's file is untrusted: starting a server of it runs code, or sends variables to an address, and a model of it
decides what is done. A decision holds for one project and one content exactly as it stands; what was changed is asked
about again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, cast, get_args

from mcp_tools.clients.config_files import write_atomically
from mcp_tools.clients.entry import ServerEntry
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
