"""`alita traces show|open`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import options
from agent.cli.output import print_json, print_note, print_text
from agent.cli.runs import RunId
from mcp_tools import child

if TYPE_CHECKING:
    from agent.traces.trace import Trace

app = options.new_app("Traces: every step and every call of a run.")

PAGE = "trace.html"
WIDTH_OF_A_FILE = 160
_DESKTOP = (
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_*", "DESKTOP_SESSION", "DBUS_SESSION_BUS_ADDRESS", "BROWSER",
    "TMPDIR",
)  # fmt: skip
"""What the user's browser needs."""

Full = Annotated[bool, typer.Option("--full", help="Every prompt and output whole.")]


@app.command()
def show(
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


@app.command("open")
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
    from agent.configuration.settings_sources import read_settings
    from agent.store.user_files import write_file
    from agent.traces.page import render_page

    trace = _trace(run)
    path = output or read_settings().runs_dir / trace.run.run_id / PAGE
    write_file(path, render_page(trace, full=full))
    print_text(str(path))
    if no_open:
        return
    if not _has_display():
        print_note("There is no display: open the page yourself.")
    elif not _open_browser(path.resolve().as_uri()):
        print_note("No browser could be started: open the page yourself.")


def _trace(run: str | None) -> Trace:
    from agent.configuration.settings_sources import read_settings
    from agent.traces.read import read_trace

    return read_trace(read_settings().runs_dir, run)


def _has_display() -> bool:
    if sys.platform in {"darwin", "win32"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_browser(address: str) -> bool:
    """Starts the user's browser, which inherits no key and none of our streams."""
    code = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
    process = child.popen([sys.executable, "-I", "-c", code, address], env=child.environment(*_DESKTOP))
    try:
        return process.wait(5.0) == 0
    except subprocess.TimeoutExpired:
        return True  # a browser that stays in the foreground
