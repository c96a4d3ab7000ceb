"""The slash commands of a session. Help, completion and the table in the docs are generated from this file."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from typer.main import get_command

from agent.cli import confirmations
from agent.cli.answers import copy_files
from agent.cli.command_registry import load
from agent.cli.interactive.completion import MODES, verbs_of_tools
from agent.cli.interactive.pastes import in_short
from agent.cli.main import plain_misuse
from agent.cli.options import Invocation, invoked
from agent.cli.output import Result, date_text
from agent.configuration.settings import AROUND, purpose_of
from agent.configuration.settings_sources import read_settings
from agent.conversation import Turn
from agent.errors import RunError, SettingsError, UsageError
from agent.models.protocol import EMBEDDED, Usage
from agent.models.roles import with_resolved_model
from agent.question import NOT_KEPT, FolderGrant, Purpose
from agent.store.own_runs import OwnRuns
from agent.store.runs import find_run, find_unfinished, load_run
from agent.store.sessions import (
    StoredSession,
    export_session,
    find_session,
    list_sessions,
    load_session,
    new_session,
    require_own,
    with_late_answer,
)
from agent.user_files import write_file
from mcp_tools.errors import AlitaError
from mcp_tools.text import did_you_mean, duration, one_line

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal
    from agent.cli.screen import Screen

SHOWN_TURNS = 3
FOUND = 10
_AT_ONCE = {"list", "search", "show", "versions", "diff", "stats", "hosts", "delete", "rollback", "gc"}
"""`alita tools` commands that neither ask questions nor run code, so they can run in this process, which is faster."""
_WORD = re.compile(r"""(--[\w-]+=)?(?:'([^']*)'|"((?:[^"\\]|\\.)*)")(?!\S)|(\S+)""", re.DOTALL)


async def help_(terminal: Terminal, argument: str) -> None:
    """List commands and keys, or explain one command."""
    if argument:
        command = find_command(argument)
        terminal.screen.rows([(command.usage, command.summary)])
        return
    terminal.screen.note("Ask a question, or use a command:")
    rows = [(command.usage, command.summary) for command in COMMANDS]
    shell = [
        ("!COMMAND", "run a shell command"),
        ("!!COMMAND", "run a shell command and attach its output to the next question"),
    ]
    terminal.screen.rows([*rows, *shell])
    terminal.screen.note("Keys:")
    terminal.screen.rows(KEYS)


async def exit_(terminal: Terminal, argument: str) -> None:
    """Leave; the session is saved."""
    terminal.leaving = True


async def new(terminal: Terminal, argument: str) -> None:
    """Begin a new session."""
    terminal.start(new_session(terminal.settings.model))
    terminal.screen.note("Started a new session. The last one is saved; /resume reopens it.")


async def clear(terminal: Terminal, argument: str) -> None:
    """Clear the screen and begin a new session."""
    terminal.screen.clear()
    await new(terminal, argument)


async def config(terminal: Terminal, argument: str) -> None:
    """Show the settings, or show or change one."""
    name, _, value = argument.partition(" ")
    words = ("set", "--", name, value.strip()) if value else ("show", *filter(None, [name]))
    terminal.screen.result(await _verb(terminal, "config", *words))
    if value:
        settings = await asyncio.to_thread(with_resolved_model, read_settings(terminal.flags))
        if settings.explain() != terminal.settings.explain():
            await terminal.switch(settings)


async def files(terminal: Terminal, argument: str) -> None:
    """List the files of the session, or copy those that programs made to a folder."""
    from agent.cli.interactive.session_files import outputs_of, session_files

    if argument:
        if not (made := await asyncio.to_thread(outputs_of, terminal.settings, terminal.session)):
            raise UsageError("No program has created a file in this session.")
        await copy_files(made, _path(argument))
        return
    rows = await asyncio.to_thread(session_files, terminal.settings, terminal.session)
    rows += [("for the next question", f"{path.stat().st_size:,} bytes", str(path)) for path in terminal.attached]
    rows += await asyncio.to_thread(folder_rows, terminal)
    terminal.screen.rows(rows)
    if not rows:
        terminal.screen.note("This session has no files. To attach one, type @FILE.")


async def folder(terminal: Terminal, argument: str) -> None:
    """Let programs read a folder, with --write change a copy of it; `off` takes it back."""
    words = [word for word in argument.split() if word != "--write"]
    writes, path = "--write" in argument.split(), _path(" ".join(words))
    if words == ["off"]:
        terminal.folder = FolderGrant(None)
        terminal.screen.note("From the next question on, programs cannot use a folder.")
    elif not words:
        rows = await asyncio.to_thread(folder_rows, terminal)
        terminal.screen.rows(rows)
        if not rows:
            terminal.screen.note("Programs cannot use a folder. To let them read one, type /folder DIR.")
    elif not path.is_dir():
        raise UsageError(f"{one_line(str(path))} is not a folder.", remedy="To attach a file, type @FILE.")
    else:
        terminal.folder = FolderGrant(path, writes)
        what = "may change a copy of" if writes else "may read"
        terminal.screen.note(f"From the next question on, programs {what} {one_line(str(path), 400)}.")


def folder_rows(terminal: Terminal) -> list[tuple[str, ...]]:
    """Return a row for the folder that programs may use."""
    if (grant := terminal.folder) is not None:
        return [("folder", "a copy" if grant.writes else "read", str(grant.path))] if grant.path else []
    granted = terminal.alita.folder_of(terminal.session.conversation)
    return [("folder", "a copy" if granted.writes else "read", str(granted.path))] if granted is not None else []


async def export(terminal: Terminal, argument: str) -> None:
    """Write the session as Markdown to a file, or show it."""
    text = export_session(terminal.session, "md")
    if argument:
        await _write(terminal, _path(argument), text)
    else:
        terminal.screen.quote(text)


async def model(terminal: Terminal, argument: str) -> None:
    """Show the model, or switch to another."""
    if not argument:
        source = terminal.settings.source_of("model")
        terminal.screen.note(f"The model is {terminal.settings.model} ({source}). /model NAME switches to another.")
        return
    from agent.cli.verbs.doctor import model_findings

    settings = read_settings({**terminal.flags, "model": argument})
    for finding in await asyncio.to_thread(lambda: list(model_findings(settings))):
        if finding.ok:
            continue
        if argument != EMBEDDED:
            raise SettingsError(
                f"{finding.detail}; the session keeps using {terminal.settings.model}.", remedy=finding.remedy
            )
        terminal.screen.note("Its weights (1.1 GB) will be downloaded with the next question.")
    await terminal.switch(settings)
    terminal.flags["model"] = settings.model
    terminal.screen.note(f"The model is now {argument}.")


async def route(terminal: Terminal, argument: str) -> None:
    """Show the decisions of the last run, step by step."""
    from agent.traces.trace import read_trace

    found = read_trace(terminal.settings.runs_dir, _run_id(terminal, argument))
    rows = [(str(step.number), step.action, step.why) for step in found.steps if step.number]
    terminal.screen.rows(rows)
    if not rows:
        terminal.screen.note("This run has no steps.")


async def tools(terminal: Terminal, argument: str) -> None:
    """List the tools or those that match the words, or run a command of `alita tools`."""
    words = words_of(argument) or ["list"]
    if words[0] not in verbs_of_tools() and not words[0].startswith("-"):
        terminal.screen.result(found := await _verb(terminal, "tools", "search", "-n", str(FOUND), "--", argument))
        if not found.rows and (hint := did_you_mean(words[0], verbs_of_tools(), cutoff=0.75)):
            terminal.screen.note(hint.replace("mean ", "mean /tools ").strip())
    elif words[0] in _AT_ONCE and not any(word.startswith("-") for word in words):
        terminal.screen.result(await _verb(terminal, "tools", *words))
    else:
        await terminal.run_alita("tools", *words)


def words_of(text: str) -> list[str]:
    """Split a command line into words. Only quotes around a whole word or value are special, so `Bob's` is one word."""
    found = []
    for start, single, double, plain in _WORD.findall(text):
        word = plain or single or re.sub(r'\\(["\\])', r"\1", double)
        found.append(start + (os.path.expanduser(word) if plain else word))  # noqa: PTH111 - it may not be a path
    return found


async def show_tool(terminal: Terminal, argument: str) -> None:
    """Show a tool: its record and source."""
    found = await _verb(terminal, "tools", "show", "--", argument)
    terminal.screen.result(replace(found, text=""))
    terminal.screen.code(found.form["source"])


async def create(terminal: Terminal, argument: str) -> None:
    """Make a tool for questions like this one."""
    await _make_tool(terminal, argument)


async def wrap(terminal: Terminal, argument: str) -> None:
    """Make a tool around a package, or your own Python code."""
    from agent.cli.verbs.tools.create import wrapped

    what, _, question = argument.partition(" ")
    if not question.strip():
        raise UsageError(
            "/wrap needs a question for the new tool to answer.", remedy="For example: /wrap ./FOLDER QUESTION"
        )
    requirement, description = await asyncio.to_thread(wrapped, what, terminal.settings)
    terminal.screen.note(description)
    await _make_tool(terminal, question.strip(), requirement)


async def _make_tool(terminal: Terminal, question: str, around: str = "") -> None:
    before = len(terminal.refused)
    answer = await terminal.ask(question, purpose=Purpose.CREATE, around=around)
    if len(terminal.refused) > before:
        return  # the user was shown what the package needs, and declined
    if answer.tools_created:
        terminal.screen.note(f"New: {', '.join(answer.tools_created)}. It will be used for questions like this one.")
    elif answer.tools_used:
        terminal.screen.note(f"The library already has a tool for this: {', '.join(answer.tools_used)}.")
    elif answer.status in {"answered", "no_answer"}:
        terminal.screen.note(NOT_KEPT)


async def approve(terminal: Terminal, argument: str) -> None:
    """Show or set the approval mode: ask, auto or never."""
    if argument:
        mode = next((mode for mode in MODES if mode == argument), None)
        if mode is None:
            raise UsageError(f"There is no approval mode {one_line(argument)!r}.", remedy="Use ask, auto or never.")
        terminal.mode = mode
    terminal.screen.note(f"Approval mode is {terminal.mode}: {MODES[terminal.mode]}.")


async def cost(terminal: Terminal, argument: str) -> None:
    """Show the tokens and cost of each turn."""

    def took(usage: Usage, seconds: float) -> tuple[str, str, str]:
        tokens = usage.input_tokens + usage.output_tokens
        return f"{tokens:,} tokens", usage.cost_text if usage.calls else "no cost", duration(seconds)

    turns = terminal.session.turns
    if not turns:
        terminal.screen.note("No question was asked yet.")
        return
    rows = [(str(n), *took(turn.usage, turn.seconds), one_line(turn.question, 60)) for n, turn in enumerate(turns, 1)]
    whole = took(sum((turn.usage for turn in turns), Usage()), sum(turn.seconds for turn in turns))
    terminal.screen.rows([*rows, ("all", *whole, "")])


async def trace(terminal: Terminal, argument: str) -> None:
    """Show every call of the last run."""
    from agent.traces.render import render
    from agent.traces.trace import read_trace

    found = read_trace(terminal.settings.runs_dir, _run_id(terminal, argument))
    terminal.screen.quote(render(found, width=max(terminal.screen.width - 2, 30)))


async def sessions(terminal: Terminal, argument: str) -> None:
    """List the sessions, the newest first."""
    terminal.screen.result(found := await _verb(terminal, "sessions", "list"))
    if found.rows:
        terminal.screen.note("To continue a session: /resume ID")


async def resume(terminal: Terminal, argument: str) -> None:
    """Continue an earlier session."""
    settings = terminal.settings
    others = [s.id for s in list_sessions(settings, limit=2, own=True) if s.id != terminal.session.id]
    if not argument and not others:
        raise UsageError(
            "There is no other session yet.", remedy="Ask a question here, or start another session with /new."
        )
    found = require_own(load_session(settings, find_session(settings, argument) if argument else others[0]))
    terminal.start(with_late_answer(found, terminal.settings.runs_dir))
    show_turns(terminal.session, terminal.screen)


def show_turns(session: StoredSession, screen: Screen) -> None:
    """Show the last turns of a session, as a reminder."""
    hidden = len(session.turns) - SHOWN_TURNS
    before = f" ({hidden} earlier ones not shown)" if hidden > 0 else ""
    screen.note(f"Session {session.id}, {date_text(session.started)}: {len(session.turns)} turns{before}.")
    for turn in session.turns[-SHOWN_TURNS:]:
        screen.note("You asked:")
        screen.quote(turn.question)
        screen.note("The answer was:" if turn.answer else f"There was no answer ({turn.status.replace('_', ' ')}).")
        if turn.answer:
            screen.answer(turn.answer)
    if session.turns and session.turns[-1].status == "interrupted":
        screen.note("/continue resumes it, /retry asks again, or type what to do instead.")


async def continue_(terminal: Terminal, argument: str) -> None:
    """Continue a stopped run (default: the newest)."""
    folder = terminal.settings.runs_dir
    run_id = find_unfinished(folder, argument or None, own=OwnRuns(terminal.settings).has)
    turns = terminal.session.turns
    before = terminal.session.conversation.drop_last() if turns and turns[-1].run_id == run_id else None
    question = before.question if before else load_run(folder, run_id).question
    terminal.screen.note("Continuing:")
    terminal.screen.quote(in_short(question))
    with _in_place_of(before, terminal):
        await terminal.go_on(run_id, question)


async def retry(terminal: Terminal, argument: str) -> None:
    """Ask the last or undone question again, ignoring the cache."""
    undone = terminal.undone
    turn = undone or await terminal.alita.undo(terminal.session.conversation)
    if turn is None:
        raise UsageError("No question was asked yet.", remedy="Ask something first.")
    terminal.screen.note("Asking again:")
    terminal.screen.quote(in_short(turn.question))
    with _in_place_of(None if undone else turn, terminal):
        try:
            run = load_run(terminal.settings.runs_dir, turn.run_id) if turn.run_id else None
        except AlitaError:  # the run was deleted, so only the question is left
            run = None
        if run and not OwnRuns(terminal.settings).has(run):  # the user did not choose the files named in the run
            run = None
        files = tuple(Path(file.path) for file in run.files) if run else ()
        purpose, around = (purpose_of(run), run.configuration.get(AROUND, "")) if run else (Purpose.ANSWER, "")
        await terminal.ask(turn.question, files, fresh=True, purpose=purpose, around=around)


@contextmanager
def _in_place_of(turn: Turn | None, terminal: Terminal) -> Iterator[None]:
    """Restore the removed turn after the `with` block unless another turn has replaced it."""
    count = len(terminal.session.turns)
    try:
        yield
    finally:
        if turn and len(terminal.session.turns) == count:
            terminal.session.conversation.add(turn)


async def undo(terminal: Terminal, argument: str) -> None:
    """Remove the last turn from the session."""
    turn = await terminal.alita.undo(terminal.session.conversation)
    if turn is None:
        raise UsageError("There is no turn to remove.")
    terminal.undone = turn
    terminal.save()
    terminal.screen.note("Removed from the session:")
    terminal.screen.quote(turn.question)
    terminal.screen.note("/retry asks it again.")


async def attach(terminal: Terminal, argument: str) -> None:
    """Attach a file to the next question; - removes all."""
    if argument == "-":
        terminal.attached.clear()
    elif argument:
        path = _path(argument)
        if not path.is_file():
            raise UsageError(
                f"There is no file {one_line(str(path))}.", remedy="Check the name. Tab completes file names."
            )
        if path not in terminal.attached:
            terminal.attached.append(path)
    if not terminal.attached:
        terminal.screen.note("No file is attached.")
        return
    terminal.screen.note("Attached to the next question:")
    terminal.screen.rows([(path.name, f"{path.stat().st_size:,} bytes") for path in terminal.attached])


async def copy(terminal: Terminal, argument: str) -> None:
    """Copy the last answer."""
    text = _last_answer(terminal)
    if not terminal.screen.animated:
        raise UsageError("No clipboard is available.", remedy="Write the answer to a file: /save FILE")
    packed = base64.b64encode(text.encode("utf-8", "replace")).decode()
    print(f"\x1b]52;c;{packed}\x07", end="", flush=True, file=sys.stdout if sys.stdout.isatty() else sys.stderr)
    terminal.screen.note(
        "Copied through the terminal. If nothing is pasted, your terminal does not support this; use /save FILE."
    )


async def save(terminal: Terminal, argument: str) -> None:
    """Write the last answer to a file."""
    await _write(terminal, _path(argument), _last_answer(terminal))


async def _write(terminal: Terminal, path: Path, text: str) -> None:
    if await asyncio.to_thread(path.is_dir):
        raise UsageError(f"{one_line(str(path))} is a folder.", remedy="Choose a file in that folder.")
    question = f"Replace {one_line(path.name, 40)}?"
    writes = (
        not await asyncio.to_thread(path.exists) or await confirmations.choose(question, {"y": "yes", "n": "no"}) == "y"
    )
    if writes:
        write_file(path, text.rstrip("\n") + "\n", shared=True)
    terminal.screen.note(f"Written to {path}." if writes else "Nothing was written.")


async def verbose(terminal: Terminal, argument: str) -> None:
    """Turn the display of model calls on or off."""
    terminal.verbose = not terminal.verbose
    terminal.screen.note("Model calls are shown." if terminal.verbose else "Model calls are not shown.")


async def mcp(terminal: Terminal, argument: str) -> None:
    """List the configured MCP servers."""
    terminal.screen.result(await _verb(terminal, "mcp", "list"))


async def check(terminal: Terminal, argument: str) -> None:
    """Check that alita has everything it needs."""
    terminal.screen.note("Checking …")
    terminal.screen.result(await _verb(terminal, "doctor"))


async def _verb(terminal: Terminal, *words: str) -> Result:
    """Call an `alita` command with the session's settings."""
    results: list[Result] = []
    name = f"alita {words[0]}"

    def run() -> None:
        with (
            suppress(SystemExit),
            plain_misuse(name, words),
            invoked(Invocation(flags=terminal.flags, results=results)),
        ):
            get_command(load(words[0]))(words[1:], prog_name=name, standalone_mode=False)

    await asyncio.to_thread(run)
    return results[0] if results else Result({})


def _run_id(terminal: Terminal, argument: str) -> str:
    """Return the id of the named run, or of the run of the session's last turn."""
    if argument:
        return find_run(terminal.settings.runs_dir, argument)
    for turn in reversed(terminal.session.turns):
        if turn.run_id:
            return turn.run_id
    raise RunError(
        "This session has no run yet.", remedy="Give a run id: /trace RUN. `alita runs list` lists all runs."
    )


def _path(argument: str) -> Path:
    return Path(argument.removeprefix("@").strip("\"'")).expanduser().absolute()


def _last_answer(terminal: Terminal) -> str:
    for turn in reversed(terminal.session.turns):
        if turn.answer:
            return turn.answer
    raise UsageError("There is no answer yet.", remedy="Ask something first.")


KEYS: tuple[tuple[str, str], ...] = (
    ("Enter", "ask the question or run the command"),
    ("Alt-Enter", "start a new line (also Esc, then Enter); pasted text keeps its lines"),
    ("Tab", "complete commands, tool names, run and session ids, and files"),
    ("Shift-Tab", "switch to switch to the next approval mode: ask, auto, never"),
    ("Up, Down", "recall earlier entries; in a multi-line entry, move between lines"),
    ("Ctrl-R", "search earlier entries"),
    ("Ctrl-O", "expand the folded pastes in the entry"),
    ("Ctrl-X Ctrl-E", "edit the entry in your editor ($VISUAL or $EDITOR)"),
    ("Ctrl-C, Esc", "during a run: stop it immediately; partial output stays"),
    ("Ctrl-C", "at the prompt: clear the line; twice on an empty line: leave"),
    ("Ctrl-D", "on an empty line: leave"),
    ("@file", 'attach a file to the question; @"a name" if it has spaces'),
)


class CommandEntry(NamedTuple):
    """A slash command."""

    name: str
    argument: str
    """The argument as shown in the help, in brackets if it is optional."""
    run: Callable[[Terminal, str], Awaitable[None]]
    """The function that runs the command. Its docstring is the command's help text."""
    completes: str = ""
    """Kind of completions for the argument: `commands`, `files`, `models`, `modes`, `runs`, `sessions`, `tools` or
    `verbs`."""

    @property
    def summary(self) -> str:
        """The description on the command's help line."""
        text = (self.run.__doc__ or "").rstrip(".")
        return text[:1].lower() + text[1:]

    @property
    def usage(self) -> str:
        """The command with its argument, as in `/name ARGUMENT`."""
        return f"/{self.name} {self.argument}".strip()


COMMANDS: tuple[CommandEntry, ...] = (
    CommandEntry("help", "[COMMAND]", help_, "commands"),
    CommandEntry("exit", "", exit_),
    CommandEntry("new", "", new),
    CommandEntry("clear", "", clear),
    CommandEntry("model", "[NAME]", model, "models"),
    CommandEntry("route", "[RUN]", route, "runs"),
    CommandEntry("tools", "[WORDS or VERB …]", tools, "verbs"),
    CommandEntry("show", "TOOL", show_tool, "tools"),
    CommandEntry("create", "QUESTION", create),
    CommandEntry("wrap", "PATH_OR_PACKAGE QUESTION", wrap),
    CommandEntry("files", "[DIR]", files, "files"),
    CommandEntry("folder", "[DIR [--write]]", folder, "files"),
    CommandEntry("approve", "[MODE]", approve, "modes"),
    CommandEntry("cost", "", cost),
    CommandEntry("trace", "[RUN]", trace, "runs"),
    CommandEntry("sessions", "", sessions),
    CommandEntry("resume", "[SESSION]", resume, "sessions"),
    CommandEntry("continue", "[RUN]", continue_, "runs"),
    CommandEntry("attach", "[FILE]", attach, "files"),
    CommandEntry("copy", "", copy),
    CommandEntry("save", "FILE", save, "files"),
    CommandEntry("export", "[FILE]", export, "files"),
    CommandEntry("retry", "", retry),
    CommandEntry("undo", "", undo),
    CommandEntry("verbose", "", verbose),
    CommandEntry("config", "[NAME [VALUE]]", config),
    CommandEntry("mcp", "", mcp),
    CommandEntry("doctor", "", check),
)
_BY_NAME = {command.name: command for command in COMMANDS}
_ALIASES = {
    "reset": "new",
    "write": "save",
    **dict.fromkeys(("usage", "tokens", "stats"), "cost"),
    **dict.fromkeys(("quit", "q", "bye"), "exit"),
    "settings": "config",
    "history": "export",
}
"""Alternative names of commands, as used in other programs."""
_COMMAND = re.compile(r"/([A-Za-z]+)(?:\s+(.*))?\s*", re.DOTALL)


def find_command(name: str) -> CommandEntry:
    """Return the command with the given name, which may start with a slash.

    Raises:
        UsageError: There is no such command.
    """
    name = name.strip().removeprefix("/").lower()
    if (command := _BY_NAME.get(_ALIASES.get(name, name))) is not None:
        return command
    hint = did_you_mean(f"/{name}", [f"/{known}" for known in _BY_NAME], cutoff=0.65)
    raise UsageError(f"There is no command /{name}.", remedy=f"{hint}/help lists all commands.")


def command_of(text: str) -> tuple[CommandEntry, str] | None:
    """Return an entry's command and argument, or None for a question such as `/etc/hosts says …`.

    Raises:
        UsageError: The entry looks like a command, but the command is unknown or its argument is missing.
    """
    found = _COMMAND.fullmatch(text.strip())
    if found is None:
        return None
    command, argument = find_command(found[1]), (found[2] or "").strip()
    if argument and not command.argument:
        raise UsageError(f"/{command.name} takes no arguments.", remedy=f"Usage: {command.usage}")
    if command.argument and not command.argument.startswith("[") and not argument:
        raise UsageError(f"/{command.name} needs {command.argument}.", remedy=f"Usage: {command.usage}")
    return command, argument
