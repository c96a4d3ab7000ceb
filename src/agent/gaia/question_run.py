"""Runs one question of a benchmark and returns an attempt without a score.

Several questions can run in one process, each with its own Alita. A run never sees reference answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent import events
from agent.answer import Answer
from agent.answering.final_answer import final_answer, in_asked_format
from agent.errors import AlitaError, ModelAuthError, ModelUnknownError, RunError, SettingsError, WeightsError
from agent.gaia.attempt import Attempt, AttemptStatus
from agent.gaia.configuration import setup_of
from mcp_tools.errors import IsolationError
from mcp_tools.library.folder import data_folder_of, note_owner

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.configuration.settings import Settings
    from agent.gaia.configuration import RunOptions, Setup

_CHECK_SECONDS = 1.0
"""Maximum seconds between checks of a question's clock, which is paused during rate-limit waits."""
_CANCEL_SECONDS = 5.0
"""Seconds that a cancelled question is given to end."""
_STATUS: dict[str, AttemptStatus] = {
    "answered": "ok",
    "no_answer": "ok",
    "limit": "limit",
    "interrupted": "interrupted",
}
_FOR_ALL = (SettingsError, ModelAuthError, ModelUnknownError, IsolationError, WeightsError)


@dataclass(frozen=True, slots=True)
class AttemptJob:
    """An attempt that is still to be made."""

    task_id: str
    epoch: int
    question: str
    file: Path | None = None
    own_folder: Path | None = None
    """Folder for a separate, initially empty library; None for the shared library."""
    run_id: str = ""
    """Id of an interrupted run to continue."""


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of a job."""

    attempt: Attempt
    """The attempt, which has not been scored yet."""
    stops: str = ""
    """Reason why all further questions would fail too, such as an invalid key; otherwise an empty string."""


Listener = Callable[[events.Event], None]


class StartedQuestion(Protocol):
    """A question under way."""

    def cancel(self) -> None:
        """Cancel the question. `result` then returns the answer so far."""
        ...

    async def result(self) -> AttemptResult:
        """Wait for the answer."""
        ...


class Executor(Protocol):
    """Runs the questions of a benchmark."""

    at_once: int
    """Questions to run in parallel."""

    def start(self, job: AttemptJob, listen: Listener) -> StartedQuestion:
        """Start a question. `listen` gets the events of its run."""
        ...


class LocalExecutor:
    """Runs questions in this process."""

    def __init__(self, alita: Alita, setup: Setup, at_once: int) -> None:
        self.at_once = at_once
        self._alita = alita
        self._setup = setup

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, options: RunOptions, settings: Settings, at_once: int) -> AsyncIterator[LocalExecutor]:
        """Open the resources that all questions share."""
        from agent.active_run import import_ahead
        from agent.alita import Alita

        setup = setup_of(options, settings, at_once)
        await asyncio.to_thread(
            import_ahead, setup.settings
        )  # otherwise the first questions' time would include the import
        async with Alita.open(setup.settings) as alita:
            yield cls(alita, setup, at_once)

    def start(self, job: AttemptJob, listen: Listener) -> QuestionRun:
        """See `Executor`."""
        return QuestionRun(self._alita, job, self._setup, listen)


class QuestionRun:
    """A question under way in this process.

    Args:
        alita: Shares its models, sandbox and servers with the question.
        job: The question.
        setup: The limits and rules of every question.
        listen: Gets each event of the run.
    """

    def __init__(self, alita: Alita, job: AttemptJob, setup: Setup, listen: Listener) -> None:
        own: dict[str, Any] = {}
        if job.own_folder:
            # Databases and approvals in the results folder may come from someone else.
            data = data_folder_of(job.own_folder, setup.settings.data_dir / "benchmarks")
            own = {"tools_dir": job.own_folder / "tools", "data_dir": data, "database_url": None}
        if setup.settings.seed is not None:  # otherwise all epochs would be identical
            own["seed"] = setup.settings.seed + 1000 * (job.epoch - 1)
        self._job = job
        self._alita = alita.beside(**own)
        self._setup = setup
        self._listen = listen
        self._noted: defaultdict[str, list[str]] = defaultdict(list)
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._work = asyncio.create_task(self._answer())

    def cancel(self) -> None:
        """Cancel the question. `result` then returns the answer so far."""
        self._work.cancel()

    async def result(self) -> AttemptResult:
        """Wait for the answer. Cancel the question when its time is up."""
        limit = self._setup.hard_seconds
        try:
            while not self._work.done() and (left := limit - self._alita.seconds) > 0:
                await asyncio.wait({self._work}, timeout=min(left, _CHECK_SECONDS) + 0.01)
            is_overdue = not self._work.done()
        finally:
            self._work.cancel()
            await asyncio.wait({self._work}, timeout=_CANCEL_SECONDS)
        error = stops = ""
        answer = self._alita.newest or Answer("", "failed")
        try:
            if self._work.done():
                answer = self._work.result()
                error = "" if answer.status in _STATUS else (answer.error or f"the run {answer.status}")
        except asyncio.CancelledError:
            answer = self._alita.newest or Answer("", "interrupted")
        except AlitaError as failure:
            error, stops = failure.message, str(failure) if isinstance(failure, _FOR_ALL) else ""
        except Exception as bug:  # noqa: BLE001 - other questions go on; the run's folder has the traceback
            error = f"a bug: {answer.error or type(bug).__name__}"
        status = "error" if error else _STATUS.get(answer.status, "error")
        if is_overdue:
            status, error = "timeout", f"the question was not answered within {limit:g} s"
        return AttemptResult(self._attempt(answer, status, error), stops)

    def _attempt(self, answer: Answer, status: AttemptStatus, error: str) -> Attempt:
        job, noted = self._job, {name: tuple(dict.fromkeys(texts)) for name, texts in self._noted.items()}
        created = noted.get("tools_created", ())
        reused = dict.fromkeys(
            (*noted.get("tools_reused", ()), *answer.tools_used)
        )  # includes tools that programs call
        return Attempt(
            job.task_id,
            job.epoch,
            status=status,
            answer=in_asked_format(final_answer(answer.text, job.question), job.question) if answer.text else "",
            raw_answer=answer.text,
            started=self._started,
            seconds=round(answer.seconds, 3),
            waited=round(answer.waited, 3),
            input_tokens=answer.usage.input_tokens,
            output_tokens=answer.usage.output_tokens,
            cost=answer.usage.cost,
            steps=answer.steps,
            actions=answer.actions,
            routes=tuple(self._noted["routes"]),
            tools_created=created,
            tools_reused=tuple(name for name in reused if name not in created),
            tools_failed=noted.get("tools_failed", ()),
            servers_failed=noted.get("servers_failed", ()),
            confidence=answer.quality.get("confidence", ""),
            error=error,
            leaks=noted.get("leaks", ()),
            set_apart=noted.get("set_apart", ()),
            run_id=answer.run_id or job.run_id,
            model=answer.model,
        )

    async def _answer(self) -> Answer:
        job = self._job
        if job.run_id:
            # A run that is gone or finished is asked again.
            with contextlib.suppress(RunError):
                return await self._alita.resume(job.run_id, on_event=self._hear)
        if job.own_folder:
            await asyncio.to_thread(empty_library, job.own_folder, self._alita.settings.data_dir)
        files = [job.file] if job.file else []
        return await self._alita.ask(job.question, files=files, rules=self._setup.rules, on_event=self._hear)

    def _hear(self, event: events.Event) -> None:
        noted = self._noted
        match event:
            case events.StepStarted():
                noted["routes"].append(event.action)
            case events.ToolRegistered():
                noted["tools_created"].append(event.name)
            case events.ToolCalled() if noted["routes"][-1:] != ["run_code"]:  # calls in run_code are made by programs
                noted["tools_reused" if event.ok else "tools_failed"].append(event.name)
                if event.server and not event.ok:
                    noted["servers_failed"].append(event.server)
            case events.LeakBlocked():
                noted["leaks"].append(event.address)
            case events.ActionRefused() | events.InstructionFound():
                noted["set_apart"].append(str(event))
        self._listen(event)


def empty_library(own_folder: Path, data: Path) -> None:
    """Remove the library and data of an earlier attempt."""
    for folder in (own_folder, data):
        shutil.rmtree(folder, ignore_errors=True)
    note_owner(data, own_folder)
