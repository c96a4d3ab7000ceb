"""The Python session of a run: its programs share variables, and may call the run's own functions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.store.journal import Journal
from mcp_tools.errors import AlitaError
from mcp_tools.sandbox.protocol import Limits, Problem, Sandbox, Session, SessionOutcome
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.budget import Budget

KIND = "session"
"""What the journal calls these calls."""
LIMITS = Limits(wall_seconds=120, cpu_seconds=120, memory_mb=2048, output_bytes=400_000, file_bytes=256_000_000)
"""Of one block of code."""

Answering = Callable[[str, dict[str, Json]], Awaitable[Json]]


class PythonSession:
    """Runs blocks of code one after the other in one process, or gives what was recorded.

    What a block asks of the run's functions is recorded call by call. A replay makes the same calls, so that the run
    knows afterwards what it knew then.

    Args:
        sandbox: None for a replay, which runs nothing.
        journal: Records every block.
        budget: Ends a block that outlasts the run.
        folders: Folders that programs may read, also what comes into them later.
    """

    def __init__(self, sandbox: Sandbox | None, journal: Journal, budget: Budget, folders: Sequence[Path]) -> None:
        self._sandbox = sandbox
        self._journal = journal
        self._budget = budget
        self._folders = tuple(folders)
        self._session: Session | None = None
        self._answer: Answering | None = None
        self._asked: list[list[Json]] = []
        self._was_replayed = False

    async def run(
        self,
        code: str,
        *,
        files: Sequence[Path],
        modules: Mapping[str, str],
        functions: Sequence[str],
        answer: Answering,
    ) -> SessionOutcome:
        """Runs a block.

        Args:
            code: The block.
            files: Files that it may read besides the folders; those of the first block count.
            modules: Sources of library tools by the name to import.
            functions: Functions that it may call, as names or signatures; those of the first block count.
            answer: Answers these calls.

        Raises:
            StoppedError: The run's time is over.
            IsolationError: The sandbox is broken.
        """
        self._answer, self._asked = answer, []
        live = False

        async def perform() -> Json:
            nonlocal live
            live = True
            session = self._opened(files, modules, functions)
            for name, source in modules.items():
                session.offer(name, source)
            outcome = await self._budget.within(session.run(code, limits=self._limits()))
            if self._was_replayed:
                outcome, self._was_replayed = replace(outcome, fresh=True), False
            return {"outcome": asdict(outcome), "asked": list(self._asked)}

        recorded: Any = await self._journal.call(KIND, {"code": code, "modules": sorted(modules)}, perform)
        if not live:
            self._was_replayed = True
            for name, arguments in recorded["asked"]:
                await self._again(name, arguments)
        outcome = recorded["outcome"]
        return SessionOutcome(**outcome | {"problem": Problem(**outcome["problem"]) if outcome["problem"] else None})

    def _opened(self, files: Sequence[Path], modules: Mapping[str, str], functions: Sequence[str]) -> Session:
        assert self._sandbox is not None, "a journal that makes calls goes with a sandbox"
        if self._session is None:
            for folder in self._folders:
                folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            read = (*files, *self._folders)
            self._session = self._sandbox.session(read=read, modules=modules, functions=functions, host=self._host)
        return self._session

    async def _host(self, name: str, arguments: dict[str, Json]) -> Json:
        assert self._answer is not None
        self._asked.append([name, arguments])
        return await self._answer(name, arguments)

    async def _again(self, name: str, arguments: dict[str, Json]) -> None:
        assert self._answer is not None
        with contextlib.suppress(AlitaError):  # the block met it, too
            await self._answer(name, arguments)

    def _limits(self) -> Limits:
        left = self._budget.seconds_left
        return LIMITS if left is None else replace(LIMITS, wall_seconds=max(0.5, min(LIMITS.wall_seconds, left)))

    async def aclose(self) -> None:
        """Ends the process."""
        if self._session is not None:
            await asyncio.shield(self._session.aclose())
