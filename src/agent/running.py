"""One run: from a question through the graph to its answer, and onto the disk, whatever happens."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.answering.answer import Answer, Citation, status_of
from agent.budget import Budget
from agent.configuration.settings import EARLIER, SCHEMA, wish_of
from agent.consent.approval import Approval, Approve
from agent.context import Context
from agent.conversation import FOLLOWS, FollowUp, understand
from agent.creation import examiner_of
from agent.errors import AlitaError, StoppedError, StorageError
from agent.events import Event, Note, RunStarted
from agent.material.pictures import Sight
from agent.material.workspace import FOLDER, Workspace
from agent.models.protocol import Model, Role
from agent.models.roles import Models
from agent.programs.python_session import PythonSession
from agent.store.journal import Journal
from agent.store.journaled import JournaledLibrary, JournaledModel, JournaledSandbox
from agent.store.journaled_files import JournaledFiles
from agent.store.runs import InputFile, Run, save_run, save_traceback
from agent.strategy import strategy_for
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from langgraph.runtime import RunControl

    from agent.budget import Budget
    from agent.configuration.settings import Settings
    from agent.conversation import Conversation
    from agent.resources import Resources
    from agent.store.journal import Journal
    from agent.store.journaled_web import JournaledBrowser, JournaledWeb
    from agent.store.redact import Redactor
    from agent.web.leak_guard import LeakGuard
    from agent.web.run_web import RunWeb
    from mcp_tools.sandbox.protocol import Sandbox


class RunModels:
    """The models of one run by role.

    Args:
        models: None for a replay, which asks none.
        names: The names of a role's models, the preferred one first.
        journal: Records every call.
        budget: Ends calls at its limits.
    """

    def __init__(
        self, models: Models | None, names: Callable[[str], Sequence[str]], journal: Journal, budget: Budget
    ) -> None:
        self._models = models
        self._names = names
        self._journal = journal
        self._budget = budget
        self._by_role: dict[str, JournaledModel] = {}

    def for_role(self, role: str) -> Model:
        """The model that fulfils a role."""
        if role not in self._by_role:
            model = self._models.for_role(role) if self._models is not None else None
            name = self._names(role)[0]
            self._by_role[role] = JournaledModel(model, self._journal, self._budget, name=name, role=role)
        return self._by_role[role]


PICTURES = "browser"
"""The folder of a run in which is kept what its browser saw and downloaded."""
FILES = "files"
"""The folder of a run in which is kept what was made of its files for programs."""
WEB = "web"
"""The folder of a run in which files of the web are kept."""


_ACTION_OF = {"create": "create_tool"}
"""Abilities whose action is called otherwise."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a run finds: settings of its own, and what it shares with other runs."""

    settings: Settings
    opened: Resources
    redactor: Redactor
    tell: Callable[[Event], None]
    known: Callable[[str, Sequence[InputFile]], Answer | None]
    """Looks into the answers given before."""
    streams: bool = False
    """Whether the text of an answer is told while it is written."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a run goes."""

    live: bool = True
    """A replay is not: it makes no call and leaves no trace."""
    resumed: bool = False
    approve: Approve | None = None
    conversation: Conversation | None = None


class Running:
    """A run that is under way.

    Args:
        run: The run.
        journal: Records its calls, or answers them.
        budget: Its limits.
        around: What it finds.
        manner: How it goes.
    """

    def __init__(self, run: Run, journal: Journal, budget: Budget, around: Surroundings, manner: Manner) -> None:
        self.settings = around.settings
        self._run = run
        self._journal = journal
        self._folder = journal.path.parent.absolute()
        """Programs open what is kept in it by the paths that prompts show."""
        self._budget = budget
        self._around = around
        self._manner = manner
        self._state: dict[str, Any] = {}
        self._apart: list[str] = []
        self._error: str | None = None
        self._control: RunControl | None = None
        self._opened_web: RunWeb | None = None
        self._web: JournaledWeb | None = None
        self._python: PythonSession | None = None
        self._draining = False

    def drain(self) -> None:
        """Lets the present step finish."""
        self._draining = True
        if self._control is not None:
            self._control.request_drain("interrupted")

    @property
    def seconds(self) -> float:
        """Work so far, in seconds."""
        return self._budget.seconds

    @property
    def seconds_left(self) -> float | None:
        """Until the limit of time, below zero beyond it; None without one."""
        limit = self._budget.limits.seconds
        return None if limit is None else limit - self._budget.seconds

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
            usage=self._budget.usage,
            seconds=self._budget.seconds,
            waited=self._budget.waited,
            run_id=self._run.run_id,
            model=self._run.model,
            error=self._error,
            limit=state.get("limit"),
            restated=state.get("restated"),
            sources=tuple(Citation(**source) for source in state.get("cited", [])),
            set_apart=tuple(self._apart),
        )

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
        run, tell = self._run, self._around.tell
        tell(RunStarted(run.run_id, run.question, run.model, self._manner.resumed))
        try:
            await self._to_its_end()
        except AlitaError as failure:
            if not (isinstance(failure, StorageError) and "status" in self._state):
                self._state["status"], self._error = status_of(failure), failure.message
                raise
            tell(Note(f"the run's last state is not saved: {failure.message}"))
        except asyncio.CancelledError:
            raise
        except BaseException as bug:
            self._state["status"], self._error = "failed", self._around.redactor.text(one_line(repr(bug)))
            if self._manner.live:
                text = self._around.redactor.text(traceback.format_exc())
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
            self._around.tell(Note(halted.message))

    async def _context(self) -> Context | None:
        """What the nodes may reach; None when the run was stopped before."""
        opened, live, journal, budget = self._around.opened, self._manner.live, self._journal, self._budget
        try:
            with budget.standing_still():
                models = await opened.models(self.settings) if live else None
        except StoppedError as halted:
            self._around.tell(Note(halted.message))
            return None
        # LangGraph takes most of a short question's time to import: meanwhile the sandbox starts.
        importing = asyncio.create_task(asyncio.to_thread(self._import_ahead))
        consent = opened.consent(budget, live=live)
        external = opened.external(journal, consent, live=live)
        with budget.standing_still():
            sandbox = await opened.sandbox(self.settings) if live else None
        await importing
        guard = self._guard()
        decided = Approval(journal, budget, self.settings.approval, self._manner.approve)
        context = Context(
            models=RunModels(models, self.settings.models_for, journal, budget),
            library=JournaledLibrary(opened.library(self.settings), journal),
            sandbox=JournaledSandbox(sandbox, journal, budget),
            journal=journal,
            budget=budget,
            emit=self._around.tell,
            run_id=self._run.run_id,
            files=tuple(Path(file.path) for file in self._run.files),
            external=external,
            consent=consent,
            approval=decided if "approval" in self._run.configuration else None,
            reader=self._reader(),
            workspace=Workspace(self._journal.home / FOLDER),
            sight=Sight(self.settings.sees(Role.COORDINATOR), self.settings.sees(Role.VISION)),
            seed=self.settings.seed,
            apart=self._apart,
            guard=guard,
            web=self._journaled_web(guard),
            browser=self._browser(guard),
            secrets=self._around.redactor.secrets,
            streams=self._around.streams,
            strategy_of=self.settings.strategy_of,
            python=self._python_session(sandbox),
        )
        return replace(context, examiner=examiner_of(context))

    def _python_session(self, sandbox: Sandbox | None) -> PythonSession:
        folders = [self._folder / name for name in (FILES, WEB, PICTURES, FOLDER)]
        self._python = PythonSession(sandbox, self._journal, self._budget, folders)
        return self._python

    def _import_ahead(self) -> None:
        import_module("agent.graph")
        model = self.settings.models_for(Role.COORDINATOR)[0]
        strategy_for(model, self.settings.strategy_of(model))

    def _journaled_web(self, guard: LeakGuard | None) -> JournaledWeb:
        from agent.store.journaled_web import Heard, JournaledWeb

        tell, journal = self._around.tell, self._journal
        if not self._manner.live:
            self._web = JournaledWeb(None, None, journal, tell, guard)
            return self._web
        from agent.web.run_web import RunWeb

        self._opened_web = web = RunWeb(self.settings, self._folder / WEB, Heard(tell))
        self._web = JournaledWeb(web, web, journal, tell, guard, budget=self._budget)
        return self._web

    def _reader(self) -> JournaledFiles:
        from agent.files.reader_process import unconfined

        async def before_speech() -> None:
            from agent.files.media.speech import from_settings
            from agent.models.embedded.downloads import fetch_speech

            with self._budget.standing_still():
                await fetch_speech(from_settings(self.settings), self._around.tell, self._around.opened.stopping)

        if self._run.files and self._manner.live and (gap := unconfined()):
            self._around.tell(Note(f"The processes that read files are not confined on this machine: {gap}."))
        return JournaledFiles(self._folder / FILES, self._journal, before_speech, budget=self._budget)

    def _browser(self, guard: LeakGuard | None) -> JournaledBrowser:
        from agent.store.journaled_web import JournaledBrowser

        folder = self._folder / PICTURES
        blocks = guard.blocks if guard else None
        return JournaledBrowser(self.settings, folder, self._journal, self._around.tell, blocks, self._budget)

    def _guard(self) -> LeakGuard | None:
        if not self.settings.leak_guard:
            return None
        from agent.web.leak_guard import LeakGuard

        return LeakGuard(self._around.tell, self._run.question)

    async def _question(self, context: Context) -> FollowUp:
        """The question that the graph answers; a follow-up whose answer is known already fills the state."""
        run, known = self._run, self._around.known
        if FOLLOWS not in run.configuration:
            return FollowUp(run.question, (run.question,))
        found = await understand(
            context,
            run.question,
            self._manner.conversation,
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
        if (wish := wish_of(self._run)) != "answer":
            start["wish"] = wish
        if schema := self._run.configuration.get(SCHEMA):
            start["schema"] = json.loads(schema)
        if earlier := self._run.configuration.get(EARLIER):
            start["earlier"] = earlier
        if self.settings.without:
            start["without"] = [_ACTION_OF.get(name, name) for name in self.settings.without]
        return start

    async def _save(self, answer: Answer) -> None:
        """An answer that cannot be saved is an answer all the same."""
        try:
            if self._python is not None:
                await self._python.aclose()
            if self._web is not None:  # before the journal: what was begun ahead would still write to it
                await self._web.aclose()
            if self._opened_web is not None:
                await self._opened_web.aclose()
            await self._journal.aclose()
            if self._manner.live:
                ended = replace(self._run, status=answer.status, answer=answer)
                await asyncio.to_thread(save_run, self.settings.runs_dir, ended)
        except StorageError as problem:
            self._around.tell(Note(f"the run is not saved: {problem.message}"))
