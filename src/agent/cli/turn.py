"""Shows a run on the terminal, and stops it on Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent import events as e
from agent.answer import Answer, status_of
from agent.cli.confirmations import ask_user
from agent.cli.interactive.keyboard import Keyboard
from agent.errors import AlitaError
from agent.models.protocol import Usage
from mcp_tools.text import duration, one_line

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.cli.interactive.pastes import Pastes
    from agent.cli.screen import Screen
    from agent.consent.consent import Asked
    from agent.consent.questions import UserReply
    from agent.events import Listener


class Activity:
    """The current activity, elapsed time and cost of a run."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._step, self._route, self._doing = "", "", "thinking"
        self._usage = Usage()

    def see(self, event: e.Event) -> None:
        """Update the activity from an event."""
        match event:
            case e.StepStarted():
                self._step = f"step {event.step}/{event.of}"
                self._route = self._doing = event.action
            case e.ModelStarting():
                self._doing = event.progress
            case e.ModelCalled():
                self._usage = self._usage + event.usage
                self._doing = self._route or "thinking"
            case e.Note():  # the last note was about the action that has now finished
                self._doing = self._route or "thinking"
            case e.ToolCalled() if event.name == "program" or self._route != "run_code":
                self._route, self._doing = "", "thinking"
            case e.FileRead() | e.PageRead() if self._route == "read_file":
                self._route, self._doing = "", "thinking"
            case e.SpecWritten():
                self._doing = f"writing {event.signature.partition('(')[0]}"
            case e.CodeChecked() | e.TrialFinished():
                self._doing = f"{self._route or 'create_tool'}, proving the tool"
            case _:
                pass

    def text(self, width: int) -> str:
        """Describe the activity in at most `width` characters."""
        tokens = self._usage.input_tokens + self._usage.output_tokens
        others = (
            duration(time.monotonic() - self._started),
            f"{tokens / 1000:.1f}k tokens" if tokens else "",
            self._usage.cost_text if self._usage.calls else "",
            "Ctrl-C stops",
        )
        room = width - sum(len(part) + 3 for part in (self._step, *others) if part)
        parts = (self._step, one_line(self._doing, max(room, 12)), *others)
        return one_line(" · ".join(filter(None, parts)), width)


StartRun = Callable[["Listener"], Coroutine[Any, Any, Answer]]


class RunDisplay:
    """Shows a run in progress, and lets the user stop it.

    Args:
        alita: The Alita that answers the question.
        screen: The screen on which the run is shown.
        verbose: True to show model calls too.
        hears: Called with each event.
        shows: Called with the answer as soon as it is final, even if the run goes on.
        pastes: The session's pastes. If given, the user can type during the run: Enter sends a message, Esc stops the
            run.
    """

    def __init__(
        self,
        alita: Alita,
        screen: Screen,
        *,
        verbose: bool = False,
        hears: Listener = lambda _: None,
        shows: Callable[[str], None] | None = None,
        pastes: Pastes | None = None,
    ) -> None:
        self._alita = alita
        self._screen = screen
        self._verbose = verbose
        self._hears = hears
        self._shows = shows
        self.has_shown = False
        """True once `shows` has been called."""
        self._activity = Activity()
        self._written = ""
        self._task: asyncio.Task[Answer] | None = None
        self._pastes = pastes
        self._keyboard = Keyboard(self.interrupt, self._send, self._fold) if pastes and screen.animated else None
        self._keys = contextlib.ExitStack()
        self.unsent: list[str] = []
        """Messages that the user sent but that no model has seen."""
        self.run_id = ""
        self.result = ""
        """The result of a new tool that is not registered yet."""
        self.failure: AlitaError | None = None
        self.is_cancelled = False
        self.is_abandoned = False

    @property
    def typed(self) -> str:
        """The message that is being typed and has not been sent yet."""
        return self._keyboard.typed if self._keyboard is not None else ""

    async def take(self, ask: StartRun) -> Answer:
        """Run until there is an answer. A stopped run has the status `interrupted`. If it fails, `failure` is set."""
        self._task = asyncio.create_task(ask(self._listen))
        silent = self._keyboard.silent() if self._keyboard is not None else contextlib.nullcontext()
        try:
            with silent, on_interrupt(self.interrupt):
                self._begin()
                try:
                    return await self._task
                finally:
                    self._end()
        except asyncio.CancelledError:
            stopped = Answer("", "interrupted", run_id=self.run_id, error="Stopped by Ctrl-C.")
            reached = self.answer_so_far() or stopped
            return replace(reached, text=reached.text or self._written)
        except AlitaError as error:
            self.failure = error
            failed = Answer("", status_of(error), run_id=self.run_id, error=error.message)
            return self.answer_so_far() or failed
        finally:
            running = self._alita.running if self.run_id else None
            if running is not None and running.run.run_id == self.run_id:
                unheard = [message for message in running.unheard if message not in running.reasons]
                self.unsent = [*unheard, *self.unsent]

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the display while a question is asked."""
        self._end()
        try:
            yield
        finally:
            if not self.is_cancelled:
                self._begin()
            listen()

    def _begin(self) -> None:
        if self._keyboard is not None:
            self._keys.enter_context(self._keyboard.reading())
        self._screen.begin_work(self._describe, lambda: self.typed)

    def _end(self) -> None:
        self._screen.end_work()
        self._keys.close()

    async def confirm(self, asked: Asked, *, always: bool = False) -> UserReply:
        """Ask the user. If `always` is true, the user can also accept all later tools."""
        with self.paused():
            return await ask_user(asked, self._screen, always=always)

    def interrupt(self) -> None:
        """Stop the run. On a second call, stop without waiting for the run to close."""
        self.is_abandoned = self.is_cancelled
        if self._task is not None and not self.is_cancelled:
            self.is_cancelled = True
            self._task.cancel()

    def _send(self, message: str) -> None:
        """Send a message to the run, or keep it for the next question."""
        self._screen.sent(message)
        if self._pastes is None or not self._pastes.has_file(message):
            self._pass_on(self._pastes.expand(message) if self._pastes else message)
        else:
            self.unsent.append(self._pastes.expand(message))

    def _fold(self, paste: str) -> str:
        assert self._pastes is not None
        try:
            return self._pastes.fold(paste)
        except AlitaError as error:
            self._screen.error(error)
            return ""

    def _pass_on(self, message: str) -> None:
        if not self.run_id or not self._alita.say(message):
            self.unsent.append(message)

    def answer_so_far(self) -> Answer | None:
        """Return the answer so far with its cost, or None if the run has not started."""
        newest = self._alita.newest
        return newest if newest is not None and newest.run_id == self.run_id != "" else None

    def _describe(self, width: int) -> str:
        return self._activity.text(width)

    def _listen(self, event: e.Event) -> None:
        if isinstance(event, e.RunStarted):
            self.run_id = event.run_id
            early, self.unsent = self.unsent, []
            for message in early:
                self._pass_on(message)
        elif isinstance(event, e.TrialFinished):
            self.result = event.preview
        elif isinstance(event, e.StepStarted):
            self.result = ""
        self._activity.see(event)
        self._hears(event)
        if isinstance(event, e.AnswerWritten):
            self._written += event.text
            self._screen.streamed(self._written)
            return
        self._written = ""
        if isinstance(event, e.AnswerFound) and self._shows is not None:
            self.has_shown = True
            with self.paused():
                self._shows(event.text)
        self._screen.event(event, verbose=self._verbose)


_acts: list[Callable[[], object]] = []


@contextlib.contextmanager
def on_interrupt(act: Callable[[], object]) -> Iterator[None]:
    """Make Ctrl-C call `act` in the `with` block."""
    _acts.append(act)
    listen()
    try:
        yield
    finally:
        _acts.pop()
        listen()


def listen() -> None:
    """Reinstall our Ctrl-C handler after a prompt replaced it."""
    loop = asyncio.get_running_loop()
    if _acts:
        loop.add_signal_handler(signal.SIGINT, _acts[-1])
    else:
        loop.remove_signal_handler(signal.SIGINT)
