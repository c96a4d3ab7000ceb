"""What was done in a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.errors import RunError
from agent.events import Event, Note, RunFinished, RunStarted, StepStarted
from agent.store.runs import find_run, find_unfinished, load_run
from mcp_tools.errors import AlitaError

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal


async def route(terminal: Terminal, argument: str) -> None:
    """Shows the decisions of a run and what each of them came to."""
    events = await _events(terminal, argument)
    if not any(isinstance(event, StepStarted) for event in events):
        began = any(isinstance(event, RunStarted) for event in events)
        reason = "The run ended before its first step." if began else "No step was needed: the answer was known."
        terminal.screen.note(reason)
    for event in events:
        if not isinstance(event, RunFinished):
            terminal.screen.event(event)


async def continue_(terminal: Terminal, argument: str) -> None:
    """Goes on with a run that was stopped or reached a limit; its turn is gone on with, too."""
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
    """Shows a run as a tree of its steps and their calls."""
    from agent.traces.read import read_trace
    from agent.traces.terminal import render

    found = read_trace(terminal.settings.runs_dir, _run_id(terminal, argument))
    terminal.screen.quote(render(found, width=max(terminal.screen.width - 2, 30)))


async def _events(terminal: Terminal, argument: str) -> Sequence[Event]:
    """What a run told: from memory for the last one, else from a replay of its journal."""
    if not argument and terminal.last is not None:
        return terminal.last.events
    run_id = _run_id(terminal, argument)
    events: list[Event] = []
    try:
        await terminal.alita.replay(run_id, on_event=events.append)
    except AlitaError as error:
        events.append(Note(f"what came then is not in the journal: {error.message}"))
    return events


def _run_id(terminal: Terminal, argument: str) -> str:
    """The run that is named, else that of the session's last turn.

    Raises:
        RunError: There is none.
    """
    if argument:
        return find_run(terminal.settings.runs_dir, argument)
    for turn in reversed(terminal.session.turns):
        if turn.run_id:
            return turn.run_id
    raise RunError("There was no run in this session yet.", remedy="Name one: /trace RUN; `alita runs list` shows all.")
