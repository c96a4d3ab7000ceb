"""Runs a question to its answer on a terminal: events, interruption, the final output and the exit code."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.answering.answer import Answer, status_of
from agent.cli import exits
from agent.cli.asking.first_run import ask_before_fetching
from agent.cli.asking.trusting import ask_about_project, is_terminal
from agent.cli.output import print_json, print_note, print_text, show_error
from agent.cli.screens.screen import Screen, open_screen
from agent.cli.screens.turn import Turn
from agent.cli.sources import source_lines
from agent.errors import AlitaError, UsageError
from agent.events import Event, RunFinished

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.consent.approval import Approve

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
    file: Path | None = None
    """Where the answer goes instead of stdout."""


def answer(flags: dict[str, Any], ask: Ask, output: Output, *, fetches: bool = False) -> int:
    """Runs `ask` with an open Alita, prints what came of it, and gives the exit code.

    Args:
        flags: Settings from the command line.
        ask: What to do.
        output: How to show it.
        fetches: Whether the model of the settings will be asked, so that it may have to be fetched first.
    """
    _require_writable(output)
    ask_about_project(flags)
    if fetches and not (output.quiet and not is_terminal()) and not ask_before_fetching(flags):
        return exits.exit_code("declined")
    run = _Run(output)
    try:
        with exits.Watch(run.seconds_left, run.last_words):
            result, code = exits.run(run.finish(flags, ask)), None
    except AlitaError as error:
        show_error(error)
        result, code = run.failed(error), error.exit_code
    _print(result, output, told=code is not None)
    return exits.exit_code(result.status) if code is None else code


class _Run:
    """One run, from its first event to its answer, and the end of its process."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._alita: Alita | None = None
        self._screen: Screen | None = None
        self._turn: Turn | None = None
        self._result: Answer | None = None
        self._ends = math.inf
        """When it must have ended, on the monotonic clock."""

    async def finish(self, flags: dict[str, Any], ask: Ask) -> Answer:
        from agent.alita import Alita
        from agent.cli.asking.keeping import asking, confirming
        from agent.configuration.settings_sources import read_settings

        settings = read_settings(flags)
        self._screen = screen = open_screen(sys.stderr, spoken=settings.plain, quiet=self._output.quiet)
        confirm = confirming(self._paused, doubts=settings.approval == "ask")
        streams = self._output.stream or screen.animated
        async with await Alita.open(settings, streams=streams, confirm=confirm) as alita:
            self._alita = alita
            self._turn = turn = Turn(alita, screen, verbose=self._output.verbose, hears=self._hear)
            result = await turn.take(lambda listen: ask(alita, listen, asking(self._paused)))
            self._result = result
            self._ends_within(_CLOSING)
        return result

    def seconds_left(self) -> float | None:
        """Until the process must have ended; None while nothing says that it must."""
        if self._turn is not None and self._turn.is_cancelled:
            self._ends_within(_CLOSING)
        if self._ends < math.inf:
            return self._ends - time.monotonic()
        left = self._alita.seconds_left if self._alita is not None else None
        return None if left is None else left + _CLOSING

    def last_words(self) -> int:
        """Says what came of a run that does not end by itself."""
        if self._screen is not None:
            self._screen.working("")
        result = self._result
        if result is None:
            partial = (self._alita.partial if self._alita is not None else None) or Answer("", "limit")
            said = "It did not end by itself."
            if self._turn is not None and self._turn.is_draining:
                result = replace(partial, status="interrupted", error=said)
            else:
                result = replace(partial, status="limit", limit="seconds", error=said)
        _print(result, self._output, told=False)
        return exits.exit_code(result.status)

    def failed(self, error: AlitaError) -> Answer:
        """What a run that raised came to, with what it cost; less is known of one that never began."""
        newest = self._alita.newest if self._alita else None
        return newest or Answer(
            "", status_of(error), error=error.message, run_id=self._turn.run_id if self._turn else ""
        )

    def _ends_within(self, seconds: float) -> None:
        if self._ends == math.inf:
            self._ends = time.monotonic() + seconds

    def _paused(self) -> AbstractContextManager[None]:
        assert self._turn is not None
        return self._turn.paused()

    def _hear(self, event: Event) -> None:
        if self._output.stream and not isinstance(event, RunFinished):
            print_json(event.as_json(), line=True)


def _print(result: Answer, output: Output, *, told: bool) -> None:
    if output.stream:
        print_json(RunFinished(result).as_json(), line=True)
    elif output.json:
        _give(json.dumps(result.as_json(), indent=2), output)
    elif result.status in {"answered", "limit"} and result.text:
        _give(result.text, output)
        for line in [] if output.quiet else source_lines(result):
            print_note(line)
    if result.status == "interrupted" and result.run_id:
        print_note(f"Stopped. Go on with: alita resume {result.run_id}")
    elif not told and result.status != "answered":
        print_note(f"alita: {explanation(result)}")


def _give(text: str, output: Output) -> None:
    """Prints the answer, or writes it to the file."""
    if output.file is None:
        print_text(text)
        return
    from agent.store.user_files import write_file

    try:
        write_file(output.file, text.rstrip("\n") + "\n")
        print_note(f"Wrote {output.file}.")
    except AlitaError as error:  # it is not lost
        show_error(error)
        print_text(text)


def _require_writable(output: Output) -> None:
    """A path that cannot be written is told before anything is paid for.

    Raises:
        UsageError: The file cannot be written, or it is not known what goes into it.
    """
    if output.file is None:
        return
    if output.stream:
        raise UsageError(
            "--json-stream prints as it happens, so that --output has nothing to write.",
            remedy="Use --json, or redirect: > FILE",
        )
    place = output.file if output.file.exists() else output.file.absolute().parent
    if output.file.is_dir() or not os.access(place, os.W_OK):
        raise UsageError(f"{output.file} cannot be written.", remedy="Name another file with --output.")


def explanation(result: Answer) -> str:
    """Why there is no full answer."""
    reason = result.error or ("" if result.status == "limit" else result.text)
    if result.status == "limit":
        reason = reason or f"The limit of {result.limit or 'this run'} was reached."
        if result.run_id:
            flag = f" --max-{result.limit} …" if result.limit else ""
            reason += f"\n       Go on with a higher limit: alita resume {result.run_id}{flag}"
    return reason or "No answer was found."
