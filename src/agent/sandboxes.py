"""Opens the sandbox that the settings ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.settings import Settings
    from mcp_tools.sandbox.protocol import Sandbox


async def open_for(settings: Settings) -> Sandbox:
    """The strongest sandbox of this machine, or the one that the settings name.

    Raises:
        IsolationError: The machine offers no acceptable isolation, and the user has not named the risk.
    """
    from mcp_tools.sandbox import open_sandbox

    wanted = settings.isolation
    named = wanted if wanted in {"bubblewrap", "sandlock"} else None
    return await open_sandbox(backend=named, allow_weak=wanted == "none")
