"""Opens an interactive session with its settings, screen, prompt and commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_toolkit.output import create_output

from agent.cli import exits
from agent.cli.confirmations import ask_about_project, ask_before_fetching
from agent.cli.interactive.commands import COMMANDS, command_of, show_turns
from agent.cli.interactive.completion import suggestions_of
from agent.cli.interactive.prompt import History, LineReader, PromptReader, Reader
from agent.cli.interactive.terminal import Terminal
from agent.cli.screen import Screen
from agent.configuration.settings_sources import read_settings
from agent.errors import UsageError
from agent.models.roles import with_resolved_model
from agent.question import FolderGrant
from agent.store.redact import Redactor
from agent.store.sessions import (
    find_session,
    latest_session,
    load_session,
    require_own,
    with_late_answer,
)

if TYPE_CHECKING:
    pass


def open_terminal(
    flags: Mapping[str, Any],
    files: Sequence[Path] = (),
    *,
    latest: bool = False,
    resume: bool = False,
    session_id: str | None = None,
    verbose: bool = False,
    folder: FolderGrant | None = None,
) -> None:
    """Open a session, and return when the user leaves it.

    Args:
        flags: Settings from the command line.
        files: Files to attach to the first question.
        latest: True to continue the last conversation.
        resume: True to reopen the session `session_id`, or the last used session if no id is given.
        session_id: Id of the session to reopen.
        verbose: True to show model calls.
        folder: The folder that programs may access.

    Raises:
        UserError: There is no terminal, or the session does not exist.
    """
    stream = next((each for each in (sys.stdout, sys.stderr) if each is not None and each.isatty()), None)
    if stream is None or not sys.stdin.isatty():
        raise UsageError("An interactive session needs a terminal.", remedy='To ask a single question: alita "…"')
    flags = dict(flags)
    ask_about_project(flags)
    if not ask_before_fetching(flags):
        return
    settings = with_resolved_model(read_settings(flags))
    session = latest_session(settings) if latest else None
    if resume:
        session = require_own(load_session(settings, find_session(settings, session_id)))
    session = session and with_late_answer(session, settings.runs_dir)
    screen = Screen(
        stream, spoken=settings.plain, answers=sys.stdout if stream is not sys.stdout else None, scrolls=True
    )
    history = History(settings.data_dir, Redactor(settings.secrets))

    def reader(terminal: Terminal) -> Reader:
        """Return a prompt that suits the terminal's screen."""
        if not screen.animated:
            return LineReader(terminal, history, stream)
        return PromptReader(terminal, suggestions_of(settings, COMMANDS), history, output=create_output(stdout=stream))

    terminal = Terminal(flags, screen, reader, command_of, settings=settings, session=session)
    terminal.verbose = verbose
    terminal.folder = folder
    terminal.attached.extend(path.absolute() for path in files)
    if session is not None:
        show_turns(session, screen)
    else:
        screen.note(f"alita, with the model {settings.model}. Ask a question. /help lists the commands, Ctrl-D leaves.")
    exits.run(terminal.run())
