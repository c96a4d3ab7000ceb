"""A process that asks questions of the benchmark, several at a time, each from its job to an attempt without a score.

It is forked from a process that has imported what questions need, so that workers share that memory. It knows questions
and files, and none of the true answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import os
import shutil
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.answering.answer import Answer
from agent.answering.final_answer import final_answer, in_asked_format
from agent.errors import AlitaError, ModelAuthError, ModelUnknownError, RunError, SettingsError, WeightsError
from agent.events import (
    ActionRefused,
    Event,
    InstructionFound,
    LeakBlocked,
    ModelCalled,
    ModelStarting,
    Note,
    RunStarted,
    StepStarted,
    ToolCalled,
    ToolRegistered,
    Warned,
)
from agent.gaia.attempt import Attempt, AttemptStatus
from agent.gaia.pool import LONGEST_LINE, Job, Result, receive, send
from mcp_tools.errors import IsolationError

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.configuration.settings import Settings


LOOKS_EVERY = 0.5
"""Seconds between two looks at the clock of a question."""

_STATUS: dict[str, AttemptStatus] = {
    "answered": "ok",
    "no_answer": "ok",
    "limit": "limit",
    "interrupted": "interrupted",
}

_FOR_ALL = (SettingsError, ModelAuthError, ModelUnknownError, IsolationError, WeightsError)
"""Failures that every other question would meet too."""

Tell = Callable[[Event], None]


class Watched:
    """What the events of a run say about its attempt.

    Args:
        tell: Told each event besides.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.run_id = ""
        self.routes: list[str] = []
        self.created: list[str] = []
        self.called: list[str] = []
        self.failed: list[str] = []
        self.leaks: list[str] = []
        self.set_apart: list[str] = []

    def listen(self, event: Event) -> None:
        """Notes an event."""
        match event:
            case RunStarted():
                self.run_id = event.run_id
            case StepStarted():
                self.routes.append(event.action)
            case ToolRegistered():
                self.created.append(event.name)
            case ToolCalled() if self.routes[-1:] != ["run_code"]:  # which runs programs, and attached ones
                (self.called if event.ok else self.failed).append(event.name)
            case LeakBlocked():
                self.leaks.append(event.address)
            case ActionRefused() | InstructionFound():
                self.set_apart.append(str(event))
        self._tell(event)

    def as_members(self) -> dict[str, Any]:
        """Members of the attempt."""
        reused = [name for name in self.called if name not in self.created]
        return {
            "routes": tuple(self.routes),
            "tools_created": tuple(dict.fromkeys(self.created)),
            "tools_reused": tuple(dict.fromkeys(reused)),
            "tools_failed": tuple(dict.fromkeys(self.failed)),
            "leaks": tuple(dict.fromkeys(self.leaks)),
            "set_apart": tuple(dict.fromkeys(self.set_apart)),
        }


async def ask(alita: Alita, job: Job, *, hard_seconds: float, on_overdue: Callable[[], None], tell: Tell) -> Result:
    """Asks, and gives what came of it whatever happens.

    Args:
        alita: Answers; nobody else asks it meanwhile.
        job: The question.
        hard_seconds: Work after which the question is cancelled; the agent's own limit comes before.
        on_overdue: Called when it has been cancelled.
        tell: Told what happens.
    """
    watched = Watched(tell)
    started = datetime.now(UTC)
    task = asyncio.create_task(_answer(alita, job, watched))
    try:
        timed_out = await _ends_in_time(task, alita, hard_seconds, on_overdue)
        answer, error, stops = await _outcome(task, alita)
    except asyncio.CancelledError:
        task.cancel()
        timed_out = False
        answer, error, stops = await _outcome(task, alita)
    status = "timeout" if timed_out else "error" if error else _STATUS.get(answer.status, "error")
    attempt = Attempt(
        task_id=job.task_id,
        epoch=job.epoch,
        status=status,
        answer=in_asked_format(final_answer(answer.text), job.question) if answer.text else "",
        raw_answer=answer.text,
        started=started.isoformat(timespec="seconds"),
        seconds=round(answer.seconds, 3),
        waited=round(answer.waited, 3),
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        cost=answer.usage.cost,
        steps=answer.steps,
        error=f"it did not end within {hard_seconds:g} s of work" if timed_out else error,
        run_id=watched.run_id or answer.run_id,
        model=answer.model,
        **watched.as_members(),
    )
    return Result(attempt, stops)


async def _answer(alita: Alita, job: Job, watched: Watched) -> Answer:
    if job.run_id:
        try:
            return await alita.resume(job.run_id, on_event=watched.listen)
        except RunError:
            pass  # its folder is gone or it has its answer: the question is asked anew
    if job.own_folder:
        await asyncio.to_thread(shutil.rmtree, job.own_folder, ignore_errors=True)
    files = [Path(job.file)] if job.file else []
    return await alita.ask(job.question, files=files, on_event=watched.listen)


async def _ends_in_time(task: asyncio.Task[Any], alita: Alita, seconds: float, on_overdue: Callable[[], None]) -> bool:
    """Waits for the end; True when the question had to be cancelled."""
    while True:
        done, _ = await asyncio.wait({task}, timeout=LOOKS_EVERY)
        if done:
            return False
        if alita.seconds > seconds:
            task.cancel()
            on_overdue()
            await asyncio.wait({task})
            return True


async def _outcome(task: asyncio.Task[Answer], alita: Alita) -> tuple[Answer, str, str]:
    """The answer, what went wrong, and why that concerns every question, if it does."""
    nothing = Answer("", "failed")
    try:
        answer = await task
    except asyncio.CancelledError:
        return alita.newest or Answer("", "interrupted"), "", ""
    except AlitaError as failure:
        answer = alita.newest or nothing
        stops = str(failure) if isinstance(failure, _FOR_ALL) else ""
        return answer, failure.message, stops
    except Exception as bug:  # noqa: BLE001 - the other questions must not suffer; the run's folder has its traceback
        answer = alita.newest or nothing
        return answer, f"a bug: {answer.error or type(bug).__name__}", ""
    return answer, "" if answer.status in _STATUS else (answer.error or f"the run {answer.status}"), ""


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
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # it dies with the process it was forked from
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what its children leave behind is its own to be ended
    gc.freeze()  # what was imported before stays shared with the other workers
    gc.set_threshold(20_000, 20, 20)  # a question makes many short-lived objects
    asyncio.run(_Worker(setup).serve(sock))


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
        send(writer, {"done": result.attempt.as_json(), "stops": result.stops, "key": list(job.key)})
        with contextlib.suppress(ConnectionError):
            await writer.drain()
