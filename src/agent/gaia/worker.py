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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent import events
from agent.answer import Answer
from agent.answering.final_answer import final_answer, in_asked_format
from agent.errors import AlitaError, ModelAuthError, ModelUnknownError, RunError, SettingsError, WeightsError
from agent.gaia.attempt import AttemptStatus
from agent.gaia.pool import AttemptJob
from mcp_tools.errors import IsolationError
from mcp_tools.library.folder import note_owner, place_of
from mcp_tools.worker import LONGEST_LINE, receive, send

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.alita import Alita
    from agent.configuration.settings import Settings

_EVERY = 0.5
"""Seconds between two looks at the clock of a question."""
_BEATS_EVERY = 1.0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_STATUS: dict[str, AttemptStatus] = {
    "answered": "ok",
    "no_answer": "ok",
    "limit": "limit",
    "interrupted": "interrupted",
}
_FOR_ALL = (SettingsError, ModelAuthError, ModelUnknownError, IsolationError, WeightsError)
_TOLD = (
    events.RunStarted | events.StepStarted | events.ModelCalled | events.ModelStarting | events.Note | events.Warned
    | events.LeakBlocked | events.ToolRegistered
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is told at its start."""

    settings: Settings
    hard_seconds: float
    """Work after which a question is cancelled; the agent's own limit comes before."""
    rules: str = ""
    """For the form of the answers."""


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
    asyncio.run(_serve(sock, setup))


async def _serve(sock: socket.socket, setup: Setup) -> None:
    from agent.alita import Alita

    reader, writer = await asyncio.open_connection(sock=sock, limit=LONGEST_LINE)
    running: dict[asyncio.Task[None], _Question] = {}

    async def beat() -> None:
        while True:
            if not any(question.is_overdue for question in running.values()):
                send(writer, {})
            await asyncio.sleep(_BEATS_EVERY)

    beats = asyncio.create_task(beat())
    async with Alita.open(setup.settings) as alita:
        while (message := await receive(reader)) is not None:
            if "job" in message:
                question = _Question(alita, AttemptJob(**message["job"]), setup, lambda told: send(writer, told))
                task = asyncio.create_task(question.ask())
                running[task] = question
                task.add_done_callback(running.pop)
            else:
                for question in running.values():
                    question.cancel()
        for question in running.values():
            question.cancel()
        if running:
            await asyncio.wait(list(running))
    beats.cancel()
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    writer.close()


class _Question:
    """One question under way."""

    def __init__(self, alita: Alita, job: AttemptJob, setup: Setup, tell: Callable[[dict[str, Any]], None]) -> None:
        own: dict[str, Any] = {}
        if job.own_folder:
            # Databases and approvals beside the results may be somebody else's.
            data = place_of(Path(job.own_folder), setup.settings.data_dir / "benchmarks")
            own = {"tools_dir": Path(job.own_folder) / "tools", "data_dir": data}
        if setup.settings.seed is not None:  # epochs that repeat each other would tell nothing
            own["seed"] = setup.settings.seed + 1000 * (job.epoch - 1)
        self._job = job
        self._alita = alita.beside(**own)
        self._hard_seconds = setup.hard_seconds
        self._rules = setup.rules
        self._tell = tell
        self.is_overdue = False
        """Whether its time is over and it was cancelled."""
        self._work = asyncio.create_task(self._answer())

    def cancel(self) -> None:
        """Cancels it; it still tells what it came to."""
        self._work.cancel()

    async def ask(self) -> None:
        """Asks, and tells what came of it whatever happens."""
        while not (await asyncio.wait({self._work}, timeout=_EVERY))[0]:
            if self._alita.seconds > self._hard_seconds and not self.is_overdue:
                self.is_overdue = True
                self._work.cancel()
        error = stops = ""
        answer = self._alita.newest or Answer("", "failed")
        try:
            answer = self._work.result()
            error = "" if answer.status in _STATUS else (answer.error or f"the run {answer.status}")
        except asyncio.CancelledError:
            answer = self._alita.newest or Answer("", "interrupted")
        except AlitaError as failure:
            error, stops = failure.message, str(failure) if isinstance(failure, _FOR_ALL) else ""
        except Exception as bug:  # noqa: BLE001 - the other questions must not suffer; the run's folder has its traceback
            error = f"a bug: {answer.error or type(bug).__name__}"
        status = "error" if error else _STATUS.get(answer.status, "error")
        if self.is_overdue:
            status, error = "timeout", f"it did not end within {self._hard_seconds:g} s of work"
        told = {
            "status": status,
            "answer": in_asked_format(final_answer(answer.text, self._job.question), self._job.question)
            if answer.text
            else "",
            "raw_answer": answer.text,
            "seconds": round(answer.seconds, 3),
            "waited": round(answer.waited, 3),
            "input_tokens": answer.usage.input_tokens,
            "output_tokens": answer.usage.output_tokens,
            "cost": answer.usage.cost,
            "steps": answer.steps,
            "actions": answer.actions,
            "confidence": answer.quality.get("confidence", ""),
            "error": error,
        }
        told |= {name: value for name, value in (("run_id", answer.run_id), ("model", answer.model)) if value}
        self._say({"done": told, "stops": stops})

    async def _answer(self) -> Answer:
        job = self._job
        if job.run_id:
            # Where its folder is gone, or it has its answer, the question is asked anew.
            with contextlib.suppress(RunError):
                return await self._alita.resume(job.run_id, on_event=self._hear)
        if job.own_folder:
            for folder in (job.own_folder, self._alita.settings.data_dir):
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            await asyncio.to_thread(note_owner, self._alita.settings.data_dir, Path(job.own_folder))
        files = [Path(job.file)] if job.file else []
        return await self._alita.ask(job.question, files=files, rules=self._rules, on_event=self._hear)

    def _hear(self, event: events.Event) -> None:
        if isinstance(event, _TOLD):
            self._say({"event": event.as_json()})
        elif isinstance(event, events.ToolCalled):
            self._say({"event": {"event": event.kind, "name": event.name, "ok": event.ok, "server": event.server}})
        elif isinstance(event, events.ActionRefused | events.InstructionFound):
            self._say({"event": {"event": event.kind, "said": str(event)}})

    def _say(self, message: dict[str, Any]) -> None:
        self._tell({**message, "key": [self._job.task_id, self._job.epoch]})
