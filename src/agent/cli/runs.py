"""`alita runs list|search|show|replay`."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import options
from agent.cli.completion import run_ids
from agent.cli.output import print_json, print_note, print_rows, print_text
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.alita import Alita, Listener
    from agent.answering.answer import Answer
    from agent.consent.approval import Approve
    from agent.store.runs import Run

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
    from agent.configuration.settings_sources import read_settings
    from agent.store.runs import list_runs

    _show(list_runs(read_settings().runs_dir, limit=limit), as_json=as_json, none="There are no runs yet.")


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORDS...", help="All of them must occur.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20,
    as_json: options.AsJson = False,
) -> None:
    """Finds runs by words of the question or the answer, newest first."""
    from agent.configuration.settings_sources import read_settings
    from agent.store.runs import list_runs

    wanted = " ".join(words).casefold().split()

    def fits(run: Run) -> bool:
        text = f"{run.question}\n{run.answer.text if run.answer else ''}".casefold()
        return all(word in text for word in wanted)

    found = [run for run in list_runs(read_settings().runs_dir) if fits(run)]
    _show(found[:limit], as_json=as_json, none="No run has these words.")


def _show(runs: list[Run], *, as_json: bool, none: str) -> None:
    if as_json:
        print_json([run.as_json() for run in runs])
        return
    print_rows([(run.run_id, run.status, _when(run.started), one_line(run.question, 200)) for run in runs])
    if not runs:
        print_note(none)


@app.command()
def show(run: RunId = None, as_json: options.AsJson = False) -> None:
    """Shows a run: question, answer and every call."""
    from agent.configuration.settings_sources import read_settings
    from agent.store.journal import Journal, Record
    from agent.store.runs import find_run, journal_path, load_run

    folder = read_settings().runs_dir
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
        ("started", _when(found.started)),
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
    from agent.cli.answering import Output, answer
    from agent.configuration.settings_sources import read_settings
    from agent.store.runs import find_run

    run_id = find_run(read_settings().runs_dir, run)
    output = Output(as_json, json_stream, quiet, verbose)

    def work(alita: Alita, listen: Listener, someone: Approve | None) -> Awaitable[Answer]:
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


def _when(started: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(started))
