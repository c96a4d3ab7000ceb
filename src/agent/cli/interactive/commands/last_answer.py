"""Files for the next question, and what is done with the last answer."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.cli.interactive import clipboard
from agent.cli.interactive.reader import Interrupted
from agent.errors import UsageError
from agent.store.user_files import write_file
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal


async def attach(terminal: Terminal, argument: str) -> None:
    """Attaches a file to the next question, lists those attached, or drops them."""
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
    terminal.screen.rows([(path.name, _size(path)) for path in terminal.attached])


async def copy(terminal: Terminal, argument: str) -> None:
    """Copies the last answer."""
    stream = next((stream for stream in (sys.stdout, sys.stderr) if stream.isatty()), None)
    if stream is not None and os.environ.get("TERM") in {None, "dumb", "unknown"}:
        stream = None
    done = clipboard.copy(_last_answer(terminal), terminal=stream, folder=terminal.settings.data_dir)
    terminal.screen.note(done)


async def save(terminal: Terminal, argument: str) -> None:
    """Writes the last answer to a file; one that is there is replaced only when that is wanted."""
    text = _last_answer(terminal)
    path = _path(argument)
    if path.is_dir():
        raise UsageError(f"{one_line(str(path))} is a folder.", remedy="Name a file in it.")
    if path.exists() and not await _replaced(terminal, path):
        terminal.screen.note("Nothing was written.")
        return
    write_file(path, text.rstrip("\n") + "\n")
    terminal.screen.note(f"Written to {path}.")


async def _replaced(terminal: Terminal, path: Path) -> bool:
    try:
        return await terminal.reader.choose(f"Replace {one_line(path.name, 40)}?", {"y": "yes", "n": "no"}) == "y"
    except (EOFError, Interrupted):
        return False


def _path(argument: str) -> Path:
    """The path that was typed, with or without quotes."""
    return Path(argument.removeprefix("@").strip("\"'")).expanduser().absolute()


def _last_answer(terminal: Terminal) -> str:
    answers = [turn.answer for turn in terminal.session.turns if turn.answer]
    if not answers:
        raise UsageError("There is no answer yet.", remedy="Ask something first.")
    return answers[-1]


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size:,} bytes" if size < 10_000 else f"{size / 1000:,.0f} kB"
