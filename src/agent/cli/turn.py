"""One run on the terminal, from its first event to its answer, with the two stages of Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import termios
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from agent import events as e
from agent.answer import Answer, status_of
from agent.cli.confirmations import Word, ask_user
from agent.errors import AlitaError
from agent.models.protocol import Usage
from mcp_tools.text import duration, one_line

if TYPE_CHECKING:
    from agent.alita import Alita, Listener
    from agent.cli.screen import Screen
    from agent.consent.consent import CallProposal, ToolToApprove


class Activity:
    """What a turn is doing, since when, and what it has used."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._step, self._route, self._doing = "", "", "thinking"
        self._usage = Usage()

    def see(self, event: e.Event) -> None:
        """Takes an event into account."""
        match event:
            case e.StepStarted():
                self._step = f"step {event.step}/{event.of}"
                self._route = self._doing = event.action
            case e.ModelStarting():
                self._doing = event.progress
            case e.ModelCalled():
                self._usage = self._usage + event.usage
                self._doing = self._route or "thinking"
            case e.Note():  # what it tells comes after what was done
                self._doing = self._route or "thinking"
            case e.SpecWritten():
                self._doing = f"writing {event.signature.partition('(')[0]}"
            case e.CodeChecked() | e.TrialFinished():
                self._doing = f"{self._route or 'create_tool'}, proving the tool"
            case _:
                pass

    def text(self, width: int) -> str:
        """One line of at most `width` characters."""
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
    """Shows a run while it works, and ends it when asked to; `hears` gets each event, too."""

    def __init__(
        self, alita: Alita, screen: Screen, *, verbose: bool = False, hears: Listener = lambda _: None
    ) -> None:
        self._alita = alita
        self._screen = screen
        self._verbose = verbose
        self._hears = hears
        self._activity = Activity()
        self._written = ""
        self._task: asyncio.Task[Answer] | None = None
        self.run_id = ""
        self.failure: AlitaError | None = None
        self.is_draining = False
        self.is_cancelled = False

    async def take(self, ask: StartRun) -> Answer:
        """Gives the answer; one that was stopped says so in its status. What made a run fail is in `failure`."""
        self._task = asyncio.create_task(ask(self._listen))
        self._screen.begin_work(self._describe)
        try:
            with on_interrupt(self.interrupt):
                return await self._task
        except asyncio.CancelledError:
            stopped = Answer("", "interrupted", run_id=self.run_id, error="Stopped by Ctrl-C.")
            return self.answer_so_far() or stopped
        except AlitaError as error:
            self.failure = error
            failed = Answer("", status_of(error), run_id=self.run_id, error=error.message)
            return self.answer_so_far() or failed
        finally:
            self._screen.end_work()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Meanwhile, the keyboard and the last line belong to a question that is asked."""
        self._screen.end_work()
        try:
            yield
        finally:
            self._screen.begin_work(self._describe)
            listen()

    async def confirm(self, asked: ToolToApprove | CallProposal, *, always: bool = False) -> Word:
        """Asks the user; `always` may be said of new tools."""
        with self.paused():
            return await ask_user(asked, self._screen, always=always)

    def interrupt(self) -> None:
        """Ctrl-C: the first lets the step finish, the second stops at once."""
        if self.is_draining and self._task is not None:
            self.is_cancelled = True
            self._task.cancel()
            return
        self.is_draining = True
        self._screen.note("Finishing this step, then saving. Ctrl-C again stops at once.")
        self._alita.drain()

    def answer_so_far(self) -> Answer | None:
        """What the run has answered, with what it cost, if it began."""
        newest = self._alita.newest
        return newest if newest is not None and newest.run_id == self.run_id != "" else None

    def _describe(self, width: int) -> str:
        text = self._activity.text(width)
        return one_line(f"finishing · {text}", width) if self.is_draining else text

    def _listen(self, event: e.Event) -> None:
        if isinstance(event, e.RunStarted):
            self.run_id = event.run_id
        self._activity.see(event)
        self._hears(event)
        if isinstance(event, e.AnswerWritten):
            self._written += event.text
            self._screen.streamed(self._written)
            return
        self._written = ""
        self._screen.event(event, verbose=self._verbose)


@contextlib.contextmanager
def unechoed() -> Iterator[None]:
    """Meanwhile, what is typed waits unseen for the next prompt; Ctrl-C stays a signal."""
    try:
        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
    except (termios.error, OSError, ValueError):
        yield
        return
    silent = termios.tcgetattr(keyboard)
    silent[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(keyboard, termios.TCSANOW, silent)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSANOW, before)


_acts: list[Callable[[], object]] = []


@contextlib.contextmanager
def on_interrupt(act: Callable[[], object]) -> Iterator[None]:
    """Meanwhile, Ctrl-C does this and nothing else."""
    _acts.append(act)
    listen()
    try:
        yield
    finally:
        _acts.pop()
        listen()


def listen() -> None:
    """Takes Ctrl-C back from a prompt, which had it to itself."""
    loop = asyncio.get_running_loop()
    if _acts:
        loop.add_signal_handler(signal.SIGINT, _acts[-1])
    else:
        loop.remove_signal_handler(signal.SIGINT)
