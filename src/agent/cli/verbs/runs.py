"""Commands for past questions: `alita runs`, `alita sessions`, `alita cache`, `alita stats` and `alita traces`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from agent.cli import options
from agent.cli.answers import Output, answer
from agent.cli.confirmations import is_confirmed, is_terminal, visible
from agent.cli.options import opt
from agent.cli.output import Result, date_text, done, fields, listing, print_note, print_text
from agent.cli.verbs.completion import run_ids
from agent.configuration.settings import start_of
from agent.errors import RunError, UsageError
from agent.learning.gap_records import known_records
from agent.store import retention, sessions
from agent.store.answer_cache import AnswerCache, AnsweredPrograms, hits_since
from agent.store.databases import has_store, place_of
from agent.store.journal import Journal
from agent.store.own_runs import OwnRuns, require_no_links, what_it_would_do
from agent.store.redact import Redactor
from agent.store.run_index import index_run, indexed
from agent.store.runs import find_run, journal_path, load_run
from agent.store.sessions import delete_session, export_session, find_session, load_session
from agent.traces.render import render, render_page
from agent.traces.statistics import rows_of, statistics_of
from agent.traces.trace import read_trace
from agent.user_files import write_file
from mcp_tools import child
from mcp_tools.text import count_of, duration, one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.answer import Answer
    from agent.configuration.settings import Settings
    from agent.conversation import Turn
    from agent.store.sessions import StoredSession

T = TypeVar("T")
app = options.App("Runs: list, search, show, replay, export and prune them.")

RunId = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN", help="Run id, or its first or last characters (default: the last run).", autocompletion=run_ids
    ),
]


@app.command("list")
def list_(limit: options.MaxRows = 20, as_json: options.AsJson = False) -> Result:
    """Lists runs, newest first."""
    with indexed(options.settings()) as (index, warnings):
        return _run_listing(index.newest(limit), "There are no runs yet.", warnings)


@app.command()
def search(
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS...", help="Words or their beginnings; a run must match all of them.")
    ],
    limit: options.MaxRows = 20,
    as_json: options.AsJson = False,
) -> Result:
    """Finds runs by words in the question, the answer or the steps, newest first."""
    with indexed(options.settings()) as (index, _):
        return _run_listing(index.search(" ".join(words), limit), "No run matches all these words.")


@app.command("path")
def path_(as_json: options.AsJson = False) -> Result:
    """Prints the database that holds the runs; docs/store.md describes it."""
    place = place_of(options.settings())
    return Result({"database": place}, text=place)


def _redacted(value: T) -> T:
    """Return a stored value without keys, which older versions may have stored between invisible characters."""
    return Redactor(options.settings().secrets).values(value)


def _run_listing(runs: list[dict[str, Json]], none: str, warnings: Sequence[str] = ()) -> Result:
    runs = _redacted(runs)
    rows = [(run["run_id"], run["status"], date_text(run["started"]), one_line(run["question"], 200)) for run in runs]
    return listing(runs, rows, none, warnings)


@app.command()
def show(run: RunId = None, as_json: options.AsJson = False) -> Result:
    """Shows a run: its question, answer, files and costs; with --json, every call too."""
    settings = options.settings()
    folder = settings.runs_dir
    try:
        run_id = find_run(folder, run)
    except RunError:
        if run is None or (stored := _elsewhere(settings, run)) is None:
            raise
        return stored
    found, path = _redacted(load_run(folder, run_id)), journal_path(folder, run_id)

    def form() -> dict[str, Json]:
        records = Journal.replay(path).records() if path.exists() else ()
        calls = _redacted([fields(record, "step kind request output error seconds") for record in records])
        return {**found.as_json(), "calls": calls}

    rows = [
        ("run", f"{run_id} ({found.status})"),
        ("question", one_line(found.question, 500)),
        ("model", found.model),
        ("started", date_text(found.started)),
        *(("file", file.path) for file in found.files),
        *(_rows_of(found.answer) if found.answer else ()),
    ]
    more = f"To see every step and call: alita traces show {run_id}"
    return Result(form, rows, note=f"{more}\nTo repeat it without calling a model: alita runs replay {run_id}")


def _rows_of(answer: Answer) -> Iterator[tuple[str, str]]:
    usage, ending = answer.usage, f"the limit of {answer.limit} was reached" if answer.limit else answer.error
    if answer.text:
        yield "answer", one_line(answer.text, 500)
    if ending:
        yield "ended", one_line(ending, 500)
    yield "time", f"{count_of(answer.steps, 'step')} in {duration(answer.seconds)}"
    tokens = f"{count_of(usage.calls, 'model call')}, {count_of(usage.input_tokens + usage.output_tokens, 'token')}"
    yield "usage", tokens + (f", ${usage.cost:.4f}" if usage.cost else "")
    for label, names in (("tools used", answer.tools_used), ("new tools", answer.tools_created)):
        if names:
            yield label, ", ".join(names)
    for file in answer.outputs:
        yield "made", f"{file.path}  {count_of(file.size, 'byte')}"


def _elsewhere(settings: Settings, run: str) -> Result | None:
    """Return what the store knows about a run from another machine or folder, or None."""
    if not has_store(settings):
        return None
    with indexed(settings) as (index, _):
        found = _redacted(index.elsewhere(run))
    if found is None:
        return None
    answer, steps = found.get("answer") or {}, found["steps"]
    machine, _, folder = found["place"].partition(":")
    rows = [
        ("run", f"{found['run_id']} ({found['status']})"),
        ("question", one_line(found["question"], 500)),
        ("model", one_line(found["model"], 100)),
        ("started", date_text(found["started"])),
        *((f"step {one['step']}", one_line(f"{one['action']}: {one['found'] or one['why']}", 500)) for one in steps),
        *([("answer", one_line(answer.get("answer") or answer.get("error") or "", 500))] if answer else []),
    ]
    note = f"Its trace is on the machine {one_line(machine, 100)}, in {one_line(folder, 300)}/{found['run_id']}"
    return Result(found, rows, note=note)


@app.command()
def replay(
    run: RunId = None,
    until: Annotated[int | None, opt("--until STEP", "Replay up to this step, then continue live.", min=0)] = None,
    as_json: options.AsJson = False,
    json_stream: options.JsonStream = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
) -> None:
    """Replays a run from its journal without calling a model. The answer is the same."""
    run_id = find_run(options.settings().runs_dir, run)

    shown = Output(as_json, json_stream, quiet, verbose)
    if not quiet:
        until_step = f" up to step {until}; a new run continues it." if until is not None else ""
        print_note(f"Replay of run {run_id}{until_step or ': no model is called, and nothing is saved.'}")
    raise typer.Exit(
        answer(options.flags(), lambda alita, listen: alita.replay(run_id, until=until, on_event=listen), shown)
    )


@app.command()
def trust(
    run: RunId = None,
    yes: Annotated[bool, opt("--yes -y", "Trust it without asking.")] = False,
    as_json: options.AsJson = False,
) -> Result:
    """Shows what a run from elsewhere would do if resumed, and asks whether to trust it."""
    settings = options.settings()
    found, own = load_run(settings.runs_dir, find_run(settings.runs_dir, run)), OwnRuns(settings)
    effects = visible(what_it_would_do(found))
    if own.has(found):
        return done(f"{found.run_id} was recorded here or is already trusted.", run=found.run_id)
    if not yes and not is_terminal():
        raise UsageError(effects, remedy=f"If you trust it: alita runs trust {found.run_id} --yes")
    if not yes:
        print_note(effects)
        if not is_confirmed("\nTrust it? [y/n] "):
            return Result({"ok": False, "run": found.run_id}, code=1)
    own.trust(found)
    return done(f"Trusted. To continue it: alita resume {found.run_id}", run=found.run_id)


@app.command("export")
def export_run(
    run: RunId = None,
    output: Annotated[Path | None, opt("-o --output FILE", "Archive to write (default: RUN.tar.gz).")] = None,
    as_json: options.AsJson = False,
) -> Result:
    """Exports a run as one archive. Unpack it into another `runs` folder to replay it there."""
    folder = options.settings().runs_dir
    run_id = find_run(folder, run)
    target = output or Path(f"{run_id}.tar.gz")
    return done(f"Wrote {target}.", path=str(target), runs=retention.export(folder, run_id, target))


@app.command()
def prune(
    keep: Annotated[int | None, opt("--keep N", "Keep the N newest runs.", min=0)] = None,
    older: Annotated[str | None, opt("--older PERIOD", "Remove only what is older than 30d, 12h …")] = None,
    dry_run: Annotated[bool, opt("--dry-run", "Only show what would be removed.")] = False,
    as_json: options.AsJson = False,
) -> Result:
    """Removes old runs: by default all that keep_runs does not cover. Runs in use or resumable are kept.

    Runs that a session refers to, or that another run was forked from, are kept too.
    """
    settings = options.settings()
    if keep is None and older is None:
        if settings.keep_runs == "all":
            raise UsageError(
                "keep_runs is all, so there is nothing to remove.", remedy="Say what to remove: --keep N or --older 30d"
            )
        keep, seconds = retention.limits_of(settings.keep_runs)
    else:
        seconds = options.period(older, "--older")
    found = retention.prune(settings, keep=keep, older=seconds, dry_run=dry_run)
    if found.removed and not dry_run:
        index_run(settings)
    kept = f" Kept {count_of(len(found.kept), 'run')} beyond the limit, for the reasons above." if found.kept else ""
    note = f"{retention.describe_removal(found, dry_run=dry_run)}.{kept}"
    form = {"ok": True, "removed": found.removed, "kept": found.kept, "bytes": found.size, "dry_run": dry_run}
    return Result(form, list(found.kept.items()), note=note)


sessions_app = options.App("Sessions: the conversations of the interactive terminal.")

SessionId = Annotated[
    str | None,
    typer.Argument(metavar="SESSION", help="Session id, or its first or last characters (default: the last one used)."),
]


@sessions_app.command("list")
def list_sessions(limit: options.MaxRows = 20, as_json: options.AsJson = False) -> Result:
    """Lists sessions, most recently used first."""
    settings = options.settings()
    found = _redacted(sessions.list_sessions(settings, limit=limit))
    form = [{**fields(s, "id title model started changed parent"), "turns": len(s.turns)} for s in found]
    rows = [(s.id, count_of(len(s.turns), "turn"), date_text(s.changed), s.title) for s in found]
    flaws = [f"{flaw.message}\n  {flaw.remedy}" for flaw in sessions.damaged_sessions(settings)]
    return listing(form, rows, "There are no sessions yet. Start one with: alita", flaws)


@sessions_app.command("show")
def show_session(session: SessionId = None, as_json: options.AsJson = False) -> Result:
    """Shows a session: every question and its answer."""
    found = _session(session)
    rows = [
        ("session", found.id),
        ("title", found.title),
        ("model", found.model),
        ("started", date_text(found.started)),
        ("turns", str(len(found.turns))),
        *([("from", found.parent)] if found.parent else []),
    ]
    return Result(found.as_json(), rows, "".join(f"\n{_shown(turn)}\n" for turn in found.turns))


@sessions_app.command()
def export(
    session: SessionId = None,
    form: Annotated[Literal["md", "json"], opt("--format FORMAT", "md for reading, json for programs.")] = "md",
    output: Annotated[Path | None, opt("-o --output FILE", "File to write (default: stdout).")] = None,
) -> None:
    """Writes a session as Markdown or JSON."""
    text = export_session(_session(session), form)
    if output is None:
        print_text(text)
        return
    write_file(output, text)
    print_note(f"Wrote {output}.")


@sessions_app.command("trust")
def trust_session(
    session: SessionId = None,
    yes: Annotated[bool, opt("--yes -y", "Trust it without asking.")] = False,
    as_json: options.AsJson = False,
) -> Result:
    """Shows a session from elsewhere, and asks whether to trust it. Only trusted sessions can be continued."""
    found = _session(session)
    if found.is_own:
        return done(f"{found.id} was saved here or is already trusted.", session=found.id)
    if not yes and not is_terminal():
        raise UsageError(
            f"The session {found.id} comes from elsewhere and is not trusted.",
            remedy=f"Add --yes to trust it: {found.title}",
        )
    if not yes:
        print_note("\n".join(visible(_shown(turn)) for turn in found.turns))
        if not is_confirmed("\nTrust it? [y/n] "):
            return Result({"ok": False, "session": found.id}, code=1)
    sessions.trust_session(options.settings(), found.id)
    return done(f"Trusted. To continue it: alita --resume {found.id}", session=found.id)


@sessions_app.command()
def delete(
    sessions: Annotated[
        list[str], typer.Argument(metavar="SESSION...", help="Session ids, or their first or last characters.")
    ],
    as_json: options.AsJson = False,
) -> Result:
    """Deletes sessions. Their runs are kept."""
    settings = options.settings()
    found = list(dict.fromkeys(find_session(settings, session) for session in sessions))
    for session_id in found:
        delete_session(settings, session_id)
    return done(f"Deleted {', '.join(found)}.", deleted=found)


def _session(session: str | None) -> StoredSession:
    settings = options.settings()
    return _redacted(load_session(settings, find_session(settings, session)))


def _shown(turn: Turn) -> str:
    lines = [f"> {line}" for line in turn.question.splitlines()]
    if turn.restated:
        lines.append(f"  understood as: {one_line(turn.restated, 500)}")
    lines.append(turn.answer or f"(no answer: {turn.error or turn.status})")
    run = f", run {turn.run_id}" if turn.run_id else ""
    return "\n".join([*lines, f"  ({turn.status.replace('_', ' ')}{run})"])


cache_app = options.App("The answer cache, which answers questions that are repeated within a day.")


@cache_app.command("list")
def list_cache(limit: options.MaxRows = 20, as_json: options.AsJson = False) -> Result:
    """Lists the cached answers, newest first."""
    found = _redacted(AnswerCache(options.settings()).all()[:limit])
    form = [
        {"question": one.question, "answer": one.answer.text, "run_id": one.answer.run_id}
        | {"at": one.at, "bytes": one.size, "counts": one.counts}
        for one in found
    ]
    rows = [
        (
            *(one.answer.run_id, date_text(one.at), "counts" if one.counts else "too old"),
            f"{one_line(one.question or '(question not kept)', 120)} = {one_line(one.answer.text, 120)}",
        )
        for one in found
    ]
    return listing(form, rows, "No answer is cached.")


@cache_app.command("clear")
def clear_cache(
    older: Annotated[str | None, opt("--older PERIOD", "Remove only what is older than 30d, 12h …")] = None,
    as_json: options.AsJson = False,
) -> Result:
    """Removes cached answers, and programs kept for similar questions. Runs are kept."""
    settings, seconds = options.settings(), options.period(older, "--older") or 0.0
    answers = AnswerCache(settings).clear(older=seconds)
    programs = AnsweredPrograms(settings).clear(older=seconds)
    note = f"Removed {count_of(answers, 'answer')} and {count_of(programs, 'program')}."
    return done(note, answers=answers, programs=programs)


stats_app = options.App("Statistics about the questions you asked.")


@stats_app.command()
def stats(
    since: Annotated[
        str | None,
        opt("--since PERIOD", "Start: 7d or 12h ago, or a day such as 2026-11-01 (default: all kept runs)."),
    ] = None,
    as_json: options.AsJson = False,
) -> Result:
    """Shows questions, answers, calls, tokens, cost, tools, failures and times of a period."""
    settings = options.settings()
    try:
        begin = None if since is None else start_of(since, time.time())
    except ValueError as error:
        raise UsageError(f"--since: {error}.", remedy="For example: alita stats --since 7d") from None
    scores: dict[str, bool] = {}
    if (records := known_records(settings)) is not None:
        scores = records.scores()
        records.close()
    hits = hits_since(settings, begin or 0.0)
    found = statistics_of(settings.runs_dir, since=begin, scores=scores, cache_hits=hits)
    return Result(found, rows_of(found))


traces_app = options.App("Traces: every step and every call of a run.")

_DESKTOP = (
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_*", "DESKTOP_SESSION", "DBUS_SESSION_BUS_ADDRESS", "BROWSER",
    "TMPDIR",
)  # fmt: skip

Full = Annotated[bool, opt("--full", "Show prompts and outputs in full.")]


@traces_app.command("show")
def show_trace(
    run: RunId = None,
    step: Annotated[int | None, opt("--step N", "Show only this step, with its prompts and outputs.", min=0)] = None,
    full: Full = False,
    as_json: options.AsJson = False,
) -> Result:
    """Shows a run as a tree of its steps, with each call's time, tokens, cost, prompt and output."""
    trace = _redacted(read_trace(options.settings().runs_dir, run))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 160
    return Result(trace.as_json, text=render(trace, width=width, step=step, full=full))


@traces_app.command("table")
def table_(
    ledger: Annotated[
        Path | None, typer.Argument(metavar="LEDGER", help="Ledger of a benchmark (default: the newest runs).")
    ] = None,
    limit: options.MaxRows = 50,
    as_json: options.AsJson = False,
) -> Result:
    """Shows a row for each run, or for each attempt of a benchmark with what was learned from it."""
    from agent.gaia.configuration import ledger_meant
    from agent.gaia.ledger import read_ledger

    none = "There are no attempts yet."
    if ledger is None:
        with indexed(options.settings()) as (index, _):
            return _run_listing(index.newest(limit), none)
    records = read_ledger(ledger_meant(ledger))
    lessons = {lesson.run_id: lesson for lesson in records.lessons}
    form: list[Json] = []
    rows = []
    for attempt in records.attempts:
        lesson = lessons.get(attempt.run_id)
        form.append({**attempt.as_json(), "lesson": asdict(lesson) if lesson else None})
        learned = f" → {lesson.record or lesson.problem}" if lesson else ""
        judged = attempt.resolution or attempt.confidence
        name = f"{attempt.task_id} {attempt.epoch}"
        rows.append((name, attempt.status, judged, one_line(attempt.answer or attempt.error, 60) + learned))
    return listing(_redacted(form), _redacted(rows), none)


@traces_app.command("open")
def open_(
    run: RunId = None,
    output: Annotated[Path | None, opt("-o --output FILE", "File to write (default: in the run's folder).")] = None,
    full: Full = False,
    no_open: Annotated[bool, opt("--no-open", "Write the page without opening a browser.")] = False,
) -> None:
    """Writes a run as one self-contained HTML page and opens it in the browser."""
    folder = options.settings().runs_dir
    trace = _redacted(read_trace(folder, run))
    path = output or folder / trace.run.run_id / "trace.html"
    if output is None:
        require_no_links(folder / trace.run.run_id)
    write_file(path, render_page(trace, full=full))
    print_text(str(path))
    has_display = sys.platform in {"darwin", "win32"} or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not no_open and not has_display:
        print_note("No display was found. Open the page yourself.")
    elif not no_open and not _open_browser(path.resolve().as_uri()):
        print_note("No browser could be started. Open the page yourself.")


def _open_browser(address: str) -> bool:
    """Open an address in the user's browser, which gets neither our API keys nor our streams."""
    code = "import sys, webbrowser; sys.exit(not webbrowser.open(sys.argv[1]))"
    process = child.popen([sys.executable, "-I", "-c", code, address], env=child.environment(*_DESKTOP))
    try:
        return process.wait(5.0) == 0
    except subprocess.TimeoutExpired:
        return True  # the browser runs in the foreground
