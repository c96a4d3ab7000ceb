"""`alita "question"`, which is `alita ask "question"`, and `alita resume`."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import options
from agent.cli.completion import run_ids
from agent.cli.output import print_note
from agent.conversation import Turn
from agent.question import LONGEST_QUESTION, usable
from mcp_tools.errors import UsageError

if TYPE_CHECKING:
    from agent.alita import Alita, Listener
    from agent.answering.answer import Answer
    from agent.consent.approval import Approve

app = options.new_app("")
resume_app = options.new_app("")

Question = Annotated[list[str] | None, typer.Argument(metavar="QUESTION", show_default=False, hidden=True)]
EXAMPLES = """alita "What is the 57th Fibonacci number?"
alita -c "And the 60th?"
cat report.txt | alita "Sum this up in three lines" -o summary.txt"""
STDIN = "-"
"""In place of words: the question is read from standard input."""


@app.command(cls=options.Grouped, epilog=EXAMPLES)
def ask(
    context: typer.Context,
    question: Question = None,
    file: options.Files = None,
    continue_: options.Continue = False,
    resume: options.Resume = False,
    output: options.ToFile = None,
    as_json: options.AsJson = False,
    json_stream: options.JsonStream = False,
    schema: options.Schema = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.Colour = "auto",
    plain: options.Plain = False,
    model: options.Model = None,
    base_url: options.BaseUrl = None,
    max_steps: options.MaxSteps = None,
    max_seconds: options.MaxSeconds = None,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    tools_dir: options.ToolsDir = None,
    approve: options.Approve = None,
    no_cache: options.NoCache = False,
    no_isolation: options.NoIsolation = False,
    allow_private: options.AllowPrivate = False,
) -> None:
    """Answers a question. Text piped in is the question, or is added to it. Without any, a session opens."""
    _require_one(json=as_json, json_stream=json_stream)
    _require_one(quiet=quiet, verbose=verbose)
    _use_colour(color)
    files = tuple(file or ())
    require_files(files)
    flags = options.flags(context.params)
    words = question or []
    if resume or opens_session(words, as_json=as_json or json_stream):
        open_session(flags, words, files, latest=continue_, resume=resume, verbose=verbose)
        return
    text, form = read_question(words), _schema(schema)
    from agent.answering.arithmetic import compute
    from agent.cli.answering import Output, answer

    async def work(alita: Alita, listen: Listener, someone: Approve | None) -> Answer:
        asked = someone if alita.settings.approval == "ask" else None
        if not continue_:
            return await alita.ask(text, files=files, on_event=listen, approve=asked, schema=form)
        from agent.store.sessions import go_on

        with go_on(alita.settings) as conversation:
            found = await alita.ask(
                text, files=files, on_event=listen, approve=asked, schema=form, conversation=conversation
            )
            conversation.add(Turn.of(text, found))
        return found

    exact = not files and form is None and compute(text) is not None
    shown = Output(as_json, json_stream, quiet, verbose, output)
    raise typer.Exit(answer(flags, work, shown, fetches=not exact))


def _require_one(**switches: bool) -> None:
    """Of two switches that exclude one another, one at most.

    Raises:
        UsageError: Both are given.
    """
    if all(switches.values()):
        both = " and ".join(f"--{name.replace('_', '-')}" for name in switches)
        raise UsageError(f"{both} exclude each other.", remedy="Give one of them.")


def _use_colour(when: str) -> None:
    """Decides about colour for everything that this process prints."""
    if when != "auto":
        for name in ("NO_COLOR", "FORCE_COLOR"):
            os.environ.pop(name, None)
        os.environ["FORCE_COLOR" if when == "always" else "NO_COLOR"] = "1"


def _schema(path: Path | None) -> dict[str, Any] | None:
    """The schema that a file holds.

    Raises:
        UsageError: It cannot be read, or holds none.
    """
    if path is None:
        return None
    from agent.answering.answer_format import checked_schema

    try:
        return checked_schema(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The schema {path} cannot be read: {error}.", remedy="Correct --schema.") from None


@resume_app.command()
def resume(
    context: typer.Context,
    run: Annotated[
        str | None, typer.Argument(help="The run; the last unfinished one if not given.", autocompletion=run_ids)
    ] = None,
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
    flags: dict[str, Any],
    words: Sequence[str],
    files: Sequence[Path],
    *,
    latest: bool,
    resume: bool,
    verbose: bool,
) -> None:
    """Opens the interactive terminal.

    Raises:
        UsageError: More than the id of a session is named, or there is no terminal.
    """
    if len(words) > 1:
        raise UsageError(f"--resume takes the id of one session, not {len(words)} words.", remedy="alita --resume")
    from agent.cli.interactive.session_start import open_terminal

    open_terminal(flags, files, latest=latest, resume=resume, session_id=next(iter(words), None), verbose=verbose)


def read_question(words: Sequence[str]) -> str:
    """The question: the words, and below them what is piped in.

    Raises:
        UsageError: There is none, it is too long, or no text is piped in.
    """
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
            print_note("Type the question; Ctrl-D ends it.")
        elif not select.select([sys.stdin], [], [], 1.0)[0]:
            print_note("Waiting for text from standard input; without any, add < /dev/null")
        read = sys.stdin.buffer.read(8 * LONGEST_QUESTION)
    except OSError:
        return ""
    try:
        return read.decode()
    except UnicodeDecodeError as error:
        if error.start > 4 * LONGEST_QUESTION:  # cut within a character; it is too long anyway
            return read.decode(errors="ignore")
        raise UsageError(
            f"Standard input is no text in UTF-8 (byte {error.start}).", remedy='Attach it as a file: alita -f FILE "…"'
        ) from None
