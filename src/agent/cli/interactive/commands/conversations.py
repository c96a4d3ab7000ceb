"""Sessions: beginning, listing and resuming them, and their last turn."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from agent.configuration.settings import wish_of
from agent.conversation import Turn
from agent.errors import UsageError
from agent.state import Wish
from agent.store.runs import load_run
from agent.store.sessions import Session, find_session, list_sessions, load_session, new_session
from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal
    from agent.cli.screens.screen import Screen

SHOWN_TURNS = 3
LISTED = 20


async def new(terminal: Terminal, argument: str) -> None:
    """Begins a new session."""
    terminal.start(new_session(terminal.settings.model))
    terminal.screen.note("A new session. What was asked before is not known here.")


async def list_(terminal: Terminal, argument: str) -> None:
    """Lists the sessions."""
    found = list_sessions(terminal.settings.sessions_dir, limit=LISTED)
    rows = [(s.id, _when(s.started), f"{len(s.turns)}", one_line(s.title, 60)) for s in found]
    terminal.screen.rows(rows)
    terminal.screen.note("/resume ID goes on with one." if found else "There are no sessions yet.")


async def resume(terminal: Terminal, argument: str) -> None:
    """Goes on with a session: the one named, else the newest besides the present one."""
    folder = terminal.settings.sessions_dir
    if argument:
        session_id = find_session(folder, argument)
    else:
        others = [s.id for s in list_sessions(folder, limit=2) if s.id != terminal.session.id]
        if not others:
            raise UsageError("There is no other session yet.", remedy="Ask on, or begin one with /new.")
        session_id = others[0]
    terminal.start(load_session(folder, session_id))
    show_turns(terminal.session, terminal.screen)


def show_turns(session: Session, screen: Screen) -> None:
    """The last turns of a session, so that its reader finds the thread."""
    hidden = len(session.turns) - SHOWN_TURNS
    before = f", {hidden} more before these" if hidden > 0 else ""
    screen.note(f"Session {session.id}, {_when(session.started)}: {len(session.turns)} turns{before}.")
    for turn in session.turns[-SHOWN_TURNS:]:
        screen.note("You asked:")
        screen.quote(turn.question)
        screen.note("The answer was:" if turn.answer else f"There was no answer ({turn.status.replace('_', ' ')}).")
        if turn.answer:
            screen.answer(turn.answer)


async def retry(terminal: Terminal, argument: str) -> None:
    """Asks the last question again; the new turn takes the place of the old one."""
    turn = terminal.session.conversation.drop_last()
    if turn is None:
        raise UsageError("Nothing was asked yet.", remedy="Ask something first.")
    before = len(terminal.session.turns)
    terminal.screen.note("Asking again:")
    terminal.screen.quote(turn.question)
    try:
        files, wish = _asked_with(terminal, turn)
        await terminal.ask(turn.question, files, fresh=True, wish=wish)
    finally:
        if len(terminal.session.turns) == before:
            terminal.session.conversation.add(turn)


async def undo(terminal: Terminal, argument: str) -> None:
    """Forgets the last turn; its run stays among the runs."""
    turn = terminal.session.conversation.drop_last()
    if turn is None:
        raise UsageError("There is nothing to forget.")
    terminal.last = None
    terminal.save()
    terminal.screen.note("Forgotten:")
    terminal.screen.quote(turn.question)


def _asked_with(terminal: Terminal, turn: Turn) -> tuple[tuple[Path, ...], Wish]:
    """The files that came with a turn, and what it was for."""
    if not turn.run_id:
        return (), "answer"
    try:
        run = load_run(terminal.settings.runs_dir, turn.run_id)
    except AlitaError:
        return (), "answer"
    return tuple(Path(file.path) for file in run.files), wish_of(run)


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
