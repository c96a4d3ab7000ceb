"""Runs a question to its answer on a terminal: events, interruption, the final output and the exit code."""

from __future__ import annotations

import asyncio
import math
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent.answer import Answer, status_of
from agent.cli import exits
from agent.cli.output import print_json, print_note, print_text, show_error
from agent.cli.render import Display, Silent, open_display
from agent.cli.sources import source_lines
from agent.cli.trusting import ask_about_project
from agent.errors import AlitaError
from agent.events import Event, RunFinished, RunStarted

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.approval import Approve

Ask = Callable[["Alita", Callable[[Event], None], "Approve | None"], Awaitable[Answer]]
"""What is done with an open Alita, the listener for its events, and who can be asked whether a tool is kept."""

_CLOSING = 10.0
"""Seconds that a run has for its end once it is over, stopped or out of time: for saving and closing."""


@dataclass(frozen=True, slots=True)
class Output:
    """How a run is shown."""

    json: bool = False
    stream: bool = False
    quiet: bool = False
    verbose: bool = False


def answer(flags: dict[str, Any], ask: Ask, output: Output) -> int:
    """Runs `ask` with an open Alita, prints what came of it, and gives the exit code.

    Args:
        flags: Settings from the command line.
        ask: What to do.
        output: How to show it.
    """
    ask_about_project(flags)
    session = _Session(output)
    try:
        with exits.Watch(session.seconds_left, session.last_words):
            result, code = exits.run(session.run(flags, ask)), None
    except AlitaError as error:
        session.display.close()
        show_error(error)
        result, code = session.failed(error), error.exit_code
    finally:
        session.display.close()
    _print(result, output, told=code is not None)
    return exits.exit_code(result.status) if code is None else code


class _Session:
    """One run, from its first event to its answer, with the two stages of Ctrl-C."""

    def __init__(self, output: Output) -> None:
        self.run_id = ""
        self.display: Display = Silent()
        self._alita: Alita | None = None
        self._output = output
        self._finished = False
        self._draining = False
        self._result: Answer | None = None
        self._ends = math.inf
        """When it must have ended, on the monotonic clock."""

    async def run(self, flags: dict[str, Any], ask: Ask) -> Answer:
        from agent.alita import Alita
        from agent.cli.keeping import asking, confirming
        from agent.settings_sources import read_settings

        settings = read_settings(flags)
        self.display = open_display(quiet=self._output.quiet, verbose=self._output.verbose, plain=settings.plain)
        try:
            confirm = confirming(self.display, doubts=settings.approval == "ask")
            async with await Alita.open(settings, streams=self._output.stream, confirm=confirm) as alita:
                self._alita = alita
                asyncio.get_running_loop().add_signal_handler(
                    signal.SIGINT, self._interrupt, alita, asyncio.current_task()
                )
                self._result = result = await ask(alita, self.listen, asking(self.display))
                self._ends_within(_CLOSING)
        except asyncio.CancelledError:
            return Answer("", "interrupted", run_id=self.run_id, error="Stopped by Ctrl-C.")
        if not self._finished:
            self.display.show(RunFinished(result))
        return result

    def seconds_left(self) -> float | None:
        """Until the process must have ended; None while nothing says that it must."""
        if self._ends < math.inf:
            return self._ends - time.monotonic()
        left = self._alita.seconds_left if self._alita is not None else None
        return None if left is None else left + _CLOSING

    def last_words(self) -> int:
        """Says what came of a run that does not end by itself."""
        self.display.close()
        result = self._result
        if result is None:
            partial = (self._alita.partial if self._alita is not None else None) or Answer("", "limit")
            said = "It did not end by itself."
            if self._draining:
                result = replace(partial, status="interrupted", error=said)
            else:
                result = replace(partial, status="limit", limit="seconds", error=said)
        _print(result, self._output, told=False)
        return exits.exit_code(result.status)

    def _ends_within(self, seconds: float) -> None:
        self._ends = min(self._ends, time.monotonic() + seconds)

    def failed(self, error: AlitaError) -> Answer:
        """What a run that raised came to, with what it cost; less is known of one that never began."""
        newest = self._alita.newest if self._alita else None
        return newest or Answer("", status_of(error), error=error.message, run_id=self.run_id)

    def listen(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self.run_id = event.run_id
        if isinstance(event, RunFinished):
            self._finished = True
        elif self._output.stream:
            print_json(event.as_json(), line=True)
        self.display.show(event)

    def _interrupt(self, alita: Alita, task: asyncio.Task[Any] | None) -> None:
        if self._draining and task is not None:
            self._ends_within(_CLOSING)
            task.cancel()
            return
        self._draining = True
        print_note("Finishing this step, then saving. Ctrl-C again stops at once.")
        alita.drain()


def _print(result: Answer, output: Output, *, told: bool) -> None:
    if output.stream:
        print_json(RunFinished(result).as_json(), line=True)
    elif output.json:
        print_json(result.as_json())
    elif result.status in {"answered", "limit"} and result.text:
        print_text(result.text)
        for line in [] if output.quiet else source_lines(result):
            print_note(line)
    if result.status == "interrupted" and result.run_id:
        print_note(f"Stopped. Go on with: alita resume {result.run_id}")
    elif not told and result.status != "answered":
        print_note(f"alita: {explanation(result)}")


def explanation(result: Answer) -> str:
    """Why there is no full answer."""
    reason = result.error or ("" if result.status == "limit" else result.text)
    if result.status == "limit":
        reason = reason or f"The limit of {result.limit or 'this run'} was reached."
        if result.run_id:
            flag = f" --max-{result.limit} …" if result.limit else ""
            reason += f"\n       Go on with a higher limit: alita resume {result.run_id}{flag}"
    return reason or "No answer was found."
