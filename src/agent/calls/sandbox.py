"""The sandbox of a run. Its outcomes are recorded and replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent.calls.recorder import Recorder, opened
from agent.records import as_plain
from mcp_tools.hosts import Carry
from mcp_tools.sandbox.protocol import (
    Description,
    Host,
    Isolation,
    Job,
    Outcome,
    Problem,
    Sandbox,
    Session,
    Writable,
)
from mcp_tools.tool import Json

_MIN_SECONDS = 0.5
"""Minimum seconds for a call, so that a short call can still finish when the run's time is over."""


class RecordedSandbox:
    """The sandbox of a run. For a replay, `sandbox` is None. No call takes longer than the run's remaining time."""

    def __init__(self, sandbox: Sandbox | None, calls: Recorder) -> None:
        self._sandbox = sandbox
        self._calls = calls

    @property
    def isolation(self) -> Isolation:
        """See `Sandbox`."""
        return opened(self._sandbox).isolation

    async def run(self, job: Job, *, carry: Carry | None = None) -> Outcome:
        """Run one call, or return the recorded outcome."""
        left_out = ("write",) if job.calls else ("write", "calls", "call_seconds")
        request = {name: value for name, value in as_plain(job).items() if name not in left_out}

        async def work() -> Outcome:
            left, limits = self._calls.budget.seconds_left, job.limits
            if left is not None and left < limits.wall_seconds:
                limits = replace(limits, wall_seconds=max(left, _MIN_SECONDS))
            return await opened(self._sandbox).run(replace(job, limits=limits), carry=carry)

        return await self._calls.call("sandbox", request, work, form=Outcome)

    async def describe(
        self, source: str, function: str, *, packages: tuple[str, ...] = (), modules: Mapping[str, str] | None = None
    ) -> Description | Problem:
        """Derive both schemas of a function, or return the recorded ones."""
        request: dict[str, Json] = {"source": source, "describe": function}
        request |= {"packages": packages} if packages else {}
        request |= {"modules": dict(modules)} if modules else {}
        sandbox = self._sandbox
        return await self._calls.call(
            "sandbox",
            request,
            lambda: opened(sandbox).describe(source, function, packages=packages, modules=modules),
            form=Description | Problem,
        )

    def session(
        self,
        *,
        read: Sequence[Path] = (),
        write: Sequence[Writable] = (),
        modules: Mapping[str, str] | None = None,
        functions: Sequence[str] = (),
        host: Host | None = None,
    ) -> Session:
        """See `Sandbox`."""
        return opened(self._sandbox).session(read=read, write=write, modules=modules, functions=functions, host=host)

    async def aclose(self) -> None:
        """Close the sandbox, but not the journal."""
        if self._sandbox is not None:
            await self._sandbox.aclose()
