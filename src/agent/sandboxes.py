"""The sandbox that the settings ask for, within the time of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.budget import Budget
    from agent.settings import Settings
    from mcp_tools.sandbox.protocol import Description, Isolation, Job, Outcome, Problem, Sandbox

_SHORTEST = 0.5
"""Seconds that a call has even when the run's time is over: what is short may end."""


async def open_for(settings: Settings) -> Sandbox:
    """The strongest sandbox of this machine, or the one that the settings name.

    Raises:
        IsolationError: The machine offers no acceptable isolation, and the user has not named the risk.
    """
    from mcp_tools.sandbox import open_sandbox

    wanted = settings.isolation
    named = wanted if wanted in {"bubblewrap", "sandlock"} else None
    return await open_sandbox(backend=named, allow_weak=wanted == "none")


class BudgetedSandbox:
    """A sandbox in which no call outlasts the run that asked for it."""

    def __init__(self, sandbox: Sandbox, budget: Budget) -> None:
        self._sandbox = sandbox
        self._budget = budget

    @property
    def isolation(self) -> Isolation:
        """The sandbox's own."""
        return self._sandbox.isolation

    async def run(self, job: Job) -> Outcome:
        """Runs one call in its own time, or in what is left to the run."""
        left = self._budget.seconds_left
        if left is not None and left < job.limits.wall_seconds:
            job = replace(job, limits=replace(job.limits, wall_seconds=max(left, _SHORTEST)))
        return await self._sandbox.run(job)

    async def describe(self, source: str, function: str, *, packages: tuple[str, ...] = ()) -> Description | Problem:
        """Derives both schemas."""
        return await self._sandbox.describe(source, function, packages=packages)

    async def aclose(self) -> None:
        """Ends the sandbox."""
        await self._sandbox.aclose()
