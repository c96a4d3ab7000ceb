"""`alita runs list|search|show|replay` and `alita traces show|open`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import options
from agent.cli.completion import run_ids
from agent.cli.output import date_text, print_json, print_note, print_rows, print_text
from agent.store.user_files import write_file
from mcp_tools import child
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.alita import Alita, Listener
    from agent.answering.answer import Answer
    from agent.consent.approval import Approve
    from agent.store.runs import Run
    from agent.traces.trace import Trace


app = options.new_app("Runs: what was asked, what was done, and doing it again.")

RunId = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN", help="The id or its beginning or end; the last run if not given.", autocompletion=run_ids
    ),
]


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    as_json: options.AsJson = False,
) -> None:
    """Lists runs, newest first."""
    from agent.store.runs import list_runs

    _show(list_runs(options.settings().runs_dir, limit=limit), as_json=as_json, none="There are no runs yet.")


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS...", help="All of them must occur.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    as_json: options.AsJson = False,
) -> None:
    """Finds runs by words of the question or the answer, newest first."""
    from agent.store.runs import list_runs

    wanted = " ".join(words).casefold().split()

    def fits(run: Run) -> bool:
        text = f"{run.question}\n{run.answer.text if run.answer else ''}".casefold()
        return all(word in text for word in wanted)

    found = [run for run in list_runs(options.settings().runs_dir) if fits(run)]
    _show(found[:limit], as_json=as_json, none="No run has these words.")


def _show(runs: list[Run], *, as_json: bool, none: str) -> None:
    if as_json:
        print_json([run.as_json() for run in runs])
        return
    print_rows([(run.run_id, run.status, date_text(run.started), one_line(run.question, 200)) for run in runs])
    if not runs:
        print_note(none)


@app.command()
def show(run: RunId = None, as_json: options.AsJson = False) -> None:
    """Shows a run: question, answer and every call."""
    from agent.store.journal import Journal, Record
    from agent.store.runs import find_run, journal_path, load_run

    folder = options.settings().runs_dir
    run_id = find_run(folder, run)
    found = load_run(folder, run_id)
    path = journal_path(folder, run_id)
    records: list[Record] = list(Journal.replay(path).records()) if path.exists() else []
    if as_json:
        names = ("step", "kind", "request", "output", "error", "seconds")
        calls = [{name: getattr(record, name) for name in names} for record in records]
        print_json({**found.as_json(), "calls": calls})
        return
    answer = found.answer
    head = [
        ("run", f"{run_id} ({found.status})"),
        ("question", one_line(found.question, 500)),
        ("model", found.model),
        ("started", date_text(found.started)),
        *(("file", file.path) for file in found.files),
        *([("answer", one_line(answer.text or answer.error or "", 500))] if answer else []),
    ]
    print_rows(list(head))
    if records:
        print_text("")
        print_rows([_row(r) for r in records])


@app.command()
def replay(
    run: RunId = None,
    until: Annotated[
        int | None, typer.Option("--until", metavar="STEP", min=0, help="Replay to this step, then go on live.")
    ] = None,
    as_json: options.AsJson = False,
    json_stream: options.JsonStream = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Does a run again from its journal, without a call. The answer is the same."""
    from agent.cli.ask import Output, answer
    from agent.store.runs import find_run

    run_id = find_run(options.settings().runs_dir, run)
    output = Output(as_json, json_stream, quiet, verbose)

    def work(alita: Alita, listen: Listener, someone: Approve | None) -> Coroutine[Any, Any, Answer]:
        asked = someone if alita.approval_of(run_id) == "ask" else None
        return alita.replay(run_id, until=until, on_event=listen, approve=asked)

    raise typer.Exit(answer({}, work, output))


def _row(record: Any) -> tuple[str, ...]:
    result = record.error["message"] if record.error else _preview(record.output)
    return str(record.step), record.kind, f"{record.seconds:.3f} s", one_line(result, 90)


def _preview(output: Any) -> str:
    if isinstance(output, dict):
        for name in ("text", "value", "problem"):
            if output.get(name):
                return str(output[name])
    return str(output)


traces_app = options.new_app("Traces: every step and every call of a run.")

PAGE = "trace.html"
WIDTH_OF_A_FILE = 160
_DESKTOP = (
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_*", "DESKTOP_SESSION", "DBUS_SESSION_BUS_ADDRESS", "BROWSER",
    "TMPDIR",
)  # fmt: skip
"""What the user's browser needs."""

Full = Annotated[bool, typer.Option("--full", help="Every prompt and output whole.")]


@traces_app.command("show")
def show_trace(
    run: RunId = None,
    step: Annotated[
        int | None, typer.Option("--step", metavar="N", min=0, help="Only this step, with its prompts and outputs.")
    ] = None,
    full: Full = False,
    as_json: options.AsJson = False,
) -> None:
    """Shows a run as a tree of its steps, with each call's time, tokens, cost, prompt and output."""
    from agent.traces.terminal import render

    trace = _trace(run)
    if as_json:
        print_json(trace.as_json())
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_OF_A_FILE
    print_text(render(trace, width=width, step=step, full=full))


@traces_app.command("open")
def open_(
    run: RunId = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write the page; the run's folder if not given."),
    ] = None,
    full: Full = False,
    no_open: Annotated[bool, typer.Option("--no-open", help="Write the page, and open no browser.")] = False,
) -> None:
    """Writes a run as one HTML page, which needs no network, and opens it in the browser."""
    from agent.traces.page import render_page

    trace = _trace(run)
    path = output or options.settings().runs_dir / trace.run.run_id / PAGE
    write_file(path, render_page(trace, full=full))
    print_text(str(path))
    if no_open:
        return
    has_display = sys.platform in {"darwin", "win32"} or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not has_display:
        print_note("There is no display: open the page yourself.")
    elif not _open_browser(path.resolve().as_uri()):
        print_note("No browser could be started: open the page yourself.")


def _trace(run: str | None) -> Trace:
    from agent.traces.read import read_trace

    return read_trace(options.settings().runs_dir, run)


def _open_browser(address: str) -> bool:
    """Starts the user's browser, which inherits no key and none of our streams."""
    code = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
    process = child.popen([sys.executable, "-I", "-c", code, address], env=child.environment(*_DESKTOP))
    try:
        return process.wait(5.0) == 0
    except subprocess.TimeoutExpired:
        return True  # a browser that stays in the foreground
