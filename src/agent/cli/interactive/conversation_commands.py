"""Slash commands about conversations: sessions, their turns, answers and runs, and files for the next question."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.cli.interactive.desktop import copy as copy_text
from agent.cli.interactive.reader import Interrupted
from agent.cli.output import date_text
from agent.configuration.settings import wish_of
from agent.conversation import Turn
from agent.errors import RunError, UsageError
from agent.events import Event, Note, RunFinished, RunStarted, StepStarted
from agent.state import Wish
from agent.store.runs import find_run, find_unfinished, load_run
from agent.store.sessions import Session, find_session, list_sessions, load_session, new_session
from agent.store.user_files import write_file
from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal
    from agent.cli.screens.screen import Screen


SHOWN_TURNS = 3
LISTED = 20


async def new(terminal: Terminal, argument: str) -> None:
    """Begin a new session."""
    terminal.start(new_session(terminal.settings.model))
    terminal.screen.note("A new session. What was asked before is not known here.")


async def sessions(terminal: Terminal, argument: str) -> None:
    """List the sessions, the newest first."""
    found = list_sessions(terminal.settings.sessions_dir, limit=LISTED)
    rows = [(s.id, date_text(s.started), f"{len(s.turns)}", one_line(s.title, 60)) for s in found]
    terminal.screen.rows(rows)
    terminal.screen.note("/resume ID goes on with one." if found else "There are no sessions yet.")


async def resume(terminal: Terminal, argument: str) -> None:
    """Go on with an earlier session."""
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
    screen.note(f"Session {session.id}, {date_text(session.started)}: {len(session.turns)} turns{before}.")
    for turn in session.turns[-SHOWN_TURNS:]:
        screen.note("You asked:")
        screen.quote(turn.question)
        screen.note("The answer was:" if turn.answer else f"There was no answer ({turn.status.replace('_', ' ')}).")
        if turn.answer:
            screen.answer(turn.answer)


async def retry(terminal: Terminal, argument: str) -> None:
    """Ask the last question again, not from the cache."""
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
    """Forget the last turn."""
    turn = terminal.session.conversation.drop_last()
    if turn is None:
        raise UsageError("There is nothing to forget.")
    terminal.last_events = None
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


async def route(terminal: Terminal, argument: str) -> None:
    """Show what was decided in the last run, step by step."""
    events = await _events(terminal, argument)
    if not any(isinstance(event, StepStarted) for event in events):
        began = any(isinstance(event, RunStarted) for event in events)
        reason = "The run ended before its first step." if began else "No step was needed: the answer was known."
        terminal.screen.note(reason)
    for event in events:
        if not isinstance(event, RunFinished):
            terminal.screen.event(event)


async def continue_(terminal: Terminal, argument: str) -> None:
    """Go on with a run that was stopped, the newest if not named."""
    folder = terminal.settings.runs_dir
    run_id = find_unfinished(folder, argument or None)
    turns = terminal.session.turns
    before = terminal.session.conversation.drop_last() if turns and turns[-1].run_id == run_id else None
    question = before.question if before else load_run(folder, run_id).question
    count = len(terminal.session.turns)
    terminal.screen.note("Going on with:")
    terminal.screen.quote(question)
    try:
        await terminal.go_on(run_id, question)
    finally:
        if before and len(terminal.session.turns) == count:
            terminal.session.conversation.add(before)


async def trace(terminal: Terminal, argument: str) -> None:
    """Show every call of the last run."""
    from agent.traces.read import read_trace
    from agent.traces.terminal import render

    found = read_trace(terminal.settings.runs_dir, _run_id(terminal, argument))
    terminal.screen.quote(render(found, width=max(terminal.screen.width - 2, 30)))


async def _events(terminal: Terminal, argument: str) -> Sequence[Event]:
    """The events of a run: from memory for the last one, else from a replay of its journal."""
    if not argument and terminal.last_events is not None:
        return terminal.last_events
    run_id = _run_id(terminal, argument)
    events: list[Event] = []
    try:
        await terminal.alita.replay(run_id, on_event=events.append)
    except AlitaError as error:
        events.append(Note(f"what came then is not in the journal: {error.message}"))
    return events


def _run_id(terminal: Terminal, argument: str) -> str:
    """The run that is named, else that of the session's last turn."""
    if argument:
        return find_run(terminal.settings.runs_dir, argument)
    for turn in reversed(terminal.session.turns):
        if turn.run_id:
            return turn.run_id
    raise RunError("There was no run in this session yet.", remedy="Name one: /trace RUN; `alita runs list` shows all.")


async def attach(terminal: Terminal, argument: str) -> None:
    """Attach a file to the next question; - drops those attached."""
    if argument == "-":
        terminal.attached.clear()
    elif argument:
        path = _path(argument)
        if not path.is_file():
            raise UsageError(f"There is no file {one_line(str(path))}.", remedy="Tab completes the names of files.")
        if path not in terminal.attached:
            terminal.attached.append(path)
    if not terminal.attached:
        terminal.screen.note("No file is attached.")
        return
    terminal.screen.note("With the next question go:")
    sizes = [path.stat().st_size for path in terminal.attached]
    terminal.screen.rows([(path.name, f"{size:,} bytes") for path, size in zip(terminal.attached, sizes, strict=True)])


async def copy(terminal: Terminal, argument: str) -> None:
    """Copy the last answer."""
    stream = next((stream for stream in (sys.stdout, sys.stderr) if stream.isatty()), None)
    if stream is not None and os.environ.get("TERM") in {None, "dumb", "unknown"}:
        stream = None
    done = copy_text(_last_answer(terminal), terminal=stream, folder=terminal.settings.data_dir)
    terminal.screen.note(done)


async def save(terminal: Terminal, argument: str) -> None:
    """Write the last answer to a file."""
    text = _last_answer(terminal)
    path = _path(argument)
    if path.is_dir():
        raise UsageError(f"{one_line(str(path))} is a folder.", remedy="Name a file in it.")
    try:
        choices = {"y": "yes", "n": "no"}
        writes = (
            not path.exists() or await terminal.reader.choose(f"Replace {one_line(path.name, 40)}?", choices) == "y"
        )
    except (EOFError, Interrupted):
        writes = False
    if not writes:
        terminal.screen.note("Nothing was written.")
        return
    write_file(path, text.rstrip("\n") + "\n")
    terminal.screen.note(f"Written to {path}.")


def _path(argument: str) -> Path:
    """The path that was typed, with or without quotes."""
    return Path(argument.removeprefix("@").strip("\"'")).expanduser().absolute()


def _last_answer(terminal: Terminal) -> str:
    answers = [turn.answer for turn in terminal.session.turns if turn.answer]
    if not answers:
        raise UsageError("There is no answer yet.", remedy="Ask something first.")
    return answers[-1]
