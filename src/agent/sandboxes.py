"""The sandbox that the settings ask for, within the time of a run."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.errors import StorageError
from agent.store.user_files import write_file
from mcp_tools.atomic import private_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agent.budget import Budget
    from agent.settings import Settings
    from mcp_tools.sandbox.protocol import Description, Host, Isolation, Job, Outcome, Problem, Sandbox, Session

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

    def session(
        self,
        *,
        read: Sequence[Path] = (),
        modules: Mapping[str, str] | None = None,
        functions: Sequence[str] = (),
        host: Host | None = None,
    ) -> Session:
        """The sandbox's own."""
        return self._sandbox.session(read=read, modules=modules, functions=functions, host=host)

    async def aclose(self) -> None:
        """Ends the sandbox."""
        await self._sandbox.aclose()
