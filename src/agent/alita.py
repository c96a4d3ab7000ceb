"""Alita.ask(question, files) -> Answer: the one entry that every front end uses."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from agent.answer import Answer, status_of
from agent.arithmetic import compute
from agent.budget import Budget, Limits
from agent.context import Context
from agent.errors import AlitaError, RunError, StoppedError, StorageError
from agent.events import Event, Note, RunFinished, RunStarted, Warned
from agent.external import Configured, ExternalTools, journaled
from agent.fetching import fetch_weights
from agent.models.names import EMBEDDED
from agent.models.protocol import Usage
from agent.models.roles import Models, model_settings, open_models
from agent.question import usable
from agent.run_models import RunModels
from agent.run_settings import configuration_of, places_of, settings_as_in
from agent.store.answers import AnswerCache
from agent.store.checkpoints import checkpoints, stopped_state
from agent.store.journal import Journal
from agent.store.journaled import JournaledLibrary, JournaledSandbox
from agent.store.redact import Redactor
from agent.store.runs import (
    Run,
    create_run,
    describe_file,
    find_run,
    find_unfinished,
    journal_path,
    load_run,
    save_run,
    save_traceback,
)
from mcp_tools.library import Library
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from langgraph.runtime import RunControl

    from agent.settings import Settings
    from mcp_tools.clients.servers import Servers
    from mcp_tools.sandbox.protocol import Sandbox

Listener = Callable[[Event], None]


class Alita:
    """Answers questions, one at a time. Open it with `async with await Alita.open(settings) as alita`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._library = Library(settings.tools_dir, settings.approvals_file)
        self._answers = AnswerCache(settings.cache_dir / "answers")
        self._external = Configured(settings, Path.cwd())
        self._servers: Servers | None = None
        self._redactor = Redactor((*settings.secrets, *self._external.secrets))
        self._listener: Listener = _silent
        self._models: Models | None = None
        self._sandbox: Sandbox | None = None
        self._control: RunControl | None = None
        self._draining = False
        self._stopping = threading.Event()
        self.newest: Answer | None = None
        """What the newest run came to, also when it raised."""

    @classmethod
    async def open(cls, settings: Settings) -> Self:
        """Nothing is started or connected before a question needs it."""
        return cls(settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Ends the external servers and the sandbox, and closes the models' connections."""
        if self._servers is not None:
            await self._servers.aclose()
        if self._sandbox is not None:
            await self._sandbox.aclose()
        if self._models is not None:
            await self._models.aclose()

    def drain(self) -> None:
        """Lets the present step finish and saves the run, which `resume` goes on with."""
        self._draining = True
        self._stopping.set()
        if self._control is not None:
            self._control.request_drain("interrupted")

    async def ask(self, question: str, *, files: Sequence[Path] = (), on_event: Listener | None = None) -> Answer:
        """Answers a question.

        Args:
            question: What is asked.
            files: Files that come with it.
            on_event: Told what happens, step by step.

        Raises:
            UsageError: The question is empty or too long, or a file cannot be read.
            UserError: A model or the sandbox cannot be had; the run is saved and can be resumed.
        """
        self._listener = on_event or _silent
        question = self._without_keys(usable(question))
        if not files and (exact := compute(question)) is not None:
            return self._finish(Answer(exact, "answered", model="arithmetic"))
        inputs = [describe_file(path) for path in files]
        configuration = configuration_of(self._settings) | self._external.configuration
        if self._settings.use_cache and (known := self._answers.get(question, inputs, configuration)):
            self._listener(Note(f"answered before, in run {known.run_id}; --no-cache asks again"))
            return self._finish(replace(known, tools_created=(), usage=Usage(), seconds=0.0))
        run = create_run(
            self._settings.runs_dir,
            question,
            model=self._settings.model,
            files=files,
            configuration=configuration | places_of(self._settings),
        )
        journal = Journal.create(journal_path(self._settings.runs_dir, run.run_id), self._redactor)
        answer = await self._run(run, journal, self._budget())
        if answer.status == "answered" and not any(map(self._external.offers, answer.tools_used)):
            self._answers.put(question, inputs, configuration, answer)
        return answer

    async def resume(self, run_id: str | None = None, *, on_event: Listener | None = None) -> Answer:
        """Goes on with a run that was interrupted; what it had paid for is not paid again.

        Raises:
            RunError: There is no such run, or it has its answer.
        """
        self._listener = on_event or _silent
        runs = self._settings.runs_dir
        run = load_run(runs, find_unfinished(runs, run_id))
        _require_unchanged(run)
        journal = Journal.resume(journal_path(runs, run.run_id), self._redactor)
        with self._set_as_in(run, goes_on=True):
            return await self._run(run, journal, self._budget(), resumed=True)

    async def replay(self, run_id: str, *, until: int | None = None, on_event: Listener | None = None) -> Answer:
        """Repeats a run from its journal without a call; with `until`, goes on live after that step.

        Raises:
            RunError: There is no such run, or it asks for something that its journal does not hold.
        """
        self._listener = on_event or _silent
        runs = self._settings.runs_dir
        run = load_run(runs, find_run(runs, run_id))
        source = journal_path(runs, run.run_id)
        with self._set_as_in(run):
            if until is None:
                budget = self._budget(forced=run.answer)
                return await self._run(run, Journal.replay(source), budget, live=False)
            _require_unchanged(run)
            return await self._run_fork(run, source, until)

    async def _run_fork(self, run: Run, source: Path, until: int) -> Answer:
        runs = self._settings.runs_dir
        fork = create_run(
            runs,
            run.question,
            model=run.model,
            files=[Path(file.path) for file in run.files],
            configuration=run.configuration,
            parent=run.run_id,
        )
        journal = Journal.fork(source, journal_path(runs, fork.run_id), until=until, redactor=self._redactor)
        return await self._run(fork, journal, self._budget())

    async def _run(
        self, run: Run, journal: Journal, budget: Budget, *, live: bool = True, resumed: bool = False
    ) -> Answer:
        """Runs the graph and keeps what came of it; a replay is not live: it makes no call and leaves no trace."""
        self._listener(RunStarted(run.run_id, run.question, run.model, resumed))
        state: dict[str, Any] = {}
        error: str | None = None
        try:
            await self._through_graph(state, run, journal, budget, live=live, resumed=resumed)
        except AlitaError as failure:
            if not (isinstance(failure, StorageError) and "status" in state):
                state["status"], error = status_of(failure), failure.message
                raise
            self._listener(Note(f"the run's last state is not saved: {failure.message}"))
        except asyncio.CancelledError:
            raise
        except BaseException as bug:
            state["status"], error = "failed", self._redactor.text(one_line(repr(bug)))
            if live:
                save_traceback(self._settings.runs_dir, run, self._redactor.text(traceback.format_exc()))
            raise
        finally:
            answer = self.newest = self._answer(run, state, budget, error)
            await self._save(run, journal, answer, live=live)
        return self._finish(answer)

    async def _through_graph(
        self, state: dict[str, Any], run: Run, journal: Journal, budget: Budget, *, live: bool, resumed: bool
    ) -> None:
        """Fills `state` with the graph's state after each step; without a status, it did not come to its end."""
        try:
            models = await self._open_models() if live else None
        except StoppedError as halted:
            self._listener(Note(halted.message))
            return
        # LangGraph takes most of a short question's time to import: meanwhile the sandbox starts.
        importing = asyncio.create_task(asyncio.to_thread(import_module, "agent.graph"))
        external = self._open_external(journal, live=live)
        sandbox = await self._open_sandbox() if live else None
        await importing

        from langgraph.errors import GraphDrained
        from langgraph.runtime import RunControl

        from agent.graph import build_graph

        files = tuple(Path(file.path) for file in run.files)
        context = Context(
            models=RunModels(models, self._settings.models_for, journal, budget),
            library=JournaledLibrary(self._library, journal),
            sandbox=JournaledSandbox(sandbox, journal),
            journal=journal,
            budget=budget,
            emit=self._listener,
            run_id=run.run_id,
            files=files,
            external=external,
        )
        self._control = RunControl()
        if self._draining:
            self.drain()
        config: Any = {"configurable": {"thread_id": run.run_id}, "recursion_limit": 10_000}
        start: Any = {"question": run.question, "files": [file.name for file in files]}
        async with checkpoints(self._settings.runs_dir / run.run_id if live else None) as checkpointer:
            graph = build_graph(checkpointer)
            if resumed and (stopped := await stopped_state(graph, config)) is not None:
                state.update(stopped)
                start = None
                journal.skip(state.get("calls", 0))
                budget.usage = Usage(**state.get("usage", {}))
            with contextlib.suppress(GraphDrained):
                async for values in graph.astream(
                    start,
                    config,
                    context=context,
                    stream_mode="values",
                    durability="exit" if checkpointer else None,
                    control=self._control,
                ):
                    state.update(values)

    async def _save(self, run: Run, journal: Journal, answer: Answer, *, live: bool) -> None:
        """An answer that cannot be saved is an answer all the same."""
        try:
            await journal.aclose()
            if live:
                save_run(self._settings.runs_dir, replace(run, status=answer.status, answer=answer))
        except StorageError as problem:
            self._listener(Note(f"the run is not saved: {problem.message}"))
        self._draining = False
        self._stopping.clear()

    async def _open_models(self) -> Models:
        if self._models is None:
            settings = model_settings(self._settings)
            self._models = open_models(settings, notify=lambda text: self._listener(Note(text)))
            if EMBEDDED in {self._settings.model, *(n for names in settings.roles.values() for n in names)}:
                await fetch_weights(self._settings.models_dir, lambda event: self._listener(event), self._stopping)
        return self._models

    async def _open_sandbox(self) -> Sandbox:
        if self._sandbox is None:
            from agent.sandboxes import open_for
            from mcp_tools.sandbox.protocol import Level

            self._sandbox = await open_for(self._settings)
            if self._sandbox.isolation.level is Level.WEAK:
                self._listener(Warned("no isolation: model-written code runs as you, as --no-isolation asked"))
        return self._sandbox

    def _open_external(self, journal: Journal, *, live: bool) -> ExternalTools:
        """The tools of external servers, which begin to start; a replay starts none."""
        if live:
            for note in self._external.news():
                self._listener(Note(note))
            self._servers = self._servers or self._external.servers()
        servers = self._servers if live else None
        if servers is not None:
            servers.forgive()
            servers.start()
        return journaled(servers, journal, lambda text: self._listener(Note(text)))

    def _budget(self, forced: Answer | None = None) -> Budget:
        s = self._settings
        if forced is not None:
            ended = (forced.limit, forced.steps) if forced.limit else None
            return Budget(Limits(steps=s.max_steps), ended=ended)
        return Budget(Limits(s.max_steps, s.max_tokens, s.max_seconds, s.max_cost))

    def _without_keys(self, question: str) -> str:
        """No key is written down or sent to a model, not even by its owner."""
        clean = self._redactor.text(question)
        if clean != question:
            self._listener(Note("the question contained a key: it was replaced"))
        return clean

    @contextlib.contextmanager
    def _set_as_in(self, run: Run, *, goes_on: bool = False) -> Iterator[None]:
        """Meanwhile, the settings and the library of a run."""
        own = self._settings, self._library
        self._settings = settings_as_in(run, self._settings, goes_on=goes_on)
        self._library = Library(self._settings.tools_dir, self._settings.approvals_file)
        try:
            yield
        finally:
            self._settings, self._library = own

    def _answer(self, run: Run, state: dict[str, Any], budget: Budget, error: str | None) -> Answer:
        return Answer(
            text=state.get("text", ""),
            status=state.get("status", "interrupted"),
            tools_created=tuple(dict.fromkeys(state.get("created", []))),
            tools_used=tuple(dict.fromkeys(state.get("used", []))),
            steps=len(state.get("steps", [])),
            usage=budget.usage,
            seconds=budget.seconds,
            run_id=run.run_id,
            model=run.model,
            error=error,
            limit=state.get("limit"),
        )

    def _finish(self, answer: Answer) -> Answer:
        self._listener(RunFinished(answer))
        return answer


def _require_unchanged(run: Run) -> None:
    """A run that goes on must see the files that it saw.

    Raises:
        RunError: One was changed since.
        UsageError: One cannot be read.
    """
    for file in run.files:
        if describe_file(Path(file.path)) != file:
            raise RunError(
                f"The file {file.path} was changed since the run {run.run_id} read it.",
                remedy="Restore it, or ask the question anew.",
            )


def _silent(_: Event) -> None:
    pass
