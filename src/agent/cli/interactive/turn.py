"""One question on the terminal, from its first event to its answer, with the two stages of Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import termios
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from agent.answer import Answer, status_of
from agent.cli.interactive.activity import Activity
from agent.cli.interactive.interrupts import listen, on_interrupt
from agent.errors import AlitaError
from agent.events import AnswerWritten, Event, RunStarted

if TYPE_CHECKING:
    from agent.alita import Alita, Listener
    from agent.cli.interactive.screen import Screen

TICK = 0.1
"""Seconds between two frames of the live line."""
Ask = Callable[["Listener"], Awaitable[Answer]]


class Turn:
    """Shows a run while it works, and ends it when asked to.

    Args:
        alita: Who answers.
        screen: Where it is shown.
        verbose: Whether model calls are shown too.
    """

    def __init__(self, alita: Alita, screen: Screen, *, verbose: bool = False) -> None:
        self.events: list[Event] = []
        self._alita = alita
        self._screen = screen
        self._verbose = verbose
        self._activity = Activity()
        self._written = ""
        self._run_id = ""
        self._task: asyncio.Task[Answer] | None = None
        self._draining = False
        self._paused = False
        self.told = False
        """Whether what went wrong is shown already."""

    async def take(self, ask: Ask) -> Answer:
        """Gives the answer; one that was stopped or went wrong says so in its status, and is already told."""
        self._task = asyncio.ensure_future(_awaited(ask(self._listen)))
        ticking = asyncio.create_task(self._tick()) if self._screen.animated else None
        try:
            with on_interrupt(self.interrupt):
                return await self._task
        except asyncio.CancelledError:
            return self._stopped()
        except AlitaError as error:
            self._screen.working("")
            self._screen.error(error)
            self.told = True
            return self.came_to() or Answer("", status_of(error), run_id=self._run_id, error=error.message)
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
        if self._draining and self._task is not None:
            self._task.cancel()
            return
        self._draining = True
        self._screen.note("Finishing this step, then saving. Ctrl-C again stops at once.")
        self._alita.drain()

    def _listen(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, RunStarted):
            self._run_id = event.run_id
        self._activity.see(event)
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
                self._screen.working(f"finishing · {text}" if self._draining else text)
            await asyncio.sleep(TICK)

    def _stopped(self) -> Answer:
        return self.came_to() or Answer("", "interrupted", run_id=self._run_id, error="Stopped by Ctrl-C.")

    def came_to(self) -> Answer | None:
        """What the run came to, with what it cost, if it began."""
        newest = self._alita.newest
        return newest if newest is not None and newest.run_id == self._run_id != "" else None


async def _awaited(answer: Awaitable[Answer]) -> Answer:
    return await answer


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
