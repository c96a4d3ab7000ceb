"""Opens the terminal that suits this one: with a moving cursor, without, or read aloud."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from agent.cli import exits
from agent.cli.asking.first_run import ask_before_fetching
from agent.cli.asking.trusting import ask_about_project
from agent.cli.interactive.completion import Choice, Completion
from agent.cli.interactive.history import History
from agent.cli.interactive.reader import Prompt, Reader
from agent.cli.screens.screen import Screen, open_screen
from agent.configuration.settings_sources import read_settings
from agent.errors import UsageError
from agent.store.redact import Redactor
from agent.store.sessions import find_session, latest_session, load_session

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

MakeReader = Callable[[Prompt], Reader]


def terminal_stream() -> TextIO | None:
    """Where a session is shown: standard output, or standard error when answers go elsewhere; None without either."""
    return next((stream for stream in (sys.stdout, sys.stderr) if stream is not None and stream.isatty()), None)


def open_terminal(
    flags: Mapping[str, Any],
    files: Sequence[Path] = (),
    *,
    latest: bool = False,
    resume: bool = False,
    session_id: str | None = None,
    verbose: bool = False,
) -> None:
    """Opens a session and returns when it is left.

    Args:
        flags: Settings from the command line.
        files: Files for the first question.
        latest: Whether to go on with what was asked last, in a session or not.
        resume: Whether to go on with an earlier session.
        session_id: Which; the newest when not given.
        verbose: Whether model calls are shown too.

    Raises:
        UsageError: There is no terminal.
        SessionError: There is no such session.
    """
    stream = terminal_stream()
    if stream is None or not sys.stdin.isatty():
        raise UsageError("A session needs a terminal.", remedy='Ask without one: alita "…"')
    flags = dict(flags)
    ask_about_project(flags)
    if not ask_before_fetching(flags):
        return
    settings = read_settings(flags)
    session = latest_session(settings) if latest else None
    if resume:
        session = load_session(settings.sessions_dir, find_session(settings.sessions_dir, session_id))
    screen = open_screen(stream, spoken=settings.plain, answers=sys.stdout if stream is not sys.stdout else None)
    make_reader = _reader(settings, stream, screen)

    from agent.cli.interactive.commands.conversations import show_turns
    from agent.cli.interactive.terminal import Terminal

    terminal = Terminal(flags, screen, make_reader, settings=settings, session=session)
    terminal.verbose = verbose
    terminal.attached.extend(path.absolute() for path in files)
    if session is not None:
        show_turns(session, screen)
    else:
        screen.note(f"alita, with the model {settings.model}. Ask something; /help tells the rest, Ctrl-D leaves.")
    exits.run(terminal.run())


def _reader(settings: Settings, stream: TextIO, screen: Screen) -> MakeReader:
    """Makes the reader that suits the screen."""
    history = History(settings.data_dir, Redactor(settings.secrets))
    if not screen.animated:
        from agent.cli.interactive.typed import LineReader

        return lambda prompt: LineReader(prompt, history, stream, editing=settings.plain)
    from prompt_toolkit.output import create_output

    from agent.cli.interactive.prompt import PromptReader

    output = create_output(stdout=stream)
    return lambda prompt: PromptReader(prompt, completion_of(settings), history, output=output)


def completion_of(settings: Settings) -> Completion:
    """What may come next, from the registry and from what alita keeps."""
    from agent.cli.interactive.commands.registry import COMMANDS
    from agent.cli.interactive.completion import sources_of

    commands = [Choice(f"/{command.name}", command.summary) for command in COMMANDS]
    kinds = {command.name: command.completes for command in COMMANDS}
    return Completion(commands, kinds, sources_of(settings), Path.cwd())
