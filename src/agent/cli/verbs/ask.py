"""`alita "question"`, which is `alita ask "question"`, and `alita resume`."""

from __future__ import annotations

import json
import math
import os
import select
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.answer import Answer, OutputFile
from agent.cli import exits, options
from agent.cli.confirmations import ask_about_project, ask_before_fetching, choose, has_keyboard
from agent.cli.output import choose_color, error_text, print_json, print_note, print_text
from agent.cli.screen import Screen
from agent.cli.turn import RunDisplay
from agent.cli.verbs.completion import run_ids
from agent.errors import AlitaError, StorageError, UsageError
from agent.events import Event, RunFinished
from agent.question import LONGEST_QUESTION, FolderGrant, files_named, usable
from agent.user_files import require_readable, write_file
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import RECORD, read_small
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.consent.consent import Asked
    from agent.events import Listener


app = options.App("")
resume_app = options.App("")

Question = Annotated[list[str] | None, typer.Argument(metavar="QUESTION", show_default=False, hidden=True)]
EXAMPLES = """alita "What is the 57th Fibonacci number?"
alita -c "And the 60th?"
cat report.txt | alita "Sum this up in three lines" -o summary.txt"""
STDIN = "-"
"""In place of words: the question is read from standard input."""


@app.command(epilog=EXAMPLES)
def ask(
    question: Question = None,
    file: options.Files = None,
    continue_: options.Continue = False,
    resume: options.Resume = False,
    output: options.ToFile = None,
    out: options.OutputsTo = None,
    folder: options.FolderOf = None,
    write: options.Write = False,
    as_json: options.AsJson = False,
    json_stream: options.JsonStream = False,
    schema: options.Schema = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.Colour = "auto",
    plain: options.Plain = False,
    model: options.Model = None,
    agent: options.Agent = None,
    base_url: options.BaseUrl = None,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    tools_dir: options.ToolsDir = None,
    approval: options.Approval = None,
    no_cache: options.NoCache = False,
    no_isolation: options.NoIsolation = False,
    yes: options.Yes = False,
    allow_private: options.AllowPrivate = False,
) -> None:
    """Answers a question. Text piped in is the question, or is appended to it. Without a question, opens a session."""
    if (as_json and json_stream) or (quiet and verbose):
        both = "--json and --json-stream" if as_json and json_stream else "--quiet and --verbose"
        raise UsageError(f"{both} cannot be used together.", remedy="Use only one of them.")
    flags = options.flags()
    choose_color(color)
    words = question or []
    files = tuple(dict.fromkeys([*(file or ()), *files_named(" ".join(words))]))
    require_readable(files)
    grant = _folder_grant(folder, write=write)
    wants_session = not words and not as_json and not json_stream and _at_keyboard()
    if resume or (wants_session and (sys.stdout.isatty() or sys.stderr.isatty())):
        for_one = {
            "-o": output,
            "--out": out,
            "--json": as_json,
            "--json-stream": json_stream,
            "--schema": schema,
            "--quiet": quiet,
        }
        if given := [flag for flag, value in for_one.items() if value]:
            raise UsageError(f"{given[0]} is for one question, not for a session.", remedy=f'alita {given[0]} … "…"')
        if len(words) > 1:
            raise UsageError(f"--resume takes the id of one session, not {len(words)} words.", remedy="alita --resume")
        from agent.cli.interactive.terminal import open_terminal

        session_id = words[0] if words else None
        open_terminal(
            flags, files, latest=continue_, resume=resume, session_id=session_id, verbose=verbose, folder=grant
        )
        return
    text, form = _read_question(words), _schema(schema)
    from agent.answering.arithmetic import compute

    def work(alita: Alita, listen: Listener) -> Coroutine[Any, Any, Answer]:
        asked: dict[str, Any] = {"files": files, "on_event": listen, "schema": form, "folder": grant}
        return _continued(alita, text, asked) if continue_ else alita.ask(text, **asked)

    exact = not files and grant is None and form is None and compute(text) is not None
    shown = Output(as_json, json_stream, quiet, verbose, None if str(output) == STDIN else output, out)
    raise typer.Exit(answer(flags, work, shown, fetches=not exact))


def _folder_grant(folder: Path | None, *, write: bool) -> FolderGrant | None:
    if folder is None:
        if write:
            raise UsageError("--write needs a folder.", remedy='alita --folder DIR --write "…"')
        return None
    if not folder.is_dir():
        raise UsageError(f"{one_line(str(folder))} is no folder.", remedy="Attach a file with --file.")
    return FolderGrant(folder, write)


async def _continued(alita: Alita, text: str, asked: dict[str, Any]) -> Answer:
    from agent.conversation import Turn
    from agent.store.sessions import go_on

    found = None
    try:
        with go_on(alita.settings) as conversation:
            found = await alita.ask(text, conversation=conversation, **asked)
            conversation.add(Turn.of(text, found))
    except StorageError as problem:
        if found is None:
            raise
        print_note(error_text(problem))
    return found


def _schema(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    from agent.answering.answer_format import checked_schema

    if str(path).lstrip().startswith("{"):
        raise UsageError("--schema takes the name of a file, not a schema.", remedy="Save it: --schema FILE")
    with os_errors_as(UsageError, f"The schema {path} cannot be read", "--schema takes the name of a file."):
        return checked_schema(read_small(path, RECORD).decode(), str(path))


@resume_app.command()
def resume(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Run id (default: the last unfinished run).", autocompletion=run_ids),
    ] = None,
    out: options.OutputsTo = None,
    as_json: options.AsJson = False,
    json_stream: options.JsonStream = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    no_isolation: options.NoIsolation = False,
    yes: options.Yes = False,
    allow_private: options.AllowPrivate = False,
) -> None:
    """Continues a run that was interrupted or hit a limit. Finished calls are not repeated."""
    shown = Output(as_json, json_stream, quiet, verbose, folder=out)
    raise typer.Exit(answer(options.flags(), lambda alita, listen: alita.resume(run, on_event=listen), shown))


def _at_keyboard() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def _read_question(words: Sequence[str]) -> str:
    given = " ".join(word for word in words if word != STDIN)
    given = given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    piped = _piped(typed=STDIN in words)
    return usable("\n\n".join(part for part in (given.strip(), piped.strip()) if part))


def _piped(*, typed: bool) -> str:
    """What standard input holds; what is typed there only if wanted."""
    if sys.stdin is None or sys.stdin.closed or (_at_keyboard() and not typed):
        return ""
    try:
        if _at_keyboard():
            print_note("Type your question, then press Ctrl-D.")
        elif not select.select([sys.stdin], [], [], 1.0)[0]:
            print_note("Waiting for text on standard input. If you have none, add < /dev/null")
        read = sys.stdin.buffer.read(8 * LONGEST_QUESTION)
    except OSError:
        return ""
    try:
        return read.decode()
    except UnicodeDecodeError as error:
        if error.start > 4 * LONGEST_QUESTION:  # cut within a character; it is too long anyway
            return read.decode(errors="ignore")
        raise UsageError(
            f"Standard input is not UTF-8 text (byte {error.start}).", remedy='Attach it as a file: alita -f FILE "…"'
        ) from None


AskAlita = Callable[["Alita", "Listener"], Coroutine[Any, Any, Answer]]

_CLOSING = 10.0


@dataclass(frozen=True, slots=True)
class Output:
    """How a run is shown."""

    json: bool = False
    stream: bool = False
    quiet: bool = False
    verbose: bool = False
    file: Path | None = None
    folder: Path | None = None
    """Where the files that programs made are copied to."""


def answer(flags: dict[str, Any], ask: AskAlita, output: Output, *, fetches: bool = False) -> int:
    """Runs `ask` with an open Alita, prints what came of it, and gives the exit code."""
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
    """One run, from its first event to its answer, and the end of its process."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._alita: Alita | None = None
        self._screen: Screen | None = None
        self._turn: RunDisplay | None = None
        self._result: Answer | None = None
        self._ends = math.inf

    async def finish(self, flags: dict[str, Any], ask: AskAlita) -> tuple[Answer, AlitaError | None]:
        """Gives the answer, and what made the run fail."""
        from agent.alita import Alita
        from agent.configuration.settings_sources import read_settings
        from agent.consent.questions import CallProposal, UserReply

        settings = read_settings(flags)
        self._screen = screen = Screen(sys.stderr, spoken=settings.plain, quiet=self._output.quiet)

        async def confirm(asked: Asked) -> UserReply:
            """Asks; a doubtful action is not even asked about unless approval is."""
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
        """Until the process must have ended; None while nothing says that it must."""
        if self._turn is not None and self._turn.is_cancelled:
            self._ends = min(self._ends, time.monotonic() + (0.0 if self._turn.is_abandoned else _CLOSING))
        if self._ends < math.inf:
            return self._ends - time.monotonic()
        left = self._alita.running.seconds_left if self._alita and self._alita.running else None
        return None if left is None else left + _CLOSING

    def last_words(self) -> int:
        """Says what came of a run that does not end by itself."""
        if self._screen is not None:
            self._screen.end_work()
        result = self._result
        if result is None:
            partial = (self._alita.newest if self._alita is not None else None) or Answer("", "limit")
            result = replace(
                partial, status="limit", limit="seconds", error="The run did not stop in time and was ended."
            )
            if self._turn is not None and self._turn.is_cancelled:
                result = replace(result, status="interrupted", limit=None)
        self.print(result, reported=False)
        return exits.exit_code(result.status)

    def print(self, result: Answer, *, reported: bool) -> None:
        """Print the result, or what is left of it when the answer was printed before."""
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
        except AlitaError as error:  # it is not lost
            print_note(error_text(error))
            print_text(text)


def _require_writable(output: Output) -> None:
    """Reports a path that cannot be written before anything is paid for."""
    if (folder := output.folder) is not None:
        with os_errors_as(UsageError, f"{folder} cannot be written", "Choose another folder with --out."):
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK):
                raise UsageError(f"{folder} cannot be written.", remedy="Choose another folder with --out.")
    if output.file is None:
        return
    if output.stream:
        raise UsageError(
            "--json-stream and --output cannot be used together.", remedy="Use --json, or redirect: > FILE"
        )
    said, remedy = f"{output.file} cannot be written", "Choose another file with --output."
    with os_errors_as(UsageError, said, remedy):
        place = output.file if output.file.exists() else output.file.absolute().parent
        if output.file.is_dir() or not os.access(place, os.W_OK):
            raise UsageError(f"{said}.", remedy=remedy)


def explanation(result: Answer) -> str:
    """Why there is no full answer."""
    reason = result.error or ("" if result.status == "limit" else result.text)
    if result.status == "limit":
        reason = reason or f"The limit of {result.limit or 'this run'} was reached."
        if result.run_id:
            flag = f" --max-{result.limit} …" if result.limit else ""
            reason += f"\n       Continue with a higher limit: alita resume {result.run_id}{flag}"
    return reason or "No answer was found."


def file_lines(answer: Answer) -> list[str]:
    """A line for each file that programs wrote: its path and size."""
    from agent.material.folder import shown_name

    lines = ["Files:"] if answer.outputs else []
    return lines + [f"  {shown_name(file.path)}  {count_of(file.size, 'byte')}" for file in answer.outputs]


async def copy_files(files: Sequence[OutputFile], folder: Path) -> None:
    """Copy the files that programs made to a folder; without a terminal, nothing that is there is replaced."""
    from agent.material.folder import shown_name
    from agent.material.outputs import copied

    async def may_replace(target: Path) -> bool:
        question = f"{shown_name(str(target))} is there already. Replace it?"
        return has_keyboard() and await choose(question, {"y": "yes", "n": "no"}) == "y"

    made, left = await copied(files, folder, may_replace)
    for path in made:
        print_note(f"Wrote {shown_name(str(path))}.")
    for path in left:
        print_note(f"alita: {shown_name(str(path))} was there already and stays as it is.")


def source_lines(answer: Answer) -> list[str]:
    """Two lines for each source: where it is, and what it says."""
    lines = ["Sources:"] if answer.sources else []
    for source in answer.sources:
        title = one_line(source.title, 100)
        named = f"{title} — {source.url}" if title and title != source.url else source.url
        lines.append(f"  [{source.number}] {one_line(named, 400)}")
        lines += [f'      "{one_line(source.quote, 240)}"'] if source.quote else []
    return lines
