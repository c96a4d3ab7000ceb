"""Which of the configured servers may be started, and why the others may not."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcp_tools.clients.config_parser import ServerEntry
from mcp_tools.clients.expand import Expanded, expand
from mcp_tools.clients.trust import Decisions
from mcp_tools.errors import ServersFileError

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
