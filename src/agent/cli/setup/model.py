"""`alita model list|test|pull|path|rm|serve|status`: the models, and the weights and server of those that run here."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.cli import exits, options
from agent.cli.output import print_json, print_note, print_rows, print_text
from agent.errors import ModelUnreachableError, StorageError

if TYPE_CHECKING:
    from agent.models.embedded.local_server import LocalServer
    from agent.models.embedded.weights import Weights, WeightsSet

app = options.new_app("The models: which there are, what they can do, and the weights of those that run here.")

MB = 1_000_000


class Name(StrEnum):
    """The models whose weights are fetched."""

    EMBEDDED = "embedded"
    SPEECH = "speech"


Which = Annotated[Name, typer.Argument(help="The embedded model, or the one that writes down speech.")]


def _weights(name: Name = Name.EMBEDDED) -> Weights | WeightsSet:
    from agent.configuration.settings_sources import read_settings
    from agent.models.embedded.weights import Weights, WeightsSet

    folder = read_settings().models_dir
    return WeightsSet(folder) if name is Name.SPEECH else Weights(folder)


@app.command()
def pull(name: Which = Name.EMBEDDED, as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Fetches the weights, verifies them, and resumes where an earlier pull stopped."""
    weights = _weights(name)
    new = name is Name.EMBEDDED and not weights.path.exists()
    if quiet:
        path = weights.pull()
    elif sys.stderr.isatty():
        path = _pull_with_bar(weights)
    else:
        path = weights.pull(_Tenths().show)
    if new:
        with contextlib.suppress(ModelUnreachableError, StorageError):  # the first question says so
            _server(path).begin()
    if as_json:
        print_json({"ok": True, "path": str(path), "bytes": sum(stored.size for stored in weights.stored())})
    else:
        print_text(str(path))


@app.command("list")
def list_(base_url: options.BaseUrl = None, as_json: options.AsJson = False) -> None:
    """Lists the models: those of the settings, what their endpoints offer, and the weights on this machine."""
    from agent.cli.setup.model_trying import listed, offered, show_list, show_offered
    from agent.configuration.settings_sources import read_settings

    settings = read_settings({"base_url": base_url})
    models, offers = listed(settings), offered(settings)
    stored = [(name.value, s) for name in Name for s in _weights(name).stored()]
    if as_json:
        weights = [{"model": n, "path": str(s.path), "bytes": s.size, "state": s.state} for n, s in stored]
        print_json({"models": models, "offered": [offer._asdict() for offer in offers], "weights": weights})
        return
    show_list(models)
    show_offered(offers)
    print_rows([(s.path.name, f"{s.size / MB:,.0f} MB", s.state, n) for n, s in stored])
    if not stored:
        print_note("No weights are here. Fetch them with: alita model pull")


@app.command("test")
def try_out(
    name: Annotated[str, typer.Argument(help="A model; the one that answers, if not given.")] = "",
    base_url: options.BaseUrl = None,
    as_json: options.AsJson = False,
) -> None:
    """Asks a model three short questions: how fast it is, what it can do, and what that costs."""
    from agent.cli.setup.model_trying import show_test, tested
    from agent.configuration.project_choice import require_allowed
    from agent.configuration.settings_sources import read_settings

    settings = read_settings({"model": name or None, "base_url": base_url})
    require_allowed(settings)
    report = exits.run(tested(settings, settings.model))
    print_json(report) if as_json else show_test(report)
    raise typer.Exit(0 if report["ok"] else 1)


@app.command()
def path(name: Which = Name.EMBEDDED, as_json: options.AsJson = False) -> None:
    """Prints where the weights are, or will be."""
    where = _weights(name).path
    if as_json:
        print_json({"path": str(where), "exists": where.exists()})
    else:
        print_text(str(where))


@app.command()
def rm(name: Which = Name.EMBEDDED, as_json: options.AsJson = False) -> None:
    """Removes the weights, what an interrupted pull left, and what was computed with them."""
    from agent.configuration.settings_sources import read_settings
    from agent.models.embedded.prefixes import FOLDER

    weights = _weights(name)
    removed = weights.remove()
    if name is Name.EMBEDDED:
        shutil.rmtree(read_settings().cache_dir / FOLDER, ignore_errors=True)
    if as_json:
        print_json({"ok": True, "removed": removed})
    else:
        print_note(f"Removed {weights.path}." if removed else f"There was nothing at {weights.path}.")


@app.command()
def serve(
    stop: Annotated[bool, typer.Option("--stop", help="End the server instead.")] = False,
    as_json: options.AsJson = False,
) -> None:
    """Starts the server in the background, so that the next question need not wait for it."""
    from agent.configuration.settings_sources import read_settings
    from agent.models.embedded.local_server import stop_servers

    if stop:
        ended = stop_servers(read_settings().runtime_dir)
        print_json({"ok": True, "ended": ended}) if as_json else print_note(f"Ended {ended} server(s).")
        return
    exits.run(_start())
    _print_status(as_json=as_json)


@app.command()
def status(as_json: options.AsJson = False) -> None:
    """Tells whether the server runs, and since when."""
    _print_status(as_json=as_json)


async def _start() -> None:
    await _server(_weights().ready()).find()


def _server(weights: Path) -> LocalServer:
    from agent.configuration.settings_sources import read_settings
    from agent.models.embedded.local_server import LocalServer, ServerOptions
    from agent.models.embedded.prefixes import FOLDER

    settings = read_settings()
    wanted = ServerOptions(weights, idle=settings.model_idle_seconds, prefixes=settings.cache_dir / FOLDER)
    return LocalServer(settings.runtime_dir, wanted, notify=print_note)


def _print_status(*, as_json: bool) -> None:
    from agent.configuration.settings_sources import read_settings
    from agent.models.embedded.local_server import running

    servers = [state for _, state in running(read_settings().runtime_dir)]
    if as_json:
        print_json(
            {
                "running": bool(servers),
                "servers": [
                    {
                        "pid": s.pid,
                        "port": s.port,
                        "ready": s.ready,
                        "threads": s.threads,
                        "idle_seconds": s.idle,
                        "seconds": round(time.time() - s.started, 1),
                    }
                    for s in servers
                ],
            }
        )
        return
    for s in servers:
        state = f"port {s.port}" if s.ready else "loading"
        print_text(f"running: process {s.pid}, {state}, {s.threads} threads, ends when idle for {s.idle:.0f} s")
    if not servers:
        print_text("not running; the first question starts it, or: alita model serve")


def _pull_with_bar(weights: Weights | WeightsSet) -> Path:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("weights")
        return weights.pull(
            lambda done, total, source: bar.update(
                task, completed=done, total=total, description=f"weights from the {source}"
            )
        )


class _Tenths:
    """Progress for a log: a line for each tenth."""

    def __init__(self) -> None:
        self._last = -1

    def show(self, done: int, total: int, source: str) -> None:
        tenth = done * 10 // max(total, 1)
        if tenth != self._last:
            self._last = tenth
            print_note(f"weights from the {source}: {done / MB:,.0f} of {total / MB:,.0f} MB")
