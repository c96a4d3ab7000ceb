"""The worker processes that ask questions; each is watched, and replaced if it dies.

A question that does not end is cancelled inside its process. When that does not help, or the process shows no sign of
life, it is killed with its children. Each question that was in it with others goes on from its journal, alone in a
process of its own, so that a second death tells whose fault it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agent.gaia.attempt import Attempt
from agent.models.protocol import Usage
from mcp_tools import child
from mcp_tools.child import kill_tree
from mcp_tools.worker import LONGEST_LINE, receive, send

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

    from agent.gaia.worker import Setup


@dataclass(frozen=True, slots=True)
class AttemptJob:
    """One attempt: all that its worker knows of the question."""

    task_id: str
    epoch: int
    question: str
    file: str = ""
    own_folder: str = ""
    """Folder of a library of its own, empty at first; empty for the shared library."""
    run_id: str = ""
    """A run that was begun and goes on."""


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of a job."""

    attempt: Attempt
    """Not scored yet."""
    stops: str = ""
    """Why no other question can fare better: a wrong key, no sandbox. Empty when it concerns this one alone."""
    is_victim: bool = False
    """Whether its process was lost, perhaps for the sake of another question."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until a process is given up."""

    start: float = 120.0
    """Until the first sign of life."""
    silence: float = 60.0
    """Without a sign of life; a process gives none while a question in it is overdue."""
    stop: float = 5.0
    """Between the order to stop and the end of all questions."""


class Asked:
    """A question under way, as its events tell it: all there is when its process dies."""

    def __init__(self, job: AttemptJob) -> None:
        self.job = job
        self.run_id = job.run_id
        self.end: asyncio.Future[AttemptResult] = asyncio.get_running_loop().create_future()
        self._since = time.monotonic()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._model = ""
        self._usage = Usage()
        self._noted: defaultdict[str, list[str]] = defaultdict(list)

    def note(self, event: dict[str, Any]) -> None:
        """Notes an event."""
        noted = self._noted
        match event["event"]:
            case "run_started":
                self.run_id, self._model = event["run_id"], event["model"]
            case "model_called":
                self._usage = self._usage + Usage(**event["usage"])
            case "step_started":
                noted["routes"].append(event["action"])
            case "tool_registered":
                noted["tools_created"].append(event["name"])
            case "tool_called" if noted["routes"][-1:] != ["run_code"]:  # which runs programs, and attached ones
                noted["tools_reused" if event["ok"] else "tools_failed"].append(event["name"])
                if event["server"] and not event["ok"]:
                    noted["servers_failed"].append(event["server"])
            case "leak_blocked":
                noted["leaks"].append(event["address"])
            case "action_refused" | "instruction_found":
                noted["set_apart"].append(event["said"])

    def attempt(self, **told: Any) -> Attempt:
        """The attempt that it was, with the members that its process told at the end, or why it told nothing."""
        known: dict[str, Any] = {name: tuple(dict.fromkeys(texts)) for name, texts in self._noted.items()}
        known |= {
            "started": self._started,
            "seconds": round(time.monotonic() - self._since, 3),
            "input_tokens": self._usage.input_tokens,
            "output_tokens": self._usage.output_tokens,
            "cost": self._usage.cost,
            "routes": tuple(self._noted["routes"]),
            "tools_reused": tuple(n for n in known.get("tools_reused", ()) if n not in known.get("tools_created", ())),
            "steps": len(self._noted["routes"]),
            "run_id": self.run_id,
            "model": self._model,
        }
        return Attempt(self.job.task_id, self.job.epoch, **known | told)


class _Worker:
    """One process, as the pool sees it."""

    def __init__(self, process: ForkServerProcess, writer: asyncio.StreamWriter, pool: Pool) -> None:
        self.asked: dict[tuple[str, int], Asked] = {}
        self.lost = False
        self._process = process
        self._writer = writer
        self._pool = pool
        self._clock = asyncio.timeout(pool.patience.start)
        self._listening: asyncio.Task[None]

    @classmethod
    async def start(cls, pool: Pool) -> _Worker:
        """A new process, which begins to listen."""
        from agent.gaia.worker import work

        ours, theirs = socket.socketpair()
        with theirs:
            server = child.forkserver("agent.gaia.forkserver_preload")
            process = server.Process(target=pool.main or work, args=(theirs, pool.setup), daemon=True)
            await asyncio.to_thread(process.start)
        reader, writer = await asyncio.open_connection(sock=ours, limit=LONGEST_LINE)
        worker = cls(process, writer, pool)
        worker._listening = asyncio.create_task(worker._listen(reader))
        return worker

    async def do(self, asked: Asked) -> AttemptResult:
        """What a question came to."""
        if self._pool.stopping:
            return AttemptResult(asked.attempt(status="interrupted"))
        if self.lost:
            return AttemptResult(asked.attempt(status="error", error="its process disappeared"), is_victim=True)
        key = (asked.job.task_id, asked.job.epoch)
        self.asked[key] = asked
        try:
            send(self._writer, {"job": asdict(asked.job)})
            return await asked.end
        finally:
            del self.asked[key]

    def stop(self) -> None:
        """Cancels every question; what does not end soon is killed."""
        send(self._writer, {"stop": True})
        self._wait(self._pool.patience.stop)

    def _wait(self, seconds: float) -> None:
        with contextlib.suppress(RuntimeError):  # its time is over
            self._clock.reschedule(asyncio.get_running_loop().time() + seconds)

    async def aclose(self) -> None:
        """Ends the process."""
        self._writer.close()
        await asyncio.to_thread(self._process.join, self._pool.patience.stop)
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self._kill()
        await asyncio.to_thread(self._process.join)
        self._process.close()

    def _kill(self) -> None:
        if self._process.is_alive() and self._process.pid is not None:
            kill_tree(self._process.pid, spared=self._pool.spared())

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """Takes in what the process says until it is gone, silent, or says what can be told to nobody."""
        reason, is_hung = "", False
        try:
            async with self._clock:
                while (message := await receive(reader)) is not None:
                    if not message and not self._pool.stopping:
                        self._wait(self._pool.patience.silence)
                    self._take(message)
        except TimeoutError:
            reason, is_hung = "its process stopped responding", True
            self._kill()
        except Exception as failure:  # noqa: BLE001 - whatever it is, no question may wait for ever
            reason = f"what it said could not be passed on: {failure!r}"
            self._kill()
        await asyncio.to_thread(self._process.join, self._pool.patience.stop)
        self.lost = True
        code = self._process.exitcode or 0
        reason = reason or f"its process ended with {'signal' if code < 0 else 'status'} {abs(code)}"
        told = {"status": "timeout" if is_hung else "error", "error": reason}
        for asked in self.asked.values():
            if not asked.end.done():
                attempt = asked.attempt(**({"status": "interrupted"} if self._pool.stopping else told))
                asked.end.set_result(AttemptResult(attempt, is_victim=len(self.asked) > 1))

    def _take(self, message: dict[str, Any]) -> None:
        task_id, epoch = message.get("key", ("", 0))
        asked = self.asked.get((task_id, epoch))
        if asked is None or asked.end.done():
            return  # a sign of life, or of a question that has ended
        if "done" in message:
            asked.end.set_result(AttemptResult(asked.attempt(**message["done"]), message["stops"]))
        else:
            asked.note(message["event"])
            self._pool.tell(asked.job, message["event"])


class Pool:
    """Workers that share the questions under way."""

    def __init__(
        self,
        setup: Setup,
        workers: int,
        *,
        tell: Callable[[AttemptJob, dict[str, Any]], None],
        patience: Patience | None = None,
        spared: Callable[[], set[int]] = set,
        main: Callable[[socket.socket, Setup], None] | None = None,
    ) -> None:
        self.setup = setup
        self.tell = tell
        self.patience = patience or Patience()
        self.spared = spared
        self.main = main
        self._most = workers
        self._workers: list[_Worker] = []
        self._alone: set[_Worker] = set()
        self.stopping = False
        self._starting = asyncio.Lock()
        self._solitude = asyncio.Semaphore(os.cpu_count() or 1)

    async def warm(self) -> None:
        """Starts the workers that are missing, in the place of those that are gone."""
        async with self._starting:
            for worker in [worker for worker in self._workers if worker.lost]:
                self._workers.remove(worker)
                await worker.aclose()
            while len(self._workers) < self._most:
                self._workers.append(await _Worker.start(self))

    async def do(self, job: AttemptJob) -> AttemptResult:
        """What a job came to; an attempt that says so when its process did not live to tell."""
        asked = Asked(job)
        if self.stopping:
            return AttemptResult(asked.attempt(status="interrupted"))
        await self.warm()
        found = await min(self._workers, key=lambda worker: len(worker.asked)).do(asked)
        if not found.is_victim or self.stopping:
            return found
        async with self._solitude:
            worker = await _Worker.start(self)
            self._alone.add(worker)
            try:
                return await worker.do(Asked(replace(job, run_id=asked.run_id)))
            finally:
                self._alone.discard(worker)
                await worker.aclose()

    def stop(self) -> None:
        """Cancels every question."""
        self.stopping = True
        for worker in (*self._workers, *self._alone):
            worker.stop()

    async def aclose(self) -> None:
        """Ends all processes."""
        workers, self._workers = [*self._workers, *self._alone], []
        await asyncio.gather(*(worker.aclose() for worker in workers))
