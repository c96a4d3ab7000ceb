"""Where tool code runs: always, at test time and at every later call, under the same limits."""

from __future__ import annotations

from mcp_tools.sandbox.opening import open_sandbox, run
from mcp_tools.sandbox.probe import Mechanism, probe
from mcp_tools.sandbox.protocol import (
    Description,
    Isolation,
    Job,
    Level,
    Limits,
    Outcome,
    Problem,
    Sandbox,
)

__all__ = [
    "Description",
    "Isolation",
    "Job",
    "Level",
    "Limits",
    "Mechanism",
    "Outcome",
    "Problem",
    "Sandbox",
    "open_sandbox",
    "probe",
    "run",
]
