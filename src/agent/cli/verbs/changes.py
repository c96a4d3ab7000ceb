"""`alita changes [RUN]`: shows and applies the changes that programs made in a copy of the user's folder."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import options
from agent.cli.confirmations import choose, has_keyboard
from agent.cli.options import opt
from agent.cli.output import Result, print_note
from agent.cli.verbs.completion import run_ids
from agent.configuration.settings import COPY, FOLDER, NEW_COPY
from agent.configuration.settings_sources import read_settings
from agent.errors import AlitaError, RunError
from agent.material.folder import FolderCopy, shown_name
from agent.material.folder_changes import Applied, Change, Changes, apply, changes_of, diff
from agent.records import as_plain
from agent.store.own_runs import OwnRuns
from agent.store.runs import ID, find_run, list_runs, load_run
from mcp_tools.text import count_of

if TYPE_CHECKING:
    from agent.answer import Answer
    from agent.configuration.settings import Settings

app = options.App("Shows and applies the changes that programs made to a copy of your folder.")

_MAY_BE_RUN = re.compile(r"[\da-z-]+")
_SEARCHED = 200
_LISTED = 50
_LONGEST_DIFF = 2_000
"""Maximum total number of diff lines shown."""


@app.command()
def changes(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="Run id (default: the last with a folder).", autocompletion=run_ids),
    ] = None,
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE...", help="Limit to these files.")] = None,
    applies: Annotated[bool, opt("--apply", "Apply the changes to your folder.")] = False,
    as_json: options.AsJson = False,
) -> Result:
    """Shows the changes that programs made to a copy of your folder; applies all or some."""
    if run is not None and not _MAY_BE_RUN.fullmatch(run):  # `alita changes --apply README.md`
        files, run = [run, *(files or ())], None
    copy = copy_of_run(options.settings(), run)
    found = changes_of(copy)
    chosen = found.named(files or ())
    form: dict[str, Any] = {"ok": True, "folder": str(copy.root), "copy": str(copy.folder)}
    form |= {"changes": [as_plain(one.public) for one in found.files], "never": [list(one) for one in found.never]}
    if applies:
        applied = apply(copy, chosen)
        done = {one.path for one in chosen}
        lines_applied = [*_report_lines(applied), *_by_name(one for one in found.files if one.path not in done)]
        form |= {"applied": list(applied.done), "left": [{"path": path, "why": why} for path, why in applied.left]}
        return Result(form | {"ok": not applied.left}, text="\n".join(lines_applied), code=1 if applied.left else 0)
    shown = found.files if not files else chosen
    lines = [*summary(shown, found), *_differences(copy, shown)]
    return Result(form, text="\n".join(lines) if shown or found.never else "Nothing was changed.")


def copy_of_run(settings: Settings, run_id: str | None) -> FolderCopy:
    """Return the folder copy that a run worked on; if no id is given, that of the newest run with a copy.

    Raises:
        RunError: There is no such run, the run has no copy, or it was not made here.
    """
    runs, own = settings.runs_dir, OwnRuns(settings)
    if run_id is None:
        known = (run for run in list_runs(runs, limit=_SEARCHED) if run.configuration.get(COPY) and own.has(run))
        run = next(known, None)
        if run is None:
            raise RunError(
                "No run has worked on a copy of a folder.", remedy='To start one: alita --folder DIR --write "…"'
            )
    else:
        run = load_run(runs, find_run(runs, run_id))
    copy = run.configuration.get(COPY, "")
    place = run.run_id if copy == NEW_COPY else copy
    if not ID.fullmatch(place):
        raise RunError(
            f"The run {run.run_id} did not work on a copy of a folder.",
            remedy='To start one: alita --folder DIR --write "…"',
        )
    if not own.has(run):
        raise RunError(
            f"The run {run.run_id} comes from elsewhere and is not trusted.",
            remedy=f"If you trust it: alita runs trust {run.run_id}",
        )
    return FolderCopy(Path(run.configuration[FOLDER]), (runs / place).absolute())


def summary(files: Sequence[Change], found: Changes) -> list[str]:
    """Return one line for each changed file, and one for each file that is never applied."""
    lines = [f"  {_line(one)}" for one in files[:_LISTED]]
    lines += [f"  … and {count_of(len(files) - _LISTED, 'more file')}"] if len(files) > _LISTED else []
    never = [f"  never applied: {shown_name(name)} ({why})" for name, why in found.never]
    return [*lines, *never[:_LISTED]]


def _line(change: Change) -> str:
    before, after = (f"{size:,}" if size is not None else "–" for size in (change.bytes_before, change.bytes_after))
    named = "  (applied only by name, because programs may run it)" if change.acts_by_itself else ""
    return f"{change.kind:<8} {shown_name(change.path)}  {before} → {after} bytes{named}"


def _differences(copy: FolderCopy, files: Sequence[Change]) -> list[str]:
    lines: list[str] = []
    for change in files:
        if len(lines) > _LONGEST_DIFF:
            return [*lines[:_LONGEST_DIFF], "… To see the rest: alita changes RUN FILE"]
        if text := diff(copy, change):
            lines += ["", *text.split("\n")]
    return lines


def _report_lines(applied: Applied) -> list[str]:
    lines = [f"Applied {count_of(len(applied.done), 'change')}."]
    lines += [f"  not applied: {shown_name(path)}: {why}; both versions are kept" for path, why in applied.left]
    return lines + ([f"Removed files are kept in {applied.kept}."] if applied.kept is not None else [])


def _by_name(files: Any) -> list[str]:
    return [f"  not applied: {shown_name(one.path)}: give its name to apply it" for one in files if one.acts_by_itself]


async def offer_changes(
    flags: Mapping[str, Any], answer: Answer, *, asks: bool, known: Changes | None = None
) -> Changes | None:
    """Show the changes in the copy of the user's folder, and ask which to apply. Without a terminal, none are applied.

    Args:
        flags: The command's settings.
        answer: The run's answer.
        asks: False if the user must not be asked.
        known: Changes about which the user has already decided.

    Returns:
        The changes that were not applied; None if they cannot be read.
    """
    found = None
    try:
        copy = copy_of_run(read_settings(dict(flags)), answer.run_id)
        found = await asyncio.to_thread(changes_of, copy)
        if not found.files or found == known:
            return found
        count = count_of(len(found.files), "file")
        later = f"alita changes {answer.run_id} --apply"
        if not asks or not has_keyboard():
            print_note(
                f"{count} changed in a copy of {shown_name(str(copy.root))}; nothing is applied. To apply: {later}"
            )
            return found
        print_note(f"Changed in a copy of {shown_name(str(copy.root))}:")
        for line in summary(found.files, found):
            print_note(line)
        chosen = await _chosen(copy, found)
        if chosen:
            for line in _report_lines(await asyncio.to_thread(apply, copy, chosen)):
                print_note(line)
            found = await asyncio.to_thread(changes_of, copy)
        if found.files:
            print_note(f"The rest is not applied. To apply it later: {later}{' FILE…' if chosen else ''}")
    except AlitaError as error:
        print_note(f"alita: {error.message}")
    return found


async def _chosen(copy: FolderCopy, found: Changes) -> list[Change]:
    choices = {"a": "all", "f": "by file", "n": "none", "d": "show diff"}
    question = f"Apply {count_of(len(found.files), 'change')} to your folder?"
    while (typed := await choose(question, choices)) == "d":
        for line in _differences(copy, found.files):
            print_note(line)
    if typed == "a":
        return found.named(())
    chosen: list[Change] = []
    for change in found.files if typed == "f" else ():
        ways = {"y": "yes", "n": "no", "d": "show diff", "q": "quit"}
        while (typed := await choose(f"{_line(change)}: apply it?", ways)) == "d":
            print_note(diff(copy, change) or "The content of this file is not shown.")
        if typed in {"q", ""}:
            break
        chosen += [change] if typed == "y" else []
    return chosen
