"""A process that asks questions of the benchmark, several at a time.

It is forked from a process that has imported what questions need, so that workers share that memory. It knows questions
and files, and none of the true answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import signal
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.events import Event, ModelCalled, ModelStarting, Note, RunStarted, StepStarted, Warned
from agent.gaia.asking import ask
from agent.gaia.job import LONGEST_LINE, Job, Result, receive, send

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.settings import Settings

BEATS_EVERY = 1.0
"""Seconds between two signs of life."""
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TOLD = (RunStarted, StepStarted, ModelCalled, ModelStarting, Note, Warned)
"""Events that the runner hears of."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is told at its start."""

    settings: Settings
    hard_seconds: float
    """Work after which a question is cancelled."""


def work(sock: socket.socket, setup: Setup) -> None:
    """Serves jobs from a socket until it is closed: the main function of a worker."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner decides what Ctrl-C ends
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _bind_to_parent()
    gc.freeze()  # what was imported before stays shared with the other workers
    gc.set_threshold(20_000, 20, 20)  # a question makes many short-lived objects
    asyncio.run(_Worker(setup).serve(sock))


def _bind_to_parent() -> None:
    """Dies with the process it was forked from, and keeps what its children leave behind as its own to be ended."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class _Worker:
    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._tasks: dict[asyncio.Task[None], Job] = {}
        self._overdue: set[tuple[str, int]] = set()

    async def serve(self, sock: socket.socket) -> None:
        from agent.alita import Alita

        reader, writer = await asyncio.open_connection(sock=sock, limit=LONGEST_LINE)
        beats = asyncio.create_task(self._beat(writer))
        async with await Alita.open(self._setup.settings) as alita:
            while (message := await receive(reader)) is not None:
                if "job" in message:
                    job = Job(**message["job"])
                    task = asyncio.create_task(self._do(alita, job, writer))
                    self._tasks[task] = job
                    task.add_done_callback(self._tasks.pop)
                elif message.get("stop"):
                    self._cancel()
            self._cancel()
            if self._tasks:
                await asyncio.wait(list(self._tasks))
        beats.cancel()
        writer.close()

    def _cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _beat(self, writer: asyncio.StreamWriter) -> None:
        while True:
            send(writer, {"beat": [list(key) for key in self._overdue]})
            await asyncio.sleep(BEATS_EVERY)

    async def _do(self, alita: Alita, job: Job, writer: asyncio.StreamWriter) -> None:
        own: dict[str, Any] = {}
        if job.own_folder:
            own = {"tools_dir": Path(job.own_folder) / "tools", "data_dir": Path(job.own_folder)}
        seed = self._setup.settings.seed
        if seed is not None:
            own["seed"] = seed + 1000 * (job.epoch - 1)  # epochs that repeat each other would tell nothing

        def tell(event: Event) -> None:
            if isinstance(event, _TOLD):
                send(writer, {"event": event.as_json(), "key": list(job.key)})

        result = await ask(
            alita.beside(**own),
            job,
            hard_seconds=self._setup.hard_seconds,
            on_overdue=lambda: self._overdue.add(job.key),
            tell=tell,
        )
        self._overdue.discard(job.key)
        self._send(writer, job, result)
        with contextlib.suppress(ConnectionError):
            await writer.drain()

    def _send(self, writer: asyncio.StreamWriter, job: Job, result: Result) -> None:
        send(writer, {"done": result.attempt.as_json(), "stops": result.stops, "key": list(job.key)})
