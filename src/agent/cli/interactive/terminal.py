"""An interactive session, which reads entries, acts on them, and shows the results."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from agent.alita import Alita
from agent.answer import Answer
from agent.cli.answers import explanation, file_lines, source_lines
from agent.cli.interactive.completion import mentioned
from agent.cli.interactive.pastes import Pastes
from agent.cli.interactive.prompt import Interrupted, Reader
from agent.cli.screen import Screen
from agent.cli.turn import RunDisplay, listen, on_interrupt
from agent.configuration.settings_sources import KEYS, read_settings, variables
from agent.consent.consent import Asked
from agent.consent.questions import ApprovalMode, ToolToApprove, UserReply
from agent.conversation import Turn
from agent.errors import AlitaError, UsageError
from agent.events import Event, Listener, RunStarted
from agent.question import FolderGrant, Purpose, files_named
from agent.store.redact import Redactor
from agent.store.sessions import (
    StoredSession,
    files_of,
    new_session,
    save_session,
)
from mcp_tools import child
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.material.folder_changes import Changes

_MOST_PICTURES = 8
"""Maximum number of an answer's files shown as pictures."""
_BARE = {"exit": "/exit", "quit": "/exit", "/quit": "/exit", "help": "/help"}
"""Entries without a slash that are treated as commands, because they are never meant as questions."""


OUTPUT_BYTES = 100_000
"""Maximum number of bytes of a command's output that are attached."""
END_SECONDS = 15.0
"""Seconds that an `alita` command is given to exit after Ctrl-C."""
LEAVE_SECONDS = 2.0
"""After a run was stopped, a single Ctrl-C at the prompt leaves the session only within this many seconds."""


class SlashCommand(Protocol):
    """The part of a slash command that the terminal needs."""

    @property
    def run(self) -> Callable[[Terminal, str], Awaitable[None]]:
        """The function that runs the command."""


FindCommand = Callable[[str], tuple[SlashCommand, str] | None]
"""A function that returns an entry's command and argument, or None if the entry is not a command."""


class Terminal:
    """An interactive session, on which slash commands act."""

    def __init__(
        self,
        flags: Mapping[str, Any],
        screen: Screen,
        reader: Callable[[Terminal], Reader],
        command_of: FindCommand,
        *,
        settings: Settings,
        session: StoredSession | None = None,
    ) -> None:
        self.flags = {**flags, "approval": "ask"}  # the session decides, when a run asks
        self.settings = read_settings(self.flags).model_copy(update={"model": settings.model})
        self.screen = screen
        self.session = session or new_session(settings.model)
        source = settings.source_of("approval")
        self.mode: ApprovalMode = "ask" if source == "default" else settings.approval
        self.verbose = False
        self.attached: list[Path] = []
        self.folder: FolderGrant | None = None
        """The folder that programs may access; None for the folder of the last turn."""
        self.leaving = False
        self.undone: Turn | None = None
        """The turn removed by /undo, until another turn is added."""
        self.refused: list[str] = []
        self.waiting: list[str] = []
        """Messages that were sent during a run but not seen by a model. They become the next entries."""
        self.begun = ""
        """Text typed during a run, with which the next entry starts."""
        self._stopped_at = -LEAVE_SECONDS
        self._unapplied: Changes | None = None
        """Changes in the copy of the user's folder that were shown but not applied."""
        self.redactor = Redactor(settings.secrets)
        self.pastes = Pastes(lambda: files_of(self.settings.sessions_dir, self.session.id), self.redactor)
        self._alita: Alita | None = None
        self._turn: RunDisplay | None = None
        self._saved = session is not None
        self._is_lost = False
        """True once the user has been told that the session cannot be saved."""
        self._command_of = command_of
        self.reader = reader(self)

    @property
    def alita(self) -> Alita:
        """The open Alita, which is available while the session runs."""
        assert self._alita is not None
        return self._alita

    async def run(self) -> None:
        """Read entries and act on them until the user leaves."""
        self._alita = Alita.open(self.settings, streams=True, confirm=self._confirm)
        with on_interrupt(lambda: None):
            try:
                while not self.leaving and (text := await self._read()) is not None:
                    await self._execute(text)
            finally:
                await self.alita.aclose()
        self._discard_unsaved()
        if self.session.turns and self._saved:
            self.screen.note(f"The session is saved. Continue with: alita --resume {self.session.id}")

    async def ask(
        self,
        question: str,
        files: Sequence[Path] = (),
        *,
        fresh: bool = False,
        purpose: Purpose = Purpose.ANSWER,
        around: str = "",
    ) -> Answer:
        """Ask a question, show the run and its answer, and add the turn to the session. `fresh` skips the cache."""
        conversation = self.session.conversation

        def work(listen: Listener) -> Coroutine[Any, Any, Answer]:
            asked: dict[str, Any] = {"files": files, "conversation": conversation, "purpose": purpose, "around": around}
            return self.alita.ask(question, on_event=listen, folder=self.folder, **asked)

        with self.alita.asking_anew() if fresh else contextlib.nullcontext():
            return await self._take_turn(question, work)

    async def go_on(self, run_id: str, question: str) -> Answer:
        """Continue a stopped run. Completed calls are not paid for again."""
        return await self._take_turn(question, lambda listen: self.alita.resume(run_id, on_event=listen))

    async def _take_turn(self, question: str, work: Callable[[Listener], Coroutine[Any, Any, Answer]]) -> Answer:
        def hear(event: Event) -> None:
            if isinstance(event, RunStarted):
                self._save_begun(Turn.of(self.redactor.text(question), Answer("", "interrupted", run_id=event.run_id)))

        turn = self._turn = RunDisplay(
            self.alita, self.screen, verbose=self.verbose, hears=hear, shows=self.screen.answer, pastes=self.pastes
        )
        answer: Answer | None = None
        try:
            answer = await turn.take(work)
            if turn.failure is not None:
                self.screen.error(turn.failure)
        finally:
            answer = answer or turn.answer_so_far() or Answer("", "failed")
            if (
                answer.run_id or answer.status == "answered"
            ):  # a question that was rejected before its run began does not become a turn
                self.session.conversation.add(Turn.of(self.redactor.text(question), answer))
                self.undone = None
                self.save()
        await self._show_end(answer, turn)
        return answer

    async def _show_end(self, answer: Answer, turn: RunDisplay) -> None:
        """Show the answer, files and changes of a finished turn."""
        if answer.text and answer.status in {"answered", "limit"}:
            if not turn.has_shown:
                self.screen.answer(answer.text)
            if lines := [*source_lines(answer), *file_lines(answer)]:
                self.screen.note("\n".join(lines))
            for file in answer.outputs[:_MOST_PICTURES]:
                self.screen.picture(Path(file.path))
        self.waiting += turn.unsent
        self.begun = turn.typed
        if answer.status == "interrupted":
            self._stopped_at = time.monotonic()
            if turn.result and not answer.text and not turn.has_shown:
                self.screen.note("The tool was not kept. Its result:")
                self.screen.answer(turn.result)
            self.screen.note("Stopped. /continue resumes it, /retry asks again, or type what to do instead.")
        elif answer.status != "answered" and turn.failure is None:
            self.screen.note(explanation(answer))
        if answer.changes:
            from agent.cli.verbs.changes import offer_changes

            self._unapplied = await offer_changes(self.flags, answer, asks=True, known=self._unapplied)

    async def switch(self, settings: Settings) -> None:
        """Reopen Alita with other settings."""
        alita = Alita.open(settings, streams=True, confirm=self._confirm)
        await self.alita.aclose()
        self._alita, self.settings = alita, settings

    def start(self, session: StoredSession) -> None:
        """Switch to another session. The current session has already been saved."""
        self._discard_unsaved()
        self.session, self.undone = session, None
        self.attached.clear()
        self.folder = None

    def _discard_unsaved(self) -> None:
        if not self.session.revision and not self.session.turns:
            self.pastes.discard()

    def save(self) -> None:
        """Save the session. If that fails, the error is shown once and the session continues."""
        try:
            saved = save_session(self.settings, self.session, self.redactor)
        except AlitaError as error:
            if not self._is_lost:
                self.screen.error(error)
            self._saved, self._is_lost = False, True
            return
        self._saved, self._is_lost = True, False
        if saved.id != self.session.id and self.session.revision:
            self.screen.note(f"Another alita process continued this session; this one is now {saved.id}.")
        self.session = saved

    def _save_begun(self, turn: Turn) -> None:
        """Save the new turn as interrupted, in case the process is killed."""
        conversation = self.session.conversation
        begun = replace(conversation, turns=[*conversation.turns, turn])
        with contextlib.suppress(AlitaError):  # the save at the end of the turn will report the problem
            saved = save_session(self.settings, replace(self.session, conversation=begun), self.redactor)
            if saved.id != self.session.id and self.session.revision:
                self.screen.note(f"Another alita process continued this session; this one is now {saved.id}.")
            self.session = replace(saved, conversation=conversation)

    async def _read(self) -> str | None:
        if self.waiting:
            text = self.waiting.pop(0)
            self.screen.sent(self.pastes.fold_again(text))
            return text
        armed = False
        while True:
            try:
                begun, self.begun = self.begun, ""
                return await self.reader.read(begun)
            except EOFError:
                return None
            except Interrupted:
                if armed or time.monotonic() - self._stopped_at < LEAVE_SECONDS:
                    return None
                armed = True
                self.screen.note("Press Ctrl-C again or Ctrl-D to leave.")
            finally:
                listen()

    async def _execute(self, text: str) -> None:
        task = asyncio.ensure_future(self._do(text))
        with on_interrupt(task.cancel):
            try:
                await task
            except asyncio.CancelledError:
                self.screen.note("Stopped.")
            except AlitaError as error:
                self.screen.error(error)

    async def _do(self, text: str) -> None:
        if found := self._command_of(_BARE.get(text.strip(), text)):
            command, argument = found
            await command.run(self, argument)
        elif text.startswith("!"):
            command_line = text.lstrip("!").strip()
            if not command_line:
                raise UsageError("! needs a command.", remedy="For example: !ls")
            await self._run_shell(command_line, is_attached=text.startswith("!!"))
        elif text.strip():
            await self._ask_as_typed(text)

    async def _run_shell(self, command: str, *, is_attached: bool) -> None:
        """Run a shell command on this terminal without API keys. If `is_attached` is true, attach its output."""
        keys = {variable for name in KEYS for variable in variables(name)}
        keys |= {model.key for model in self.settings.models.values()}
        environment = {name: value for name, value in os.environ.items() if name not in keys}
        shell = [os.environ.get("SHELL") or "/bin/sh", "-c", command]
        stdout, stderr = (subprocess.PIPE, subprocess.STDOUT) if is_attached else (None, None)
        process = _started(shell, environment, stdout, stderr)
        try:
            if process.stdout is not None:
                await self._attach_output(command, process.stdout)
            code = await asyncio.to_thread(process.wait)
        except asyncio.CancelledError:  # Ctrl-C also reached the command
            process.terminate()
            raise
        if code:
            self.screen.note(f"The command exited with status {code}.")

    async def run_alita(self, *words: str) -> None:
        """Run an `alita` command on this terminal with the session's settings.

        The command runs in a separate process, because it may ask questions, open an editor or exit. After Ctrl-C, it
        is given time to clean up.
        """
        given = {**self.flags, "approval": self.mode}
        chosen = {f"ALITA_{name.upper()}": str(value) for name, value in given.items() if value is not None}
        alita = [sys.executable, "-P", "-c", "from agent.cli.main import main; main()"]
        process = _started([*alita, *words], child.environment("*") | chosen)
        try:
            if await asyncio.to_thread(process.wait) < 0:
                self.screen.note(f"The command was killed by signal {-process.returncode}.")
        except asyncio.CancelledError:  # Ctrl-C also reached the command
            try:
                await asyncio.to_thread(process.wait, END_SECONDS)
            except (subprocess.TimeoutExpired, asyncio.CancelledError):
                process.kill()
                process.wait()
            raise

    async def _attach_output(self, command: str, output: IO[bytes]) -> None:
        """Show a command's output, and attach the beginning of it to the next question as a file."""
        kept, begun, decode = "", "", codecs.getincrementaldecoder("utf-8")("replace").decode
        with output:
            while data := await asyncio.to_thread(os.read, output.fileno(), 65_536):
                text = decode(data)
                kept += text[: OUTPUT_BYTES - len(kept)]
                lines, _, begun = (begun + text).rpartition("\n")
                if lines:
                    self.screen.quote(lines)
        if begun:
            self.screen.quote(begun)
        end = "\n[The rest of the output was not kept.]\n" if len(kept) == OUTPUT_BYTES else ""
        path = self.pastes.keep("output", f"$ {command}\n{kept}{end}")
        self.attached.append(path)
        self.screen.note(f"Attached to the next question: {path.name}")

    async def _ask_as_typed(self, text: str) -> None:
        question, named, missing = mentioned(text, Path.cwd())
        marked = files_named(text)
        named = (*named, *(path for path in marked if path.is_file()))
        if lacking := [*missing, *(str(path) for path in marked if not path.is_file())]:
            names = ", ".join(map(one_line, lacking))
            self.screen.note(f"No such file: {names}. The message was not sent; Up brings it back.")
            return
        files = tuple(dict.fromkeys([*self.attached, *named]))
        if files:
            self.screen.note(f"Attached: {', '.join(one_line(path.name) for path in files)}")
        self.attached.clear()
        await self.ask(question, files)

    async def _confirm(self, asked: Asked) -> UserReply:
        assert self._turn is not None
        if not isinstance(asked, ToolToApprove):
            return await self._turn.confirm(asked)
        if self.mode != "ask":
            return UserReply(self.mode == "auto")
        reply = await self._turn.confirm(asked, always=True)
        if reply.scope == "always":
            self.mode = "auto"
            self.screen.note("From now on, every tool that passes its tests is kept. To be asked again: /approve ask")
        if not reply.allowed:
            self.refused.append(asked.name)
        return reply

    def status(self) -> str:
        """The status line below the prompt."""
        turns = count_of(len(self.session.turns), "turn") if self.session.turns else "new session"
        attached = f"{len(self.attached)} attached" if self.attached else ""
        parts = (turns, attached, "/help", "Shift-Tab: approval", self.settings.model)
        return " · ".join(filter(None, parts))

    def next_mode(self) -> None:
        """Switch to the next approval mode (Shift-Tab)."""
        following: dict[ApprovalMode, ApprovalMode] = {"ask": "auto", "auto": "never", "never": "ask"}
        self.mode = following[self.mode]


def _started(
    command: Sequence[str], environment: Mapping[str, str], stdout: int | None = None, stderr: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a command on this terminal, in the current folder.

    Raises:
        UsageError: The command cannot be started.
    """
    try:
        return child.popen(
            command, env=environment, cwd=Path.cwd(), stdin=None, stdout=stdout, stderr=stderr, on_terminal=True
        )
    except (OSError, ValueError) as error:  # missing folder, or an argument too long or invalid
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"The command could not be started: {why}.") from None
