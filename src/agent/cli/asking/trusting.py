"""Asks on a terminal before a project's files start a server, or decide who answers, for the first time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.cli.output import print_note
from agent.errors import AlitaError

if TYPE_CHECKING:
    from agent.configuration.project_choice import ProjectChoice
    from agent.consent.external_tools import ConfiguredServers
    from mcp_tools.clients.config_parser import ServerEntry
    from mcp_tools.clients.trust import Changed, Decisions


def is_terminal() -> bool:
    """Whether somebody is there to be asked."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())


def ask_about_project(flags: dict[str, Any]) -> None:
    """Asks about what this project's files define and nothing was decided about; without a terminal about nothing.

    Args:
        flags: Settings from the command line. What is wrong in the settings is told by whoever reads them next.
    """
    if not is_terminal():
        return
    from agent.configuration.paths import PROJECT_FILE
    from mcp_tools.clients.config_files import PROJECT_FILES

    if not any((Path.cwd() / name).is_file() for name in (PROJECT_FILE, ".env", *PROJECT_FILES)):
        return
    from agent.configuration.settings_sources import read_settings
    from agent.consent.external_tools import ConfiguredServers

    try:
        configured = ConfiguredServers(read_settings(flags), Path.cwd())
        if configured.choice is not None and configured.choice.verdict is None:
            choice_allowed(configured.choice, configured.decisions)
        for standing in configured.undecided:
            allowed(standing.entry, configured)
    except AlitaError:
        return


def allowed(entry: ServerEntry, configured: ConfiguredServers) -> bool:
    """Whether the user allows a server now; yes and no are kept, an empty answer asks again the next time.

    Raises:
        ServersFileError: The decision cannot be kept.
    """
    action = "connect to" if entry.url else "run"
    print_note(f"{visible(str(entry.path))} defines the MCP server {visible(entry.name)}. It would {action}:\n")
    print_note(f"    {visible(entry.shown)}")
    if entry.given:
        print_note(f"    with {visible(entry.given)}")
    return _decided(entry.digest, configured.project, configured.decisions)


def choice_allowed(choice: ProjectChoice, decisions: Decisions) -> bool:
    """Whether the user lets a project's files decide who answers; yes and no are kept.

    Raises:
        ServersFileError: The decision cannot be kept.
    """
    print_note("The files of this folder choose who answers, and who receives your questions and files:\n")
    for line in choice.settings:
        print_note(f"    {line.name} = {visible(line.value)}    ({visible(line.source)})")
    return _decided(choice.digest, choice.project, decisions)


def tools_allowed(changed: Sequence[Changed]) -> bool:
    """Whether the user lets tools be called of which their server says something else than before."""
    for each in changed:
        print_note(f"{visible(each.server)} now defines {visible(each.tool)} as:\n    {visible(each.definition)}")
    sys.stderr.write("\nAllow it? [y/n] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _decided(digest: str, project: Path, decisions: Decisions) -> bool:
    sys.stderr.write("\nAllow it? y: from now on, n: never, Enter: not now [y/n] ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip().lower()
    if answer in {"y", "yes", "n", "no"}:
        decisions.decide(digest, project, "trusted" if answer[0] == "y" else "refused")
    return answer in {"y", "yes"}


def visible(text: str) -> str:
    """The whole text on one line, with everything that is no plain character written out."""
    return "".join(c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode() for c in text)
