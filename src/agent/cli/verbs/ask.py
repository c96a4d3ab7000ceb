"""`alita "question"`, the same as `alita ask "question"`; and `alita resume`."""

from __future__ import annotations

import select
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.answer import Answer
from agent.cli import options
from agent.cli.answers import Output, answer
from agent.cli.output import choose_color, error_text, print_note
from agent.cli.verbs.completion import run_ids
from agent.errors import StorageError, UsageError
from agent.question import LONGEST_QUESTION, FolderGrant, files_named, usable
from agent.user_files import require_readable
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import RECORD, read_small
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.alita import Alita
    from agent.events import Listener


app = options.App("")
resume_app = options.App("")

Question = Annotated[list[str] | None, typer.Argument(metavar="QUESTION", show_default=False, hidden=True)]
EXAMPLES = """alita "What is the 57th Fibonacci number?"
alita -c "And the 60th?"
cat report.txt | alita "Sum this up in three lines" -o summary.txt"""
STDIN = "-"
"""Argument that stands for standard input, from which the question is then read."""


@app.command(epilog=EXAMPLES, settings=" ".join(options.SETTINGS))
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
    **_: object,
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
            raise UsageError(
                f"{given[0]} works for a single question, not for a session.",
                remedy=f'Add the question: alita {given[0]} … "…"',
            )
        if len(words) > 1:
            raise UsageError(f"--resume takes one session id; got {len(words)} words.", remedy="Run alita --resume ID.")
        from agent.cli.interactive.opening import open_terminal

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
            raise UsageError("--write needs a folder.", remedy='Name the folder: alita --folder DIR --write "…"')
        return None
    if not folder.is_dir():
        raise UsageError(f"{one_line(str(folder))} is not a folder.", remedy="To attach a file, use --file.")
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
        raise UsageError("--schema takes a file name, not a schema.", remedy="Save the schema to a file: --schema FILE")
    with os_errors_as(
        UsageError, f"Cannot read the schema file {path}", "--schema takes the name of a JSON Schema file."
    ):
        return checked_schema(read_small(path, RECORD).decode(), str(path))


@resume_app.command(settings=f"{options.LIMITS} no_isolation yes allow_private")
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
    **_: object,
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
    """Return the text from standard input. Input from a keyboard is only read if `typed` is true."""
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
        if error.start > 4 * LONGEST_QUESTION:  # the input was cut within a character, but is too long anyway
            return read.decode(errors="ignore")
        raise UsageError(
            f"Standard input is not UTF-8 text (byte {error.start}).",
            remedy='Attach the data as a file: alita -f FILE "…"',
        ) from None
