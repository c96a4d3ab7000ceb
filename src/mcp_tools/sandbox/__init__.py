"""Where tool code runs: always, at test time and at every later call, under the same limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_tools.sandbox.protocol import (
    Description,
    Host,
    Isolation,
    Job,
    Level,
    Limits,
    Outcome,
    Problem,
    Sandbox,
    Session,
    SessionOutcome,
)  # fmt: skip

if TYPE_CHECKING:
    from mcp_tools.sandbox.backends import open_sandbox

__all__ = [
    "Description", "Host", "Isolation", "Job", "Level", "Limits", "Outcome", "Problem", "Sandbox", "Session",
    "SessionOutcome", "open_sandbox",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The back ends are loaded when they are used: processes that only put layers on themselves start at once."""
    if name != "open_sandbox":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mcp_tools.sandbox.backends import open_sandbox

    return open_sandbox
