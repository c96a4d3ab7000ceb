"""Runs a question from the command line: shows the run, prints the answer, and copies the files it produced."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.answer import Answer, OutputFile
from agent.cli import exits
from agent.cli.confirmations import ask_about_project, ask_before_fetching, choose, has_keyboard
from agent.cli.output import error_text, print_json, print_note, print_text
from agent.cli.screen import Screen
from agent.cli.turn import RunDisplay
from agent.errors import AlitaError, UsageError
from agent.events import Event, RunFinished
from agent.user_files import write_file
from mcp_tools.errors import os_errors_as
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.consent.consent import Asked
    from agent.events import Listener


AskAlita = Callable[["Alita", "Listener"], Coroutine[Any, Any, Answer]]

_CLOSING = 10.0


@dataclass(frozen=True, slots=True)
class Output:
    """Output options of a run."""

    json: bool = False
    stream: bool = False
    quiet: bool = False
    verbose: bool = False
    file: Path | None = None
    folder: Path | None = None
    """Folder to which files made by programs are copied."""


def answer(flags: dict[str, Any], ask: AskAlita, output: Output, *, fetches: bool = False) -> int:
    """Call `ask` with an open Alita, print the answer, and return the exit code."""
    _require_writable(output)
    ask_about_project(flags)
    if fetches and not ask_before_fetching(flags):
        return exits.exit_code("declined")
    run = _Run(output)
    with exits.Watch(run.seconds_left, run.last_words):
        result, failure = exits.run(run.finish(flags, ask))
    if failure is not None:
        print_note(error_text(failure))
    run.print(result, reported=failure is not None)
    if output.folder is not None and result.outputs:
        exits.run(copy_files(result.outputs, output.folder))
    if result.changes:
        from agent.cli.verbs.changes import offer_changes

        exits.run(offer_changes(flags, result, asks=not (output.json or output.stream)))
    return failure.exit_code if failure is not None else exits.exit_code(result.status)


class _Run:
    """A run started from the command line, from opening Alita to printing the result."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._alita: Alita | None = None
        self._screen: Screen | None = None
        self._turn: RunDisplay | None = None
        self._result: Answer | None = None
        self._ends = math.inf

    async def finish(self, flags: dict[str, Any], ask: AskAlita) -> tuple[Answer, AlitaError | None]:
        """Run the question. Return the answer, and the error if the run failed."""
        from agent.alita import Alita
        from agent.configuration.settings_sources import read_settings
        from agent.consent.questions import CallProposal, UserReply

        settings = read_settings(flags)
        self._screen = screen = Screen(sys.stderr, spoken=settings.plain, quiet=self._output.quiet)

        async def confirm(asked: Asked) -> UserReply:
            """Ask the user. A doubtful action is refused unless the approval mode is `ask`."""
            is_doubtful = isinstance(asked, CallProposal) and asked.is_doubtful
            return UserReply(False) if is_doubtful and settings.approval != "ask" else await turn.confirm(asked)

        def hear(event: Event) -> None:
            if self._output.stream and not isinstance(event, RunFinished):
                print_json(event.as_json(), line=True)

        streams = self._output.stream or screen.animated
        someone = confirm if has_keyboard() else None
        async with Alita.open(settings, streams=streams, confirm=someone) as alita:
            self._alita = alita
            shows = None if self._output.json or self._output.stream else self._give
            self._turn = turn = RunDisplay(alita, screen, verbose=self._output.verbose, hears=hear, shows=shows)
            result = await turn.take(lambda listen: ask(alita, listen))
            self._result = result
            self._ends = min(self._ends, time.monotonic() + _CLOSING)
        return result, turn.failure

    def seconds_left(self) -> float | None:
        """Return the seconds until the process is killed; None if there is no deadline yet."""
        if self._turn is not None and self._turn.is_cancelled:
            self._ends = min(self._ends, time.monotonic() + (0.0 if self._turn.is_abandoned else _CLOSING))
        if self._ends < math.inf:
            return self._ends - time.monotonic()
        left = self._alita.running.seconds_left if self._alita and self._alita.running else None
        return None if left is None else left + _CLOSING

    def last_words(self) -> int:
        """Print what is known of a run that did not stop in time, and return the exit code."""
        if self._screen is not None:
            self._screen.end_work()
        result = self._result
        if result is None:
            partial = (self._alita.newest if self._alita is not None else None) or Answer("", "limit")
            result = replace(
                partial, status="limit", limit="seconds", error="The run did not stop in time and was killed."
            )
            if self._turn is not None and self._turn.is_cancelled:
                result = replace(result, status="interrupted", limit=None)
        self.print(result, reported=False)
        return exits.exit_code(result.status)

    def print(self, result: Answer, *, reported: bool) -> None:
        """Print the result. An answer that was already shown is not repeated."""
        output = self._output
        if output.stream:
            print_json(RunFinished(result).as_json(), line=True)
        elif output.json:
            self._give(json.dumps(result.as_json(), indent=2))
        elif result.status in {"answered", "limit", "interrupted"} and result.text:
            if self._turn is None or not self._turn.has_shown:
                self._give(result.text)
            for line in [] if output.quiet else [*source_lines(result), *file_lines(result)]:
                print_note(line)
        if result.status == "interrupted" and result.run_id:
            print_note(f"Stopped. Continue with: alita resume {result.run_id}")
        elif not reported and result.status != "answered":
            print_note(f"alita: {explanation(result)}")

    def _give(self, text: str) -> None:
        if (file := self._output.file) is None:
            print_text(text)
            return
        try:
            write_file(file, text.rstrip("\n") + "\n", shared=True)
            print_note(f"Wrote {file}.")
        except AlitaError as error:  # do not lose the answer
            print_note(error_text(error))
            print_text(text)


def _require_writable(output: Output) -> None:
    """Raise an error if an output path cannot be written, before the run costs money."""
    if (folder := output.folder) is not None:
        with os_errors_as(UsageError, f"Cannot write to {folder}", "Choose another folder with --out."):
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK):
                raise UsageError(f"Cannot write to {folder}.", remedy="Choose another folder with --out.")
    if output.file is None:
        return
    if output.stream:
        raise UsageError(
            "--json-stream and --output cannot be used together.",
            remedy="Use --json instead, or redirect the output: > FILE",
        )
    message, remedy = f"Cannot write to {output.file}", "Choose another file with --output."
    with os_errors_as(UsageError, message, remedy):
        place = output.file if output.file.exists() else output.file.absolute().parent
        if output.file.is_dir() or not os.access(place, os.W_OK):
            raise UsageError(f"{message}.", remedy=remedy)


def explanation(result: Answer) -> str:
    """Explain why there is no complete answer."""
    reason = result.error or ("" if result.status == "limit" else result.text)
    if result.status == "limit":
        reason = reason or (f"The run reached its limit of {result.limit}." if result.limit else "A limit was reached.")
        if result.run_id:
            flag = f" --max-{result.limit} …" if result.limit else ""
            reason += f"\n       Continue with a higher limit: alita resume {result.run_id}{flag}"
    return reason or "No answer was found."


def file_lines(answer: Answer) -> list[str]:
    """Return one line for each file made by programs, with its path and size."""
    from agent.material.folder import shown_name

    lines = ["Files:"] if answer.outputs else []
    return lines + [f"  {shown_name(file.path)}  {count_of(file.size, 'byte')}" for file in answer.outputs]


async def copy_files(files: Sequence[OutputFile], folder: Path) -> None:
    """Copy files made by programs to a folder. Existing files are only replaced if the user agrees at a terminal."""
    from agent.material.folder import shown_name
    from agent.material.outputs import copied

    async def may_replace(target: Path) -> bool:
        question = f"{shown_name(str(target))} already exists. Replace it?"
        return has_keyboard() and await choose(question, {"y": "yes", "n": "no"}) == "y"

    made, left = await copied(files, folder, may_replace)
    for path in made:
        print_note(f"Wrote {shown_name(str(path))}.")
    for path in left:
        print_note(f"alita: {shown_name(str(path))} already exists and was not replaced.")


def source_lines(answer: Answer) -> list[str]:
    """Return the lines that list an answer's sources, each with its title, URL and quotation."""
    lines = ["Sources:"] if answer.sources else []
    for source in answer.sources:
        title = one_line(source.title, 100)
        named = f"{title} — {source.url}" if title and title != source.url else source.url
        lines.append(f"  [{source.number}] {one_line(named, 400)}")
        lines += [f'      "{one_line(source.quote, 240)}"'] if source.quote else []
    return lines
