"""The processes in which questions are asked, as many as are needed, each replaced when it is gone.

A question that does not end is cancelled inside its process. When that does not help, or the process shows no sign of
life, it is killed with its children. Who else was in it goes on from its journal, alone in a process of its own, so
that a second death tells whose fault it is.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.gaia.job import Job, Result
from agent.gaia.process import Heard, Main, Patience, Tell, Worker, WorkerLost

if TYPE_CHECKING:
    from agent.gaia.worker import Setup


class Pool:
    """Workers for so many questions at once, started as they are needed.

    Args:
        setup: What each worker is told.
        workers: Processes at most, beside those in which a question is alone.
        tell: Told the events of each job.
        patience: When a process is given up.
        spared: Processes that no worker takes along when it is killed.
        main: What a worker does; `agent.gaia.worker.work` when not given.
    """

    def __init__(
        self,
        setup: Setup,
        workers: int,
        *,
        tell: Tell,
        patience: Patience | None = None,
        spared: Callable[[], set[int]] = set,
        main: Main | None = None,
    ) -> None:
        self._setup = setup
        self._main = main
        self._most = workers
        self._tell = tell
        self._patience = patience or Patience()
        self._spared = spared
        self._workers: list[Worker] = []
        self._alone: set[Worker] = set()
        self._stopping = False
        self._starting = asyncio.Lock()
        self._solitude = asyncio.Semaphore(os.cpu_count() or 1)

    async def warm(self) -> None:
        """Starts all workers now."""
        async with self._starting:
            while len(self._workers) < self._most:
                self._workers.append(await self._start())

    async def do(self, job: Job) -> Result:
        """What a job came to; an attempt that says so when its process did not live to tell."""
        worker, heard = await self._idlest(), Heard()
        if self._stopping:
            return self._failed(job, heard)
        try:
            return await worker.do(job)
        except WorkerLost as lost:
            if lost.guilty or self._stopping:
                return self._failed(job, lost.heard, lost)
            heard = lost.heard
        async with self._solitude:
            return await self._do_alone(replace(job, run_id=heard.run_id or job.run_id), heard)

    def stop(self) -> None:
        """Cancels every question."""
        self._stopping = True
        for worker in (*self._workers, *self._alone):
            worker.stop()

    async def aclose(self) -> None:
        """Ends all processes."""
        workers, self._workers = [*self._workers, *self._alone], []
        await asyncio.gather(*(worker.aclose() for worker in workers))

    async def _do_alone(self, job: Job, heard: Heard) -> Result:
        if self._stopping:
            return self._failed(job, heard)
        worker = await self._start()
        self._alone.add(worker)
        try:
            return self._failed(job, heard) if self._stopping else await worker.do(job)
        except WorkerLost as lost:
            return self._failed(job, lost.heard, lost)
        finally:
            self._alone.discard(worker)
            await worker.aclose()

    async def _idlest(self) -> Worker:
        async with self._starting:
            for worker in [worker for worker in self._workers if worker.lost]:
                self._workers.remove(worker)
                await worker.aclose()
            if len(self._workers) < self._most and all(worker.jobs for worker in self._workers):
                self._workers.append(await self._start())
        return min(self._workers, key=lambda worker: len(worker.jobs))

    def _failed(self, job: Job, heard: Heard, lost: WorkerLost | None = None) -> Result:
        """An attempt without a result: its process was lost, or the order to stop came before it began."""
        if lost is None or self._stopping:
            return Result(heard.failed(job, "interrupted", ""))
        return Result(heard.failed(job, "timeout" if lost.hung else "error", str(lost)))

    async def _start(self) -> Worker:
        from agent.gaia.worker import work

        return await Worker.start(self._main or work, self._setup, self._patience, self._tell, self._spared)
