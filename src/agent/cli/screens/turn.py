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
from agent.answering.answer import Answer
from agent.cli.screens.lines import cost_text, time_text
from agent.events import AnswerWritten, Event, RunStarted
from agent.models.protocol import Usage
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.alita import Alita, Listener
    from agent.cli.screens.screen import Screen


class Activity:
    """What a turn is doing, since when, and what it has used.

    Args:
        clock: Seconds, for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._step = self._of = 0
        self._route = ""
        self._doing = "thinking"
        self.usage = Usage()

    @property
    def seconds(self) -> float:
        """Since the turn began."""
        return self._clock() - self._started

    def see(self, event: e.Event) -> None:
        """Takes an event into account."""
        match event:
            case e.StepStarted():
                self._step, self._of = event.step, event.of
                self._route = self._doing = event.action
            case e.ModelStarting():
                self._doing = event.progress
            case e.ModelCalled():
                self.usage = self.usage + event.usage
                self._doing = self._route or "thinking"
            case e.SpecWritten():
                self._doing = f"writing {event.signature.removeprefix('def ').partition('(')[0]}"
            case e.CandidateChecked() | e.TrialFinished():
                number = event.number if isinstance(event, e.CandidateChecked) else event.candidate
                self._doing = f"{self._route or 'create_tool'}, candidate {number}"
            case _:
                pass

    def text(self, width: int) -> str:
        """One line of at most `width` characters; what is being done is shortened first."""
        tokens = self.usage.input_tokens + self.usage.output_tokens
        rest = [time_text(self.seconds), f"{tokens / 1000:.1f}k tokens" if tokens else ""]
        if self.usage.calls:
            rest.append(cost_text(self.usage))
        step = f"step {self._step}/{self._of}" if self._of else ""
        room = max(width - len(" · ".join(part for part in (step, *rest, "") if part)) - 3, 8)
        text = " · ".join(part for part in (step, one_line(self._doing, room), *rest) if part)
        return one_line(f"{text} · Ctrl-C stops" if len(text) + 16 <= width else text, width)


TICK = 0.1
"""Seconds between two frames of the live line."""
Ask = Callable[["Listener"], Coroutine[Any, Any, Answer]]


class Turn:
    """Shows a run while it works, and ends it when asked to.

    Args:
        alita: Who answers.
        screen: Where it is shown.
        verbose: Whether model calls are shown too.
        hears: Gets each event, too.
    """

    def __init__(
        self, alita: Alita, screen: Screen, *, verbose: bool = False, hears: Listener = lambda _: None
    ) -> None:
        self.events: list[Event] = []
        self._alita = alita
        self._screen = screen
        self._verbose = verbose
        self._hears = hears
        self._activity = Activity()
        self._written = ""
        self._task: asyncio.Task[Answer] | None = None
        self.is_draining = False
        self._paused = False
        self.run_id = ""
        self.is_cancelled = False
        """Whether Ctrl-C was pressed twice."""

    async def take(self, ask: Ask) -> Answer:
        """Gives the answer; one that was stopped says so in its status.

        Raises:
            AlitaError: The run failed; `answer_so_far` is what is left of it.
        """
        self._task = asyncio.create_task(ask(self._listen))
        ticking = asyncio.create_task(self._tick()) if self._screen.animated else None
        try:
            with on_interrupt(self.interrupt):
                return await self._task
        except asyncio.CancelledError:
            return self._stopped()
        finally:
            if ticking is not None:
                ticking.cancel()
            self._screen.working("")

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Meanwhile, the keyboard and the last line belong to a question that is asked."""
        self._paused = True
        self._screen.working("")
        try:
            yield
        finally:
            self._paused = False
            listen()

    def interrupt(self) -> None:
        """Ctrl-C: the first lets the step finish, the second stops at once."""
        if self.is_draining and self._task is not None:
            self.is_cancelled = True
            self._task.cancel()
            return
        self.is_draining = True
        self._screen.note("Finishing this step, then saving. Ctrl-C again stops at once.")
        self._alita.drain()

    def _listen(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, RunStarted):
            self.run_id = event.run_id
        self._activity.see(event)
        self._hears(event)
        if isinstance(event, AnswerWritten):
            self._written += event.text
            self._screen.streamed(self._written)
            return
        self._written = ""
        self._screen.event(event, verbose=self._verbose)

    async def _tick(self) -> None:
        while True:
            if not self._paused:
                text = self._activity.text(max(self._screen.width - 3, 10))
                self._screen.working(f"finishing · {text}" if self.is_draining else text)
            await asyncio.sleep(TICK)

    def _stopped(self) -> Answer:
        return self.answer_so_far() or Answer("", "interrupted", run_id=self.run_id, error="Stopped by Ctrl-C.")

    def answer_so_far(self) -> Answer | None:
        """What the run has answered, with what it cost, if it began."""
        newest = self._alita.newest
        return newest if newest is not None and newest.run_id == self.run_id != "" else None


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
