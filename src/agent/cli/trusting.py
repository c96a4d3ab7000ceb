"""Asks on a terminal before a server that a project defines is started for the first time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.cli.output import print_note
from agent.errors import AlitaError

if TYPE_CHECKING:
    from agent.external import Configured
    from mcp_tools.clients.entry import ServerEntry


def is_terminal() -> bool:
    """Whether somebody is there to be asked."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())


def ask_about_new_servers(flags: dict[str, Any]) -> None:
    """Asks about each server of this project that nothing was decided about; without a terminal about none.

    Args:
        flags: Settings from the command line. What is wrong in the settings is told by whoever reads them next.
    """
    if not is_terminal():
        return
    from mcp_tools.clients.files import PROJECT_FILES

    if not any((Path.cwd() / name).is_file() for name in PROJECT_FILES):
        return
    from agent.external import Configured
    from agent.layers import read_settings

    try:
        configured = Configured(read_settings(flags), Path.cwd())
        for standing in configured.undecided:
            allowed(standing.entry, configured)
    except AlitaError:
        return


def allowed(entry: ServerEntry, configured: Configured) -> bool:
    """Whether the user allows a server now; yes and no are kept, an empty answer asks again the next time.

    Raises:
        ServersFileError: The decision cannot be kept.
    """
    action = "connect to" if entry.url else "run"
    print_note(f"{visible(str(entry.path))} defines the MCP server {visible(entry.name)}. It would {action}:\n")
    print_note(f"    {visible(entry.shown)}")
    if entry.given:
        print_note(f"    with {visible(entry.given)}")
    sys.stderr.write("\nAllow it? y: from now on, n: never, Enter: not now [y/n] ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip().lower()
    if answer in {"y", "yes", "n", "no"}:
        configured.decisions.decide(entry, configured.project, "trusted" if answer[0] == "y" else "refused")
    return answer in {"y", "yes"}


def visible(text: str) -> str:
    """The whole text on one line, with everything that is no plain character written out."""
    return "".join(c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode() for c in text)
