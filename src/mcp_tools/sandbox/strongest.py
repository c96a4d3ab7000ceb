"""Opens the strongest sandbox that this machine offers."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from mcp_tools.errors import IsolationError
from mcp_tools.sandbox.environment import VARIABLES, Environment
from mcp_tools.sandbox.protocol import Isolation, Level
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.sandbox.zygote import SCRATCHES, Ready, Settings, Zygote

if TYPE_CHECKING:
    from mcp_tools.sandbox.protocol import Job, Outcome, Sandbox
    from mcp_tools.sandbox.warm import WarmSandbox


class PlainSandbox(WarmSandbox):
    """Level weak: tool code can read and change whatever its user can."""

    calls_per_zygote = 1

    def _create(self, environment: Environment) -> Zygote:
        scratch = (tempfile.mkdtemp(prefix="alita-sandbox-"),) * SCRATCHES
        settings = Settings(environment=environment, scratch=scratch, layers=(), user_is_private=False)
        return Zygote(lambda command: command, settings, dict(VARIABLES))

    def _judge(self, ready: Ready) -> Isolation:
        return Isolation(level=Level.WEAK, backend="none", layers=(*ready.layers, "supervisor"))


BACKENDS = ("bubblewrap", "sandlock", "none")
"""From the strongest to the weakest."""

FLAG = "--no-isolation"


async def open_sandbox(*, backend: str | None = None, allow_weak: bool = False) -> Sandbox:
    """Opens the strongest sandbox there is. Its start is the probe: each layer is tried, never assumed.

    Args:
        backend: `bubblewrap`, `sandlock` or `none`, to have that one and no other.
        allow_weak: Whether a sandbox below level medium will do: it protects from accidents only.

    Raises:
        IsolationError: No back end gives level medium or better, and the weak one was not allowed.
    """
    if backend is not None and backend not in BACKENDS:
        raise IsolationError(f"there is no sandbox back end {backend!r}", remedy=f"use one of: {', '.join(BACKENDS)}")
    if backend == "none" and not allow_weak:
        raise IsolationError("the back end 'none' isolates nothing", remedy=f"say {FLAG} to run tools all the same")
    refusals = []
    for name in BACKENDS if backend is None else (backend,):
        if name == "none" and not allow_weak:
            continue
        sandbox = create(name)
        try:
            await sandbox.open()
        except IsolationError as error:
            refusals.append(f"{name}: {error.message}")
            continue
        return sandbox
    raise IsolationError(
        "no sandbox of level medium or better can be had here\n  " + "\n  ".join(refusals),
        remedy=f"`alita doctor` says what to do; {FLAG} runs tools without isolation, at your own risk",
    )


def create(backend: str) -> WarmSandbox:
    """A sandbox of that back end, not yet opened."""
    if backend == "bubblewrap":
        from mcp_tools.sandbox.bubblewrap import BubblewrapSandbox

        return BubblewrapSandbox()
    if backend == "sandlock":
        from mcp_tools.sandbox.sandlock import SandlockSandbox

        return SandlockSandbox()
    from mcp_tools.sandbox.strongest import PlainSandbox

    return PlainSandbox()


def run(job: Job, *, backend: str | None = None, allow_weak: bool = False) -> Outcome:
    """Opens a sandbox, runs one job, and closes it: for scripts and tests without an event loop.

    Args:
        job: What to run.
        backend: As for `open_sandbox`.
        allow_weak: As for `open_sandbox`.

    Raises:
        IsolationError: No acceptable sandbox can be had.
    """

    async def once() -> Outcome:
        sandbox = await open_sandbox(backend=backend, allow_weak=allow_weak)
        try:
            return await sandbox.run(job)
        finally:
            await sandbox.aclose()

    import asyncio

    return asyncio.run(once())
