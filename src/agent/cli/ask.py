"""`alita "question"`, which is `alita ask "question"`, and `alita resume`."""

from __future__ import annotations

import select
import sys
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import options
from agent.cli.output import print_note
from agent.question import LONGEST_QUESTION, usable
from mcp_tools.errors import UsageError

if TYPE_CHECKING:
    from agent.alita import Alita, Listener
    from agent.answer import Answer
    from agent.approval import Approve

app = options.new_app("")
resume_app = options.new_app("")

Question = Annotated[list[str] | None, typer.Argument(metavar="QUESTION", show_default=False, hidden=True)]
Files = Annotated[
    list[Path] | None,
    typer.Option("--file", "-f", metavar="PATH", help="A file for it; may be repeated."),
]


@app.command()
def ask(
    context: typer.Context,
    question: Question = None,
    file: Files = None,
    as_json: options.AsJson = False,
    json_stream: options.JsonStream = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    tools_dir: options.ToolsDir = None,
    no_isolation: options.NoIsolation = False,
    allow_private: options.AllowPrivate = False,
    no_cache: options.NoCache = False,
    approve: options.Approve = None,
    plain: options.Plain = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Open the last session, or the one whose id follows.")
    ] = False,
) -> None:
    """Answers a question. Text piped in is the question, or is added to it. Without any, a session opens."""
    files = tuple(file or ())
    require_files(files)
    flags = options.flags(context.params)
    if resume or opens_session(question or [], as_json=as_json or json_stream):
        open_session(flags, question or [], files, resume=resume, verbose=verbose)
        return
    text = read_question(question or [])
    from agent.cli.answering import Output, answer

    def work(alita: Alita, listen: Listener, someone: Approve | None) -> Awaitable[Answer]:
        return alita.ask(text, files=files, on_event=listen, approve=someone if alita.approval == "ask" else None)

    raise typer.Exit(answer(flags, work, Output(as_json, json_stream, quiet, verbose)))


@resume_app.command()
def resume(
    context: typer.Context,
    run: Annotated[str | None, typer.Argument(help="The run; the last unfinished one if not given.")] = None,
    as_json: options.AsJson = False,
    json_stream: options.JsonStream = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    no_isolation: options.NoIsolation = False,
    allow_private: options.AllowPrivate = False,
) -> None:
    """Goes on with a run that was interrupted or reached a limit. Nothing already paid for is asked again."""
    flags = options.flags(context.params)
    from agent.cli.answering import Output, answer

    def work(alita: Alita, listen: Listener, someone: Approve | None) -> Awaitable[Answer]:
        return alita.resume(run, on_event=listen, approve=someone if alita.approval_of(run) == "ask" else None)

    raise typer.Exit(answer(flags, work, Output(as_json, json_stream, quiet, verbose)))


def require_files(files: Sequence[Path]) -> None:
    """Someone at the keyboard can correct a path; a program's question is asked all the same, and says what is missing.

    Raises:
        UsageError: A file cannot be read, and someone is at the keyboard.
    """
    for path in files if _at_keyboard() else ():
        try:
            path.open("rb").close()
        except OSError as error:
            raise UsageError(f"The file {path} cannot be read: {error.strerror}.", remedy="Correct --file.") from error


def opens_session(words: Sequence[str], *, as_json: bool) -> bool:
    """Nothing is asked, and someone is at the keyboard."""
    return not words and not as_json and _at_keyboard() and (sys.stdout.isatty() or sys.stderr.isatty())


def _at_keyboard() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


def open_session(
    flags: dict[str, Any], words: Sequence[str], files: Sequence[Path], *, resume: bool, verbose: bool
) -> None:
    """Opens the interactive terminal.

    Raises:
        UsageError: More than the id of a session is named, or there is no terminal.
    """
    if len(words) > 1:
        raise UsageError(f"--resume takes the id of one session, not {len(words)} words.", remedy="alita --resume")
    from agent.cli.interactive.opening import open_terminal

    open_terminal(flags, files, resume=resume, session_id=next(iter(words), None), verbose=verbose)


def read_question(words: Sequence[str]) -> str:
    """The question: the words, and below them what is piped in.

    Raises:
        UsageError: There is none, or it is too long.
    """
    given = " ".join(words).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    question = "\n\n".join(part for part in (given.strip(), _piped().strip()) if part)
    return usable(question)


def _piped() -> str:
    """What standard input holds, when it is not a terminal."""
    if sys.stdin is None or sys.stdin.closed or _at_keyboard():
        return ""
    try:
        if not select.select([sys.stdin], [], [], 1.0)[0]:
            print_note("Waiting for text from standard input; without any, add < /dev/null")
        return sys.stdin.buffer.read(8 * LONGEST_QUESTION).decode("utf-8", "replace")
    except OSError:
        return ""
