"""The sandbox that the settings ask for."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from agent.errors import StorageError
from agent.store.user_files import write_file
from mcp_tools.atomic import private_folder

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.sandbox.protocol import Isolation, Sandbox


async def open_for(settings: Settings) -> Sandbox:
    """The strongest sandbox of this machine, or the one that the settings name.

    Raises:
        IsolationError: The machine offers no acceptable isolation, and the user has not named the risk.
    """
    from mcp_tools.sandbox import open_sandbox

    wanted = settings.isolation
    named = wanted if wanted in {"bubblewrap", "sandlock"} else None
    return await open_sandbox(backend=named, allow_weak=wanted == "none")


def isolation_lowered(settings: Settings, isolation: Isolation) -> str:
    """What to tell a user whose tools are isolated less than before; empty otherwise. Remembers the best level.

    Who names a back end has decided, and is told nothing.
    """
    from mcp_tools.sandbox.protocol import Level

    if settings.isolation != "auto":
        return ""
    levels = list(Level)  # from the strongest
    path = settings.data_dir / "isolation.json"
    try:
        before = Level(json.loads(path.read_text("utf-8"))["level"])
    except (OSError, ValueError, KeyError, TypeError):
        before = levels[-1]
    if levels.index(isolation.level) <= levels.index(before):
        if isolation.level is not before:
            with contextlib.suppress(OSError, StorageError):
                private_folder(path.parent)
                write_file(path, json.dumps({"level": isolation.level}) + "\n")
        return ""
    return (
        f"tools are isolated less than before here: {isolation.level} ({isolation.backend}), it was {before}; "
        f'`alita doctor` tells how to get it back, and isolation = "{isolation.backend}" in your settings accepts it'
    )
