"""The processes in which questions are asked, as many as are needed, each watched, and replaced when it is gone.

A question that does not end is cancelled inside its process. When that does not help, or the process shows no sign of
life, it is killed with its children. Who else was in it goes on from its journal, alone in a process of its own, so
that a second death tells whose fault it is.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agent.gaia.attempt import Attempt, AttemptStatus
from agent.gaia.process_tree import kill_tree
from agent.models.protocol import Usage
from mcp_tools import child

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

    from agent.gaia.worker import Setup


LONGEST_LINE = 64 * 2**20
"""Bytes; a question has at most 100,000 characters, an answer may be longer."""


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt: all that its worker knows of the question."""

    task_id: str
    epoch: int
    question: str
    file: str = ""
    """Path of the attachment; empty without one."""
    own_folder: str = ""
    """Folder of a library of its own, empty at first; empty for the shared library."""
    run_id: str = ""
    """A run that was begun and goes on."""

    @property
    def key(self) -> tuple[str, int]:
        """The question and the epoch."""
        return self.task_id, self.epoch


@dataclass(frozen=True, slots=True)
class Result:
    """What a job came to."""

    attempt: Attempt
    """Not scored yet."""
    stops: str = ""
    """Why no other question can fare better: a wrong key, no sandbox. Empty when it concerns this one alone."""


async def receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message; None at the end of the stream."""
    try:
        line = await reader.readline()
    except (ConnectionError, ValueError):
        return None
    if not line.endswith(b"\n"):
        return None
    message: dict[str, Any] = json.loads(line)
    return message


def send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    """Sends a message; to nobody when the other end is gone."""
    if not writer.is_closing():
        writer.write(json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode() + b"\n")


Tell = Callable[[Job, dict[str, Any]], None]
"""Told the events of a job, as JSON."""
Main = Callable[[socket.socket, "Setup"], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until a process is given up."""

    start: float = 120.0
    """Until the first sign of life."""
    silence: float = 60.0
    """Without a sign of life."""
    overdue: float = 15.0
    """Between the cancelling of a question and its end."""
    stop: float = 5.0
    """Between the order to stop and the end of all questions."""


@dataclass(slots=True)
class Heard:
    """What is known of a question while it runs: all there is when its process dies."""

    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    since: float = field(default_factory=time.monotonic)
    run_id: str = ""
    model: str = ""
    routes: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    def note(self, event: dict[str, Any]) -> None:
        """Notes an event, as JSON."""
        match event["event"]:
            case "run_started":
                self.run_id, self.model = event["run_id"], event["model"]
            case "step_started":
                self.routes.append(event["action"])
            case "model_called":
                self.usage = self.usage + Usage(**event["usage"])

    def failed(self, job: Job, status: AttemptStatus, reason: str) -> Attempt:
        """The attempt of a question that did not live to tell."""
        return Attempt(
            job.task_id,
            job.epoch,
            status=status,
            started=self.started,
            seconds=round(time.monotonic() - self.since, 3),
            input_tokens=self.usage.input_tokens,
            output_tokens=self.usage.output_tokens,
            cost=self.usage.cost,
            steps=len(self.routes),
            routes=tuple(self.routes),
            error=reason,
            run_id=self.run_id,
            model=self.model,
        )


class WorkerLost(Exception):
    """The process of a question is gone.

    Args:
        reason: How it went.
        hung: Whether it was killed because it did not answer.
        guilty: Whether this question was the cause for sure.
        heard: What is known of the question.
    """

    def __init__(self, reason: str, *, hung: bool, guilty: bool, heard: Heard) -> None:
        super().__init__(reason)
        self.hung = hung
        self.guilty = guilty
        self.heard = heard


class Worker:
    """One process, as the runner sees it."""

    def __init__(
        self, process: ForkServerProcess, patience: Patience, tell: Tell, spared: Callable[[], set[int]]
    ) -> None:
        self.jobs: dict[tuple[str, int], Job] = {}
        self.lost = False
        self._process = process
        self._patience = patience
        self._tell = tell
        self._spared = spared
        self._ends: dict[tuple[str, int], asyncio.Future[Result]] = {}
        self._heard: dict[tuple[str, int], Heard] = {}
        self._overdue: dict[tuple[str, int], float] = {}
        self._alive_until = time.monotonic() + patience.start
        self._hung = ""
        self._broken = ""
        self._writer: asyncio.StreamWriter | None = None
        self._watching: list[asyncio.Task[None]] = []

    @classmethod
    async def start(
        cls, main: Main, setup: Setup, patience: Patience, tell: Tell, spared: Callable[[], set[int]]
    ) -> Worker:
        """A new process, which begins to listen."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = child.forkserver("agent.gaia.forkserver_preload").Process(
                target=main, args=(theirs, setup), daemon=True
            )
            await asyncio.to_thread(process.start)
        worker = cls(process, patience, tell, spared)
        reader, worker._writer = await asyncio.open_connection(sock=ours, limit=LONGEST_LINE)
        worker._watching = [asyncio.create_task(worker._hear(reader)), asyncio.create_task(worker._watch())]
        return worker

    async def do(self, job: Job) -> Result:
        """What a job came to.

        Raises:
            WorkerLost: The process ended before.
        """
        assert self._writer is not None
        end: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.jobs[job.key], self._ends[job.key], self._heard[job.key] = job, end, Heard()
        try:
            if self.lost:
                self._lose()
            send(self._writer, {"job": asdict(job)})
            return await end
        finally:
            for kept in (self.jobs, self._ends, self._heard, self._overdue):
                kept.pop(job.key, None)

    def stop(self) -> None:
        """Cancels every question; what does not end soon is killed."""
        if self._writer is not None:
            send(self._writer, {"stop": True})
        self._overdue |= dict.fromkeys(self.jobs, time.monotonic() - self._patience.overdue + self._patience.stop)

    async def aclose(self) -> None:
        """Ends the process."""
        if self._writer is not None:
            self._writer.close()
        await asyncio.to_thread(self._process.join, self._patience.stop)
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        self.kill()
        await asyncio.to_thread(self._process.join)
        self._process.close()

    def kill(self) -> None:
        """Kills the process with everything that came of it."""
        if self._process.is_alive() and self._process.pid is not None:
            kill_tree(self._process.pid, spared=self._spared())

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        """Takes in what the process says until it is gone, or until what it says can be told to nobody."""
        try:
            await self._listen(reader)
        except Exception as failure:  # noqa: BLE001 - whatever it is, no question may wait for ever
            self._broken = f"what it said could not be passed on: {failure!r}"
            self.kill()
        self._lose()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while (message := await receive(reader)) is not None:
            self._alive_until = time.monotonic() + self._patience.silence
            if "beat" in message:
                overdue = {(task_id, epoch) for task_id, epoch in message["beat"]}
                self._overdue = dict.fromkeys(overdue & self.jobs.keys(), time.monotonic()) | self._overdue
                continue
            task_id, epoch = message["key"]
            key = (task_id, epoch)
            if "done" in message:
                end = self._ends.get(key)
                if end is not None and not end.done():
                    end.set_result(Result(Attempt.from_json(message["done"]), message["stops"]))
            elif (job := self.jobs.get(key)) is not None:
                self._heard[key].note(message["event"])
                self._tell(job, message["event"])
        await asyncio.to_thread(self._process.join, self._patience.stop)

    async def _watch(self) -> None:
        while not self.lost:
            await asyncio.sleep(min(1.0, self._patience.overdue / 4))
            now = time.monotonic()
            if any(since + self._patience.overdue < now for since in self._overdue.values()):
                self._hung = "it did not end when it was cancelled"
            elif now > self._alive_until:
                self._hung = "its process gave no sign of life"
            if self._hung:
                self.kill()
                return

    def _lose(self) -> None:
        """Tells every question in it that the process is gone."""
        self.lost = True
        code = self._process.exitcode
        ended = self._hung or self._broken
        reason = ended or f"its process ended with {'signal' if (code or 0) < 0 else 'status'} {abs(code or 0)}"
        for key, end in self._ends.items():
            if not end.done():
                guilty = key in self._overdue or (len(self._ends) == 1 and not self._overdue)
                lost = WorkerLost(reason, hung=bool(self._hung), guilty=guilty, heard=self._heard[key])
                end.set_exception(lost)


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
