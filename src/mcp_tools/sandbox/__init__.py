"""Where tool code runs: always, at test time and at every later call, under the same limits.

What it exports is loaded when it is used: processes that only put the layers on themselves must start at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    )
    from mcp_tools.sandbox.strongest import open_sandbox, run

__all__ = [
    "Description",
    "Host",
    "Isolation",
    "Job",
    "Level",
    "Limits",
    "Outcome",
    "Problem",
    "Sandbox",
    "Session",
    "SessionOutcome",
    "open_sandbox",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "strongest" if name in ("open_sandbox", "run") else "protocol"
    return getattr(import_module(f"{__name__}.{module}"), name)
