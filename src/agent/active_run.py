"""One run of a question, which is always saved."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agent.actions.creation import examiner_of
from agent.actions.program_packages import packages_behind
from agent.answer import Answer, Citation, FileChange, OutputFile, status_of
from agent.budget import Budget
from agent.calls.files import RecordedFiles
from agent.calls.host_requests import RecordedHosts
from agent.calls.library import GAPS, RecordedGaps, RecordedLibrary
from agent.calls.models import RunModels
from agent.calls.python_session import PythonSession
from agent.calls.recorder import Recorder
from agent.calls.sandbox import RecordedSandbox
from agent.configuration.settings import (
    AROUND,
    COPY,
    EARLIER,
    FOLDER,
    FOLLOWS,
    HOME,
    NEW_COPY,
    RULES,
    SCHEMA,
    purpose_of,
)
from agent.configuration.specialists import forbidden_actions
from agent.consent.consent import Consent
from agent.consent.hosts import HostGrants
from agent.consent.policy import Policy
from agent.context import Context
from agent.conversation import Transcript, UserFile, programs_in, variables_of
from agent.errors import AlitaError, SettingsError, StoppedError, StorageError
from agent.events import AnswerWritten, Event, Note, RunStarted
from agent.follow_up import FollowUp, understand
from agent.learning.gap_records import known_records
from agent.material.outputs import FOLDER as OUTPUTS
from agent.material.outputs import Outputs
from agent.material.picture_messages import Sight
from agent.material.workspace import FOLDER as WORKSPACE
from agent.material.workspace import Workspace
from agent.models.protocol import EMBEDDED, SCRIPTED, Role
from agent.state import AttachedFile, CitedSource, GrantedFolder
from agent.store.journal import Journal
from agent.store.runs import ID, InputFile, Run, save_run, save_traceback
from agent.store.transcripts import compare_files, files_for
from agent.strategy import strategy_for
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.calls.web_access import RecordedWeb
    from agent.configuration.settings import Settings
    from agent.conversation import Conversation
    from agent.files.media.speech import Speech
    from agent.material.folder import FolderCopy
    from agent.resources import Resources
    from agent.state import State
    from agent.store.redact import Redactor
    from agent.web.engines.search_engines import Engines
    from agent.web.leak_guard import LeakGuard
    from agent.web.page import PageReader


PICTURES = "browser"
"""Folder in a run for screenshots and downloads of its browser."""
FILES = "files"
"""Folder in a run for the extracted contents of its files, for programs."""
WEB = "web"
"""Folder in a run for files from the web."""


_MAX_VARIABLES = 20
"""Maximum number of lost variables that the model is told about."""
_ACTION_OF = {"create": "create_tool"}
"""Ability names that differ from their action's name."""


def import_ahead(settings: Settings, *, live: bool = True) -> None:
    """Import the modules that most runs with these settings need. This takes about a second.

    A replay (`live=False`) calls no model, so it needs less.
    """
    import_module("agent.graph")
    model = settings.models_for(Role.COORDINATOR)[0]
    strategy_for(model, settings.strategy_of(model))
    if live and model != EMBEDDED and not model.startswith(SCRIPTED):
        import_module("openai")


@dataclass(eq=False, kw_only=True)
class ActiveRun:
    """Answers the question of a run by running the graph, and saves the result.

    Attributes:
        journal: Records the calls of the run, or replays them.
        tell: Reports events to the front end.
        known: Looks up an earlier answer by question, files and the digest of the turns before it.
        streams: True to report the text of an answer while the model writes it.
        live: False for a replay, which makes no calls and writes nothing.
        transcript: The earlier turns.
        keeps_python: True to keep the Python process open for the next turn of the conversation.
        reasons: The user's reasons for refusals in this run.
        unheard: Messages of the user that the model has not seen yet.
    """

    run: Run
    journal: Journal
    budget: Budget
    settings: Settings
    resources: Resources
    redactor: Redactor
    tell: Callable[[Event], None]
    known: Callable[[str, Sequence[InputFile], str], Answer | None]
    streams: bool = False
    live: bool = True
    resumed: bool = False
    conversation: Conversation | None = None
    transcript: Transcript = field(default_factory=Transcript)
    keeps_python: bool = False

    def __post_init__(self) -> None:
        self.calls = Recorder(self.journal, self.budget, self._emit)
        self._folder = self.journal.path.parent.absolute()
        first = self.run.configuration.get(HOME, "")
        self._is_first = not (ID.fullmatch(first) and (self._folder.parent / first).is_dir())
        self._home = self._folder if self._is_first else self._folder.parent / first
        """Folder of the conversation's files. The path is absolute, because prompts show paths in it to programs."""
        copy = self.run.configuration.get(COPY, "")
        self._copies = copy == NEW_COPY
        self._copy: FolderCopy | None = None
        """The copy of the user's folder that programs may change."""
        if copy:
            from agent.material.folder import FolderCopy

            place = self._folder if self._copies else self._folder.parent / copy
            self._copy = FolderCopy(Path(self.run.configuration[FOLDER]), place)
        self._changes: tuple[FileChange, ...] = ()
        self._context_of_run: Context | None = None
        self._follow_up = FollowUp(self.run.question, (self.run.question,))
        self.reasons: list[str] = []
        self.unheard: list[str] = []
        self._given: tuple[UserFile, ...] = ()
        self._has_variables = False
        """True if the Python process of earlier turns is still running."""
        self._written = ""
        """The text of the answer that is being streamed."""
        self._state: dict[str, Any] = {}
        self._consent: Consent | None = None
        self._apart: list[str] = []
        self._error: str | None = None
        self._opened = contextlib.AsyncExitStack()
        """Closes the journal last, because tasks that were started ahead still write to it."""
        self._opened.push_async_callback(self.journal.aclose)

    def say(self, text: str) -> bool:
        """Queue a message of the user for the model's next decision. Return False if the model decides no more."""
        if "status" in self._state:
            return False
        self.unheard.append(text)
        return True

    def _refused(self, reason: str) -> None:
        """Pass the user's reason for a refusal on to the model."""
        self.reasons.append(reason)
        self.unheard.append(reason)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit; negative after the limit, None without one."""
        limit = self.budget.limits.seconds
        return None if limit is None else limit - self.budget.seconds

    @property
    def answer(self) -> Answer:
        """The run's answer so far."""
        state = self._state
        return Answer(
            text=state.get("text", ""),
            status=state.get("status", "interrupted"),
            tools_created=tuple(dict.fromkeys(state.get("created", []))),
            tools_used=tuple(dict.fromkeys(state.get("used", []))),
            steps=state.get("turns", 0) - state.get("closing", False),
            actions=len(state.get("steps", [])),
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
            outputs=tuple(OutputFile(**file) for file in self._output_files().values()),
            changes=self._changes,
        )

    def _output_files(self) -> dict[str, dict[str, Any]]:
        """The last version of each file that programs wrote for the user, by name."""
        return {file["name"]: file for one in self._state.get("steps", []) for file in one.get("outputs", [])}

    @property
    def shown_tools(self) -> list[str]:
        """Names of the tools that the run was offered."""
        return [tool.name for tool in self._state.get("tools", [])]

    @property
    def may_be_repeated(self) -> bool:
        """True if the answer may be cached: it depends on no request to a host and on no refusal."""
        return self._consent is not None and not self._consent.mattered

    @property
    def program(self) -> str:
        """The program by a capable model that printed the answer; empty if no program did."""
        last: Any = next(iter(self._state.get("steps", [])[-1:]), {})
        is_program = last and last["ending"].ends_run and last["ok"] and last["action"] == "run_code"
        return str(last["input"]).removeprefix("run_code ") if is_program else ""

    async def finish(self) -> Answer:
        """Run the graph to its end and save the result.

        Raises:
            AlitaError: A failure that the user can fix; the run is saved.
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
            await self._compare()
            answer = self.answer
            await self._save(answer)
        return answer

    async def _compare(self) -> None:
        """Record the changes that programs made in the copy of the user's folder. A replay uses the recorded ones."""
        if not self.live:
            self._changes = self.run.answer.changes if self.run.answer is not None else ()
        elif self._copy is not None and self._copy.is_whole:
            from agent.material.folder_changes import changes_of

            try:
                found = await asyncio.to_thread(changes_of, self._copy)
            except StorageError as problem:
                self.tell(Note(problem.message))
                return
            self._changes = tuple(change.public for change in found.files)

    async def _to_its_end(self) -> None:
        """Run the graph and copy its state after each step. An unfinished run has no status.

        A resumed run starts from the beginning, where recorded calls take no time and cost nothing.
        """
        context = await self._context()
        if context is None:
            return
        self._follow_up = asked = await self._question(context)
        context = self._context_of_run = self._with_earlier(context, asked.transcript)
        if "status" in self._state:
            return
        from agent.graph import build_graph

        config: Any = {"recursion_limit": 10_000}
        start = self._start(asked)
        if (folder := await self._granted_folder(asked.transcript)) is not None:
            start["folder"] = folder
        try:
            async for values in build_graph().astream(start, config, context=context, stream_mode="values"):
                self._state.update(values)
        except StoppedError as halted:  # stopped during a download; the run can be resumed
            self.tell(Note(halted.message))

    async def _context(self) -> Context | None:
        """Return the context for the nodes; None if the run was stopped before it could start."""
        from agent.calls.web_access import RecordedBrowser

        resources, live, calls, budget = self.resources, self.live, self.calls, self.budget
        try:
            with budget.standing_still():
                models = await resources.models(self.settings) if live else None
        except StoppedError as halted:
            self.tell(Note(halted.message))
            return None
        # Importing LangGraph is most of the work of a short question, so the sandbox starts at the same time.
        is_first = "agent.graph" not in sys.modules
        importing = asyncio.create_task(asyncio.to_thread(import_ahead, self.settings, live=live)) if is_first else None
        self._consent = consent = Consent(
            resources.confirm if live else None,
            calls,
            approval=self.settings.approval if "approval" in self.run.configuration else None,
            each_call=resources.each_call,
            grants=resources.grants if live else None,
            environments=(environments := resources.environments(self.settings) if live else None),
            packages=self.settings.packages,
            hosts=self.settings.hosts,
            host_grants=HostGrants(self.settings.data_dir) if live else None,
            policy=partial(Policy.read, self.settings.config_dir) if live else None,
            say=self._refused,
        )
        workspace = Workspace((self.journal.home if self._is_first else self._home) / WORKSPACE)
        external = resources.external(calls, consent, workspace, live=live)
        with budget.standing_still():
            sandbox = await resources.sandbox(self.settings) if live else None
            if importing is not None:
                await importing
        guard = self._guard()
        web = self._recorded_web(guard)
        folders = [self._home / name for name in (FILES, WEB, PICTURES, WORKSPACE)]
        live_python = await resources.python_of(self._home.name) if self.keeps_python else None
        self._has_variables = live_python is not None and live_python.session is not None
        outputs = Outputs(self._home / OUTPUTS)
        copy = self._copy.writable if self._copy is not None else None
        python = PythonSession(sandbox, calls, folders, live_python, environments, outputs, copy)
        self._opened.push_async_callback(python.aclose)
        context = Context(
            models=RunModels(models, self.settings.models_for, calls),
            library=RecordedLibrary(resources.library(self.settings), calls, consent, self.run.question),
            sandbox=RecordedSandbox(sandbox, calls),
            calls=calls,
            run_id=self.run.run_id,
            files=tuple(Path(file.path) for file in self.run.files),
            external=external,
            consent=consent,
            reader=self._reader(),
            solve=self._solve,
            workspace=workspace,
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
            hosts=RecordedHosts(
                self.settings if live else None,
                calls,
                consent,
                guard,
                is_closed="search" in self.settings.without,
            ),
            browser=RecordedBrowser(self.settings, self._home / PICTURES, calls, guard),
            secrets=self.redactor.secrets,
            streams=self.streams,
            strategy_of=cache(lambda model: strategy_for(model, self.settings.strategy_of(model))),
            python=python,
            outputs=outputs,
            said=self.unheard,
        )
        return replace(context, examiner=examiner_of(context))

    async def _solve(self, start: State, context: Context) -> State:
        """Answer a question that the run hands over to a specialist, on the same graph."""
        from agent.graph import build_graph

        config: Any = {"recursion_limit": 10_000}
        work = build_graph().ainvoke(start, config, context=context)
        return cast("State", await work)

    def _gaps(self) -> RecordedGaps | None:
        """Return the planner's gap records, if there are any."""
        records = None
        if self.live and self.settings.gaps != "off":
            try:
                records = known_records(self.settings)
            except (StorageError, SettingsError) as problem:
                self.tell(Note(f"gap records are not used: {problem.message}"))
            if records is not None:
                self._opened.callback(records.close)
        if records is None and not self.journal.knows(GAPS):
            return None
        return RecordedGaps(records, self.calls, reviewed=self.settings.gaps == "reviewed")

    def _recorded_web(self, guard: LeakGuard | None) -> RecordedWeb:
        from agent.calls.web_access import RecordedWeb

        def open_web() -> tuple[Engines, PageReader]:
            from agent.web.engines.search_engines import open_web

            return open_web(self.settings, self._home / WEB, self.tell, self._speech)

        web = RecordedWeb(open_web if self.live else None, self.calls, guard)
        self._opened.push_async_callback(web.aclose)
        return web

    @cached_property
    def _speech(self) -> Speech:
        """Return the speech transcriber. Its weights are downloaded when the first sound is read."""
        from agent.files.media.speech import from_settings, wants_weights

        speech, turn = from_settings(self.settings), asyncio.Lock()
        tried: list[Speech] = []

        async def prepare() -> None:
            from agent.resources import fetch_speech

            async with turn:
                if not tried and not self.settings.may_download and wants_weights(speech):
                    self.tell(Note("The speech model is not downloaded. Add --yes, or run: alita model pull speech"))
                elif not tried:
                    with self.budget.standing_still():
                        await fetch_speech(speech, self.tell, self.resources.stopping)
                    tried.append(speech)

        return replace(speech, prepare=prepare)

    def _reader(self) -> RecordedFiles:
        from agent.files.reader_process import confinement_gaps

        if self.run.files and self.live and (gap := confinement_gaps()):
            self.tell(Note(f"The processes that read files are not sandboxed on this machine: {gap}."))
        return RecordedFiles(self._home / FILES, self.calls, speech=self._speech)

    def _guard(self) -> LeakGuard | None:
        if not self.settings.leak_guard:
            return None
        from agent.web.leak_guard import LeakGuard

        return LeakGuard(self.tell, self.run.question)

    async def _question(self, context: Context) -> FollowUp:
        """Return the question for the graph. If the answer to a follow-up is known, write it to the state."""
        run, known = self.run, self.known
        if FOLLOWS not in run.configuration:
            return FollowUp(run.question, (run.question,))
        own = purpose_of(run).wants_tool or FOLDER in run.configuration
        found = await understand(
            context,
            run.question,
            self._earlier if self.conversation is not None else None,
            lambda question, after: None if own else known(question, run.files, after),
            has_files=bool(run.files),
        )
        if found.question != run.question:
            self._state["restated"] = found.question
        if found.answer is not None and not purpose_of(run).wants_tool:
            self._state.update(text=found.answer, status="answered")
        return found

    @property
    def after(self) -> str:
        """Digest of the earlier turns; empty for an independent question."""
        return self._follow_up.after

    def _earlier(self) -> tuple[Conversation, Transcript]:
        """Return the earlier turns, with remarks about files and variables that changed since."""
        assert self.conversation is not None
        transcript = self.transcript
        compare_files(transcript, self.run.files)
        if not self._has_variables and (names := variables_of(transcript.programs)):
            lost = ", ".join(names[:_MAX_VARIABLES]) + (" and more" if len(names) > _MAX_VARIABLES else "")
            transcript.remarks.append(f"Python was restarted, so these variables are gone: {lost}.")
        return self.conversation, transcript

    def _with_earlier(self, context: Context, earlier: Transcript) -> Context:
        """Return the context with the files of all turns and the messages of the earlier turns."""
        context.room.earlier = list(earlier.turns)
        for program in earlier.programs:
            context.python.text.add(program, packages=packages_behind(program))
        context.web.recall([*earlier.links.values(), *(source["url"] for source in earlier.sources)])
        if not self._is_first:
            context.workspace.open()
            self._given = files_for(earlier, self.run.files, self._home / FILES, is_live=self.live)
        else:
            self._given = tuple(UserFile(file.path, file.sha256, file.path) for file in self.run.files)
        for remark in earlier.remarks:
            self._emit(Note(remark))
        return replace(context, files=tuple(Path(file.copy) for file in self._given))

    def _emit(self, event: Event) -> None:
        self._written = self._written + event.text if isinstance(event, AnswerWritten) else ""
        self.tell(event)

    def _keep_transcript(self, answer: Answer) -> None:
        """Store the conversation as the model saw it, for the next turn."""
        context, state = self._context_of_run, self._state
        if context is None or RULES in self.run.configuration:
            return
        question = {"role": "user", "content": self.run.question}
        turn = context.strategy(Role.COORDINATOR).transcript(cast("State", state), context)
        if not turn:
            if self._follow_up.answer is None:
                return
            turn = [question]
        files = [AttachedFile(**{**file, "since": 0}) for file in state.get("attached", [])]  # type: ignore[typeddict-item]
        stored = Transcript(
            turns=[*context.room.earlier, [*turn, {"role": "assistant", "content": self._ending(answer)}]],
            files=files or self._follow_up.transcript.files,
            given=list(self._given),
            tools=[tool.name for tool in state.get("tools", []) if tool.has_function],
            sources=[
                CitedSource(number=source["number"], url=source["url"], title=source["title"], quotes=[])
                for source in state.get("sources", [])
            ],
            links=state.get("links", {}),
            programs=[*self._follow_up.transcript.programs, *programs_in(turn)],
            home=self._home.name,
        )
        self.journal.keep_transcript(stored.as_json())

    def _ending(self, answer: Answer) -> str:
        if answer.text and answer.status in {"answered", "limit"}:
            return answer.text
        if answer.status == "interrupted":
            return f"{self._written}\n[The user stopped this.]".strip()
        return f"[No answer: {answer.error or answer.status.replace('_', ' ')}]"

    def _start(self, asked: FollowUp) -> Any:
        """Return the initial state of the graph."""
        start: dict[str, Any] = {"question": asked.question, "said": list(asked.said), "purpose": purpose_of(self.run)}
        start["files"] = [Path(file.path).name for file in self.run.files]
        earlier = asked.transcript
        if earlier.turns:
            start |= {"attached": earlier.files, "offered": earlier.tools, "remarks": earlier.remarks}
            start |= {"sources": earlier.sources, "links": earlier.links}
            results = earlier.results
            is_private = earlier.given or FOLDER in self.run.configuration
            start["known"] = {"foreign": results, "private": results if is_private else []}
        if around := self.run.configuration.get(AROUND):
            start["around"] = around
        if schema := self.run.configuration.get(SCHEMA):
            start["schema"] = json.loads(schema)
        if rules := self.run.configuration.get(RULES):
            start["rules"] = rules
        if program := self.run.configuration.get(EARLIER):
            start["earlier"] = program
        without: list[str] = [_ACTION_OF.get(name, name) for name in self.settings.without]
        if agent := self.settings.agent:
            start["agent"] = agent
            without += forbidden_actions(agent)
        if without:
            start["without"] = list(dict.fromkeys(without))
        return start

    async def _granted_folder(self, earlier: Transcript) -> GrantedFolder | None:
        """Return the user's folder, copied if needed. It lists the file names unless an earlier turn showed them."""
        root, copy = self.run.configuration.get(FOLDER, ""), self.run.configuration.get(COPY, "")
        if not root:
            return None

        async def perform() -> dict[str, str]:
            from agent.material.folder import listing

            note = ""
            if self._copies and self._copy is not None:
                note = self._copy.left_out(await asyncio.to_thread(self._copy.make))
            path = root if self._copy is None else str(self._copy.folder)
            said = (str(message.get("content")) for turn in earlier.turns for message in turn)
            names = "" if any(path in text for text in said) else await asyncio.to_thread(listing, Path(path))
            return {"path": path, "listing": names, "told": note}

        found = await self.calls.call(FOLDER, {"folder": root, "writes": bool(copy)}, perform)
        if found["told"]:
            self.tell(Note(found["told"]))
        return GrantedFolder(path=found["path"], root=root, writes=bool(copy), listing=found["listing"])

    async def _save(self, answer: Answer) -> None:
        """Save the answer. A failure to save is only reported."""
        try:
            if self.live:
                self._keep_transcript(answer)
            await self._opened.aclose()
            if self.live:
                ended = replace(self.run, status=answer.status, answer=self.redactor.values(answer))
                await asyncio.to_thread(save_run, self.settings.runs_dir, ended)
        except StorageError as problem:
            self.tell(Note(f"the run was not saved: {problem.message}"))
