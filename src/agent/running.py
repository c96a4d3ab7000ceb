"""One run: takes a question through the graph to its answer, and saves it whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import json
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agent.actions.creation import examiner_of
from agent.actions.python_session import PythonSession
from agent.answer import Answer, Citation, status_of
from agent.budget import Budget
from agent.configuration.settings import EARLIER, FOLLOWS, RULES, SCHEMA, wish_of
from agent.configuration.specialists import not_for
from agent.consent.consent import Consent
from agent.context import Context
from agent.errors import AlitaError, StoppedError, StorageError
from agent.events import Event, Note, RunStarted
from agent.follow_up import FollowUp, understand
from agent.learning.gap_records import GapRecords
from agent.material.pictures import Sight
from agent.material.workspace import FOLDER, Workspace
from agent.models.protocol import Role
from agent.recorders.journaled import GAPS, JournaledGaps, JournaledLibrary, JournaledSandbox, RunModels
from agent.recorders.journaled_files import JournaledFiles
from agent.store.journal import Journal
from agent.store.runs import InputFile, Run, save_run, save_traceback
from agent.strategy import strategy_for
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from langgraph.runtime import RunControl

    from agent.configuration.settings import Settings
    from agent.conversation import Conversation
    from agent.files.media.speech import Speech
    from agent.recorders.journaled_web import JournaledWeb
    from agent.resources import Resources
    from agent.state import State
    from agent.store.redact import Redactor
    from agent.web.engines.search_engines import Engines
    from agent.web.leak_guard import LeakGuard
    from agent.web.page import PageReader


PICTURES = "browser"
"""The folder of a run in which is kept what its browser saw and downloaded."""
FILES = "files"
"""The folder of a run in which is kept what was made of its files for programs."""
WEB = "web"
"""The folder of a run in which files of the web are kept."""


_ACTION_OF = {"create": "create_tool"}
"""Abilities whose action is called otherwise."""


@dataclass(eq=False)
class Running:
    """A run that is under way: what it is, what it shares with other runs, and how it goes."""

    run: Run
    journal: Journal
    """Records its calls, or answers them."""
    budget: Budget
    settings: Settings
    resources: Resources
    redactor: Redactor
    tell: Callable[[Event], None]
    known: Callable[[str, Sequence[InputFile]], Answer | None]
    """Looks into the answers given before."""
    streams: bool = False
    """Whether the text of an answer is told while it is written."""
    live: bool = True
    """A replay is not: it makes no call and leaves no trace."""
    resumed: bool = False
    conversation: Conversation | None = None

    def __post_init__(self) -> None:
        self._folder = self.journal.path.parent.absolute()
        """Programs open what is kept in it by the paths that prompts show."""
        self._state: dict[str, Any] = {}
        self._apart: list[str] = []
        self._error: str | None = None
        self._control: RunControl | None = None
        self._opened = contextlib.AsyncExitStack()
        """The journal is closed last: what was begun ahead would still write to it."""
        self._opened.push_async_callback(self.journal.aclose)
        self._draining = False

    def drain(self) -> None:
        """Lets the present step finish."""
        self._draining = True
        if self._control is not None:
            self._control.request_drain("interrupted")

    @property
    def seconds_left(self) -> float | None:
        """Until the limit of time, below zero beyond it; None without one."""
        limit = self.budget.limits.seconds
        return None if limit is None else limit - self.budget.seconds

    @property
    def answer(self) -> Answer:
        """What it came to so far."""
        state = self._state
        return Answer(
            text=state.get("text", ""),
            status=state.get("status", "interrupted"),
            tools_created=tuple(dict.fromkeys(state.get("created", []))),
            tools_used=tuple(dict.fromkeys(state.get("used", []))),
            steps=len(state.get("steps", [])),
            usage=self.budget.usage,
            seconds=self.budget.seconds,
            waited=self.budget.waited,
            run_id=self.run.run_id,
            model=self.run.model,
            error=self._error,
            limit=state.get("limit"),
            restated=state.get("restated"),
            sources=tuple(Citation(**source) for source in state.get("cited", [])),
            set_apart=tuple(self._apart),
            quality=state.get("quality", {}),
            brief=state.get("brief", {}),
            plans=tuple(state.get("plans", [])),
            agent=self.settings.agent,
        )

    @property
    def shown_tools(self) -> list[str]:
        """The names of the tools that the run was offered."""
        return [tool["name"] for tool in self._state.get("tools", [])]

    @property
    def program(self) -> str:
        """The program whose output is the answer, where a capable model wrote it; else empty."""
        last: Any = next(iter(self._state.get("steps", [])[-1:]), {})
        is_program = last.get("final") and last["ok"] and last["action"] == "run_code"
        return str(last["input"]).removeprefix("run_code ") if is_program else ""

    async def finish(self) -> Answer:
        """Runs the graph to its end, and keeps what came of it.

        Raises:
            AlitaError: What the user can mend; the run is saved.
        """
        run, tell = self.run, self.tell
        tell(RunStarted(run.run_id, run.question, run.model, self.resumed))
        try:
            await self._to_its_end()
        except AlitaError as failure:
            if not (isinstance(failure, StorageError) and "status" in self._state):
                self._state["status"], self._error = status_of(failure), failure.message
                raise
            tell(Note(f"the run's last state was not saved: {failure.message}"))
        except asyncio.CancelledError:
            raise
        except BaseException as bug:
            self._state["status"], self._error = "failed", self.redactor.text(one_line(repr(bug)))
            if self.live:
                text = self.redactor.text(traceback.format_exc())
                save_traceback(self.settings.runs_dir, run, text)
            raise
        finally:
            answer = self.answer
            await self._save(answer)
        return answer

    async def _to_its_end(self) -> None:
        """Fills the state with the graph's after each step; without a status, it did not come to its end.

        A run that goes on does so from its beginning: what stands in its journal takes no time and costs nothing.
        """
        context = await self._context()
        if context is None:
            return
        asked = await self._question(context)
        if "status" in self._state:
            return
        from langgraph.errors import GraphDrained
        from langgraph.runtime import RunControl

        from agent.graph import build_graph

        self._control = RunControl()
        if self._draining:
            self.drain()
        config: Any = {"recursion_limit": 10_000}
        start = self._start(asked, context)
        try:
            async for values in build_graph().astream(
                start, config, context=context, stream_mode="values", control=self._control
            ):
                self._state.update(values)
        except GraphDrained:
            pass
        except StoppedError as halted:  # while something was fetched: the run goes on from there another time
            self.tell(Note(halted.message))

    async def _context(self) -> Context | None:
        """What the nodes may reach; None when the run was stopped before."""
        from agent.recorders.journaled_web import JournaledBrowser

        resources, live, journal, budget = self.resources, self.live, self.journal, self.budget
        try:
            with budget.standing_still():
                models = await resources.models(self.settings) if live else None
        except StoppedError as halted:
            self.tell(Note(halted.message))
            return None
        # LangGraph takes most of a short question's time to import: meanwhile the sandbox starts.
        importing = asyncio.create_task(asyncio.to_thread(self._import_ahead))
        consent = Consent(
            resources.confirm if live else None,
            journal,
            budget,
            self.tell,
            approval=self.settings.approval if "approval" in self.run.configuration else None,
            each_call=resources.each_call,
        )
        external = resources.external(journal, consent, live=live)
        with budget.standing_still():
            sandbox = await resources.sandbox(self.settings) if live else None
            await importing
        guard = self._guard()
        web = self._journaled_web(guard)
        folders = [self._folder / name for name in (FILES, WEB, PICTURES, FOLDER)]
        python = PythonSession(sandbox, journal, budget, folders)
        self._opened.push_async_callback(python.aclose)
        context = Context(
            models=RunModels(models, self.settings.models_for, journal, budget),
            library=JournaledLibrary(resources.library(self.settings), journal, consent),
            sandbox=JournaledSandbox(sandbox, journal, budget),
            journal=journal,
            budget=budget,
            emit=self.tell,
            run_id=self.run.run_id,
            files=tuple(Path(file.path) for file in self.run.files),
            external=external,
            consent=consent,
            reader=self._reader(),
            solve=self._solve,
            workspace=Workspace(self.journal.home / FOLDER),
            sight=Sight(
                self.settings.sees(Role.COORDINATOR),
                self.settings.sees(Role.VISION),
                watches=Role.MEDIA in self.run.configuration,
            ),
            gaps=self._gaps(),
            replan_steps=self.settings.replan_steps,
            seed=self.settings.seed,
            apart=self._apart,
            guard=guard,
            web=web,
            browser=JournaledBrowser(self.settings, self._folder / PICTURES, journal, budget, self.tell, guard),
            secrets=self.redactor.secrets,
            streams=self.streams,
            strategy_of=self.settings.strategy_of,
            python=python,
        )
        return replace(context, examiner=examiner_of(context))

    async def _solve(self, start: State, context: Context) -> State:
        """Answers a question that the run hands over, on the same graph; it is drained together with the run."""
        from agent.graph import build_graph

        config: Any = {"recursion_limit": 10_000}
        work = build_graph().ainvoke(start, config, context=context, control=self._control)
        return cast("State", await work)

    def _gaps(self) -> JournaledGaps | None:
        """Where the planner looks; a file that nobody has written is not made."""
        records = None
        if self.live and self.settings.gaps != "off" and self.settings.gaps_file.exists():
            try:
                records = GapRecords(self.settings.gaps_file)
            except StorageError as problem:
                self.tell(Note(f"no gap records: {problem.message}"))
            else:
                self._opened.callback(records.close)
        if records is None and not self.journal.knows(GAPS):
            return None
        return JournaledGaps(records, self.journal, reviewed=self.settings.gaps == "reviewed")

    def _import_ahead(self) -> None:
        import_module("agent.graph")
        model = self.settings.models_for(Role.COORDINATOR)[0]
        strategy_for(model, self.settings.strategy_of(model))

    def _journaled_web(self, guard: LeakGuard | None) -> JournaledWeb:
        from agent.recorders.journaled_web import JournaledWeb

        def open_web() -> tuple[Engines, PageReader]:
            from agent.web.engines.search_engines import open_web

            return open_web(self.settings, self._folder / WEB, self.tell, self._speech)

        web = JournaledWeb(open_web if self.live else None, self.journal, self.tell, guard, budget=self.budget)
        self._opened.push_async_callback(web.aclose)
        return web

    @cached_property
    def _speech(self) -> Speech:
        """What writes down speech; weights are fetched when the first sound is read, and once."""
        from agent.files.media.speech import from_settings

        speech, turn = from_settings(self.settings), asyncio.Lock()
        tried: list[Speech] = []

        async def prepare() -> None:
            from agent.resources import fetch_speech

            async with turn:
                if not tried:
                    with self.budget.standing_still():
                        await fetch_speech(speech, self.tell, self.resources.stopping)
                    tried.append(speech)

        return replace(speech, prepare=prepare)

    def _reader(self) -> JournaledFiles:
        from agent.files.reader_process import confinement_gaps

        if self.run.files and self.live and (gap := confinement_gaps()):
            self.tell(Note(f"The processes that read files are not sandboxed on this machine: {gap}."))
        return JournaledFiles(self._folder / FILES, self.journal, speech=self._speech, budget=self.budget)

    def _guard(self) -> LeakGuard | None:
        if not self.settings.leak_guard:
            return None
        from agent.web.leak_guard import LeakGuard

        return LeakGuard(self.tell, self.run.question)

    async def _question(self, context: Context) -> FollowUp:
        """The question that the graph answers; a follow-up whose answer is known already fills the state."""
        run, known = self.run, self.known
        if FOLLOWS not in run.configuration:
            return FollowUp(run.question, (run.question,))
        found = await understand(
            context,
            run.question,
            self.conversation,
            lambda question: None if wish_of(run) == "create" else known(question, run.files),
        )
        if found.question != run.question:
            self._state["restated"] = found.question
        if found.answer is not None and wish_of(run) != "create":
            self._state.update(text=found.answer, status="answered")
        return found

    def _start(self, asked: FollowUp, context: Context) -> Any:
        """The state that the graph begins with."""
        start: dict[str, Any] = {"question": asked.question, "said": list(asked.said)}
        start["files"] = [file.name for file in context.files]
        if (wish := wish_of(self.run)) != "answer":
            start["wish"] = wish
        if schema := self.run.configuration.get(SCHEMA):
            start["schema"] = json.loads(schema)
        if rules := self.run.configuration.get(RULES):
            start["rules"] = rules
        if earlier := self.run.configuration.get(EARLIER):
            start["earlier"] = earlier
        without: list[str] = [_ACTION_OF.get(name, name) for name in self.settings.without]
        if agent := self.settings.agent:
            start["agent"] = agent
            without += not_for(agent)
        if without:
            start["without"] = list(dict.fromkeys(without))
        return start

    async def _save(self, answer: Answer) -> None:
        """An answer that cannot be saved is an answer all the same."""
        try:
            await self._opened.aclose()
            if self.live:
                ended = replace(self.run, status=answer.status, answer=answer)
                await asyncio.to_thread(save_run, self.settings.runs_dir, ended)
        except StorageError as problem:
            self.tell(Note(f"the run was not saved: {problem.message}"))
