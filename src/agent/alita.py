"""The entry point for all front ends: `Alita.ask(question, files) -> Answer`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from agent.active_run import ActiveRun
from agent.answer import Answer
from agent.answering.arithmetic import compute
from agent.budget import Budget, RunLimits
from agent.chat import Chat
from agent.configuration.project_choice import require_allowed
from agent.configuration.settings import (
    AROUND,
    COPY,
    EARLIER,
    FOLDER,
    FOLLOWS,
    HOME,
    NEW_COPY,
    PURPOSE,
    RULES,
    SCHEMA,
    configuration_of,
    settings_as_in,
    values_to_resume,
)
from agent.consent.consent import Confirm
from agent.consent.external_tools import ConfiguredServers
from agent.conversation import Transcript, Turn
from agent.errors import RunError, SettingsError, StorageError
from agent.events import AnswerWritten, Event, Listener, Note, RunFinished, Warned
from agent.models.protocol import FIRST_LISTED, Usage
from agent.models.roles import with_resolved_model
from agent.question import FolderGrant, Purpose, usable
from agent.resources import Resources
from agent.store.answer_cache import AnswerCache, AnsweredPrograms, note_hit
from agent.store.databases import has_store, hold_store
from agent.store.journal import Journal
from agent.store.own_runs import OwnRuns
from agent.store.redact import RedactedStream, Redactor
from agent.store.retention import prune_daily
from agent.store.run_index import Notes, index_run
from agent.store.run_log import RunLog
from agent.store.runs import (
    InputFile,
    Run,
    create_run,
    describe_file,
    find_run,
    find_unfinished,
    journal_path,
    load_run,
)
from agent.store.transcripts import transcript_of
from agent.strategy import WRAPPING, require_large
from agent.user_files import require_readable

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.conversation import Conversation
    from agent.telemetry import Telemetry

AFTER = "after"
"""Member of a cached answer's key: the digest of the turns before the question."""
T = TypeVar("T")


class Alita:
    """Answers questions, one at a time.

    Example:
        async with Alita.open() as alita:
            answer = await alita.ask("What is the 57th Fibonacci number?")
            chat = alita.chat()  # a conversation: questions may refer to earlier ones
    """

    def __init__(
        self,
        settings: Settings,
        *,
        streams: bool = False,
        confirm: Confirm | None = None,
        beside: Alita | None = None,
    ) -> None:
        self.settings = settings
        self._streams = streams
        self._answers = AnswerCache(settings)
        self._programs = AnsweredPrograms(settings)
        self._external: ConfiguredServers = beside._external if beside else ConfiguredServers(settings, Path.cwd())
        self._redactor: Redactor = (
            beside._redactor if beside else Redactor((*settings.secrets, *self._external.secrets))
        )
        self._opened: Resources = beside._opened if beside else Resources(self._external, self._tell, confirm)
        self._is_guest = beside is not None
        self._own_runs: OwnRuns = beside._own_runs if beside else OwnRuns(settings)
        self._notes = Notes(settings)
        self._store_problem = ""
        """Why the store cannot be used for the current question."""
        self._let_go: Callable[[], None] | None = None
        """Closes the store; None before the first use."""
        self._log = RunLog(settings.logs_dir, settings.log_days)
        self._is_logged = True
        self._telemetry: Telemetry | None = None
        self._listener: Listener = _silent
        self._written = RedactedStream(self._redactor)
        self._warnings: list[str] = []
        self.running: ActiveRun | None = None
        """The latest run, which may have finished."""

    @classmethod
    def open(cls, settings: Settings | None = None, *, streams: bool = False, confirm: Confirm | None = None) -> Self:
        """Return an Alita for use with `async with`. Resources are opened when a question needs them.

        Args:
            settings: Settings of the runs; read from the user's files and the environment if left out.
            streams: True to report the text of an answer while the model writes it (`AnswerWritten`).
            confirm: Asks the user for permission: to keep a proved tool, if the setting `approval` says so; to call an
                external tool, if its description has changed or a project chose the model; and to carry out a doubtful
                action. Without `confirm`, all of these are refused.

        Raises:
            SettingsError: The model or endpoint was chosen only by a project's files, and the user has not allowed
                that.
        """
        if settings is None:
            from agent.configuration.settings_sources import read_settings

            settings = read_settings({})
        require_allowed(settings)
        return cls(settings, streams=streams, confirm=confirm)

    def beside(self, **settings: Any) -> Alita:
        """Return a second Alita that shares this one's models, sandbox and servers.

        `settings` override this one's. Do not close it, and do not use it after closing the original.
        """
        return Alita(self.settings.model_copy(update=settings), streams=self._streams, beside=self)

    def chat(self, conversation: Conversation | None = None) -> Chat:
        """Return a new or continued conversation. Do not use it after this Alita is closed."""
        return Chat(self, conversation)

    def without_keys(self, text: str) -> str:
        """Return a text with known keys masked."""
        return self._redactor.text(text)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop the external servers and the sandbox, and close the models' connections and the store."""
        if not self._is_guest:
            await self._opened.aclose()
        if self._let_go is not None:
            await asyncio.to_thread(self._let_go)
            self._let_go = None

    @property
    def seconds(self) -> float:
        """Seconds of work on the latest question; 0 before the first."""
        return self.running.budget.seconds if self.running is not None else 0.0

    @property
    def newest(self) -> Answer | None:
        """The latest run's answer so far, even if the run raised an exception."""
        return self.running.answer if self.running is not None else None

    def say(self, text: str) -> bool:
        """Send a message to the current run; False if no run can take it."""
        return self.running is not None and self.running.say(self._redactor.text(text))

    async def undo(self, conversation: Conversation) -> Turn | None:
        """Remove the last turn of a conversation and the files it brought. Return the turn; None if it has no run.

        If it ran programs, the conversation's Python process ends, because they may have changed variables.
        """
        before = await asyncio.to_thread(transcript_of, self._own_runs, conversation.turns)
        turn = conversation.drop_last()
        after = await asyncio.to_thread(transcript_of, self._own_runs, conversation.turns)
        if after.programs != before.programs:
            await self._opened.end_python(before.home)
        for file in before.given:
            if file not in after.given and file.copy != file.path:
                await asyncio.to_thread(Path(file.copy).unlink, missing_ok=True)
        return turn

    async def ask(
        self,
        question: str,
        *,
        files: Sequence[Path] = (),
        on_event: Listener | None = None,
        conversation: Conversation | None = None,
        purpose: Purpose = Purpose.ANSWER,
        around: str = "",
        schema: dict[str, Any] | None = None,
        rules: str = "",
        folder: FolderGrant | None = None,
    ) -> Answer:
        """Answer a question.

        Args:
            question: The question.
            files: Files attached to the question. If a file cannot be read, the model gets the reason.
            on_event: Told what happens, step by step.
            conversation: The turns before this question, which may refer to them. The turns of a long conversation
                are summarised. The new turn is not added.
            purpose: `create` to get a tool that answers such questions: a fitting tool from the library, or a new one.
                In this case neither plain arithmetic nor an earlier answer is used.
            around: The package that the new tool wraps, as a requirement such as `scipy>=1.11`.
            schema: JSON Schema (draft 2020-12) of the answer. Its text is then JSON; a text that does not fit is
                rejected.
            rules: A benchmark's rules for the form of the answer; the small strategy ignores them.
            folder: A folder that programs may read, or change in a copy. It stays available to later questions of the
                conversation, unless they name another folder.

        Raises:
            UsageError: The question is empty or too long, or a file or the folder cannot be opened.
            UserError: A model or the sandbox is unavailable; the run is saved and can be resumed.
        """
        self._listener = on_event or _silent
        question = usable(question)
        if files:
            await asyncio.to_thread(require_readable, files)
        if (clean := self._redactor.text(question)) != question:  # keys are never sent to a model
            self._listener(Note("the question contained an API key, which was replaced"))
            question = clean
        purpose = Purpose(purpose)
        if around:
            require_large(self.settings, WRAPPING)
        place = await asyncio.to_thread(self._folder_for, folder, conversation)
        is_plain = purpose.takes_known_answers and not files and not schema and not place
        if is_plain and (exact := compute(question)) is not None:
            return self._finish(Answer(exact, "answered", model="arithmetic"))
        if self.settings.model == FIRST_LISTED:
            self.settings = await asyncio.to_thread(with_resolved_model, self.settings)
        follows, transcript = await self._before(conversation, place)
        form = {SCHEMA: json.dumps(schema, sort_keys=True)} if schema else {}
        form |= {RULES: rules} if rules else {}
        inputs, configuration = [describe_file(path) for path in files], self._configuration(self.settings, form)
        if (
            purpose.takes_known_answers
            and not follows
            and not place
            and (known := await asyncio.to_thread(self._known, self.settings, form, question, inputs))
        ):
            self._listener(
                Note(f"answered from the cache (run {known.run_id}); to ask again: --no-cache, or /retry in a session")
            )
            return self._finish(replace(known, tools_created=(), steps=0, usage=Usage(), seconds=0.0, waited=0.0))
        stored = configuration | values_to_resume(self.settings) | follows | place
        stored |= {} if purpose is Purpose.ANSWER else {PURPOSE: str(purpose)}
        stored |= {AROUND: around} if around else {}
        if self.settings.use_cache and not around and not follows and not place:
            earlier = await asyncio.to_thread(self._from_store, partial(self._programs.get, question))
            stored |= {EARLIER: earlier} if earlier else {}
        # in a thread, so that other questions of this process continue
        if not self._store_problem and (removed := await asyncio.to_thread(prune_daily, self.settings)):
            self._tell(Note(removed))
        run = await asyncio.to_thread(
            create_run,
            self.settings.runs_dir,
            question,
            model=self.settings.model,
            files=files,
            configuration=stored,
            note=self._own_runs.note,
        )
        journal = Journal.create(
            journal_path(self.settings.runs_dir, run.run_id), self._redactor, signer=self._own_runs.signer
        )
        answer = await self._run(run, journal, self.settings, conversation=conversation, transcript=transcript)
        running = None if rules or place else self.running  # answers of a benchmark are not cached
        is_lasting = answer.status == "answered" and not any(map(self._external.offers, answer.tools_used))
        if running and is_lasting and (program := running.program) and not running.after:
            keep = partial(self._programs.put, question, self._redactor.text(program))
            await asyncio.to_thread(self._from_store, keep)
        if running and is_lasting and running.may_be_repeated:
            behind = {*answer.tools_used, *answer.tools_created, *running.shown_tools}
            states = self._opened.states(self.settings, behind)
            after = {AFTER: running.after} if running.after else {}
            key = (answer.restated or question, inputs, configuration | after)
            await asyncio.to_thread(self._from_store, partial(self._answers.put, *key, answer, states))
        return answer

    async def _before(
        self, conversation: Conversation | None, place: dict[str, str]
    ) -> tuple[dict[str, str], Transcript]:
        """Return the configuration that a run needs from earlier turns."""
        if conversation is None or not conversation.turns:
            return {}, Transcript()
        transcript = await asyncio.to_thread(transcript_of, self._own_runs, conversation.turns)
        if transcript.home and place != self._folder_before(conversation):
            await self._opened.end_python(transcript.home)  # the process has the access rights of the previous turn
        home = {HOME: transcript.home} if transcript.home else {}
        return {FOLLOWS: conversation.turns[-1].run_id, **home}, transcript

    def _folder_for(self, folder: FolderGrant | None, conversation: Conversation | None) -> dict[str, str]:
        """Return the user's folder and the path of its copy, for a run's configuration.

        Raises:
            UsageError: The folder cannot be granted, or is too large to be copied.
        """
        before = self._folder_before(conversation)
        if folder is None or (folder.path is None and not before):
            return before
        if folder.path is None:
            return {FOLDER: "", COPY: ""}
        from agent.material.folder import checked_folder, measure

        own = self.settings
        require_large(own, "work with a folder")
        root = checked_folder(folder.path, (own.data_dir, own.cache_dir, own.runs_dir, own.config_dir))
        if before.get(FOLDER) == str(root) and bool(before[COPY]) == folder.writes:
            return before
        if folder.writes:
            measure(root)
        return {FOLDER: str(root), COPY: NEW_COPY if folder.writes else ""}

    def folder_of(self, conversation: Conversation) -> FolderGrant | None:
        """Return the folder that the programs of a conversation may use."""
        found = self._folder_before(conversation)
        return FolderGrant(Path(found[FOLDER]), bool(found[COPY])) if found.get(FOLDER) else None

    def _folder_before(self, conversation: Conversation | None) -> dict[str, str]:
        """Return the folder grant of a conversation's last turn."""
        for turn in reversed(conversation.turns if conversation is not None else []):
            if turn.run_id:
                with contextlib.suppress(RunError):
                    return self._folder_in(load_run(self.settings.runs_dir, turn.run_id))
                return {}
        return {}

    def _folder_in(self, run: Run) -> dict[str, str]:
        """Return a run's folder grant, for a run that continues it."""
        found = {name: run.configuration[name] for name in (FOLDER, COPY) if name in run.configuration}
        if found and not self._own_runs.has(run):
            return {}
        return found | ({COPY: run.run_id} if found.get(COPY) == NEW_COPY else {})

    def _known(
        self, settings: Settings, form: dict[str, str], question: str, files: Sequence[InputFile]
    ) -> Answer | None:
        """Return the cached answer to a question with the same files, settings and form."""
        if not settings.use_cache:
            return None
        states = partial(self._opened.states, settings)
        configuration = self._configuration(settings, form)
        found = self._from_store(lambda: self._answers.get(question, files, configuration, states))
        if found is not None:
            self._from_store(lambda: note_hit(settings))
        return found

    def _configuration(self, settings: Settings, form: dict[str, str]) -> dict[str, Any]:
        """Return everything that an answer depends on: settings, form, the tools folder and the servers."""
        place = {"tools_dir": str(settings.tools_dir.resolve())}
        return configuration_of(settings) | place | form | self._external.configuration

    async def resume(self, run_id: str | None = None, *, on_event: Listener | None = None) -> Answer:
        """Continue an interrupted run. Recorded calls are neither made nor paid for again.

        Args:
            run_id: The run's id, or its beginning or end; by default, the newest unfinished run.
            on_event: Told what happens, step by step.

        Raises:
            RunError: There is no such run, it is already answered, or it comes from elsewhere and the user does not
                trust it.
        """
        self._listener = on_event or _silent
        runs = self.settings.runs_dir
        run = load_run(runs, find_unfinished(runs, run_id, own=self._own_runs.has))
        self._own_runs.require(run)
        _require_unchanged(run)
        failed = run.status in {"failed", "declined"}
        path, signer = journal_path(runs, run.run_id), self._own_runs.signer
        journal = Journal.resume(path, self._redactor, failed=failed, signer=signer)
        settings = settings_as_in(run, self.settings, goes_on=True)
        return await self._run(run, journal, settings, resumed=True)

    async def replay(
        self,
        run_id: str,
        *,
        until: int | None = None,
        on_event: Listener | None = None,
    ) -> Answer:
        """Repeat a run from its journal without making calls. With `until`, continue with live calls after that step.

        Args:
            run_id: The run's id, or its beginning or end.
            until: The last step to take from the journal.
            on_event: Told what happens, step by step.

        Raises:
            RunError: There is no such run, or the replay makes a call that is not in the journal.
        """
        self._listener = on_event or _silent
        runs = self.settings.runs_dir
        run = load_run(runs, find_run(runs, run_id))
        source = journal_path(runs, run.run_id)
        settings = settings_as_in(run, self.settings)
        if until is None:
            return await self._run(run, Journal.replay(source), settings, live=False)
        self._own_runs.require(run)
        _require_unchanged(run)
        fork = create_run(
            runs,
            run.question,
            model=run.model,
            files=[Path(file.path) for file in run.files],
            configuration=run.configuration | self._folder_in(run),
            parent=run.run_id,
            note=self._own_runs.note,
        )
        target, signer = journal_path(runs, fork.run_id), self._own_runs.signer
        journal = Journal.fork(source, target, until=until, redactor=self._redactor, signer=signer)
        return await self._run(fork, journal, settings)

    async def _run(
        self,
        run: Run,
        journal: Journal,
        settings: Settings,
        *,
        live: bool = True,
        resumed: bool = False,
        conversation: Conversation | None = None,
        transcript: Transcript | None = None,
    ) -> Answer:
        self._is_logged = live
        self._telemetry = self._telemetry or self._new_telemetry()
        if live or run.answer is None:
            budget = Budget(RunLimits(settings.max_steps, settings.max_tokens, settings.max_seconds, settings.max_cost))
        else:  # a replay ends at the same point as the run
            done = run.answer.steps if run.answer.actions is None else run.answer.actions
            ended = (run.answer.limit, done) if run.answer.limit else None
            budget = Budget(RunLimits(steps=settings.max_steps), ended=ended)
        if resumed:
            before = run.answer or Answer("", "interrupted")
            budget.go_on(max(before.seconds, journal.seconds), before.waited)
        form = {name: run.configuration[name] for name in (SCHEMA, RULES) if name in run.configuration}
        self.running = running = ActiveRun(
            run=run,
            journal=journal,
            budget=budget,
            settings=settings,
            resources=self._opened,
            redactor=self._redactor,
            tell=self._tell,
            known=lambda question, files, after: self._known(
                settings, form | ({AFTER: after} if after else {}), question, files
            ),
            streams=self._streams,
            live=live,
            resumed=resumed,
            conversation=conversation,
            transcript=transcript or Transcript(),
            keeps_python=conversation is not None,
        )
        is_indexed = live and RULES not in run.configuration  # runs of a benchmark are not indexed
        if is_indexed:
            self._notes.add(run.run_id)
        try:
            try:
                answer = await running.finish()
            finally:
                if is_indexed:
                    await asyncio.to_thread(self._from_store, partial(index_run, self.settings))
            return self._finish(answer)
        except BaseException as error:
            self._tell_store_problem()
            if live:
                self._tell_once(self._log.fail(type(error).__name__, self._redactor.text(str(error))))
            if live and self._telemetry is not None:
                self._telemetry.fail(type(error).__name__)
            raise
        finally:
            self._is_logged = True
            self._opened.stopping.clear()

    def _from_store(self, work: Callable[[], T]) -> T | None:
        """Return the result of work with the store; None if the store cannot be used.

        The question is then answered without the store, which is not tried again.
        """
        if not self._store_problem:
            try:
                if self._let_go is None and self.settings.database_url is None and has_store(self.settings):
                    self._let_go = hold_store(self.settings)
                return work()
            except (StorageError, SettingsError) as problem:
                self._store_problem = problem.message
        return None

    def _tell_store_problem(self) -> None:
        if self._store_problem:
            self._listener(Note(f"the store is not available and will index this run later: {self._store_problem}"))
        self._store_problem = ""

    @contextlib.contextmanager
    def asking_anew(self) -> Iterator[None]:
        """Ignore cached answers inside the block. New answers are still cached."""
        own = self.settings
        self.settings = own.model_copy(update={"use_cache": False})
        try:
            yield
        finally:
            self.settings = own

    def _finish(self, answer: Answer) -> Answer:
        answer = self._redactor.values(replace(answer, warnings=tuple(dict.fromkeys(self._warnings))))
        self._warnings.clear()
        self._tell_store_problem()
        self._tell(RunFinished(answer))
        return answer

    def _tell(self, event: Event) -> None:
        """Pass an event on with keys masked. Streamed text that may be the start of a key is held back."""
        text = self._written.add(event.text) if isinstance(event, AnswerWritten) else self._written.end()
        if text:
            self._listener(AnswerWritten(text))
        if isinstance(event, Warned):
            self._warnings.append(event.text)
        if not isinstance(event, AnswerWritten):
            clean = self._redactor.values(event)
            self._listener(clean)
            if self._is_logged:
                self._tell_once(self._log.write(clean))
                if self._telemetry is not None:
                    self._telemetry.add(clean)

    def _new_telemetry(self) -> Telemetry | None:
        """Return the sender of traces if the environment names a collector. Otherwise, import nothing."""
        if not any(name.startswith("OTEL_EXPORTER_OTLP") for name in os.environ):
            return None
        from agent import telemetry

        try:
            return telemetry.Telemetry() if telemetry.is_wanted() else None
        except SettingsError as error:
            self._tell(Warned(f"No traces are sent: {error.message} {error.remedy}"))
            return None

    def _tell_once(self, problem: str) -> None:
        if problem:
            self._listener(Note(problem))


def _require_unchanged(run: Run) -> None:
    """Check that a resumed run has the same files.

    Raises:
        RunError: A file was changed or is missing.
    """
    for file in run.files:
        if describe_file(Path(file.path)) != file:
            raise RunError(
                f"The file {file.path} has changed since the run {run.run_id} read it.",
                remedy="Restore the file, or ask the question again.",
            )


def _silent(_: Event) -> None:
    pass
