"""`alita gaps …`: gap records, which describe failures on a kind of question."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agent.cli import options
from agent.cli.options import opt
from agent.cli.output import Result, date_text, done, fields, listing, print_note, print_text
from agent.errors import UsageError
from agent.learning.gap_records import GapRecord, GapRecords
from agent.records import json_lines
from agent.user_files import write_file
from mcp_tools.errors import AlitaError, os_errors_as
from mcp_tools.small_files import JOURNAL, read_small
from mcp_tools.text import count_of, one_line

if TYPE_CHECKING:
    from agent.learning.gap_records import Help

app = options.App("Gap records: what went wrong with a kind of question, and what to do instead.")

Ids = Annotated[list[str], typer.Argument(metavar="RECORD...", help="Record ids, or their first characters.")]
Id = Annotated[str, typer.Argument(metavar="RECORD", help="A record id, or its first characters.")]
_STATUS = "List only records with this status: new, approved or rejected."
_FIELDS = "id kind situation pattern advice status seen created updated"


def _records() -> GapRecords:
    return GapRecords(options.settings())


@app.command("list")
def list_(
    status: Annotated[Literal["new", "approved", "rejected"] | None, opt("--status STATUS", _STATUS)] = None,
    limit: options.MaxRows = 50,
    as_json: options.AsJson = False,
) -> Result:
    """Lists the records, the newest first."""
    found = [record for record in _records().all() if status in (None, record.status)][:limit]
    rows = [(r.id, r.status, f"{r.seen} ×", r.kind, one_line(r.pattern, 200)) for r in found]
    none = "There are no gap records. A benchmark writes them: alita gaia run FILE --learning grow"
    return listing([fields(record, _FIELDS) for record in found], rows, none)


@app.command()
def show(record: Id, as_json: options.AsJson = False) -> Result:
    """Shows a record, and how questions planned with it turned out."""
    records = _records()
    found = records.get(record)
    known = records.help_of([found.id])[found.id]
    rows = [
        ("record", f"{found.id} ({found.status})"),
        ("kind", found.kind),
        ("when", found.situation),
        ("what goes wrong", found.pattern),
        ("instead", found.advice),
        ("found", f"{found.seen} times, last {date_text(found.updated)}"),
        ("helped", _help_text(known)),
    ]
    return Result({**fields(found, _FIELDS), **fields(known, "shown right others others_right")}, rows)


def _help_text(known: Help) -> str:
    return (
        f"{known.right} of {known.shown} questions planned with it were answered correctly; "
        f"{known.others_right} of {known.others} others of its kind"
    )


@app.command()
def approve(records: Ids, as_json: options.AsJson = False) -> Result:
    """Approves records: the planner sees them even with gaps = "reviewed"."""
    return _marked(records, "approved")


@app.command()
def reject(records: Ids, as_json: options.AsJson = False) -> Result:
    """Rejects records: the planner no longer sees them, and they are not learned again."""
    return _marked(records, "rejected")


def _marked(names: list[str], status: str) -> Result:
    records = _records()
    found = [records.get(name).id for name in names]
    for name in found:
        records.change(name, status=status)
    return done(f"{status.capitalize()}: {', '.join(found)}.", status=status, records=found)


@app.command()
def edit(
    record: Id,
    situation: Annotated[str | None, opt("--situation TEXT", "When it applies.")] = None,
    pattern: Annotated[str | None, opt("--pattern TEXT", "What goes wrong.")] = None,
    advice: Annotated[str | None, opt("--advice TEXT", "What to do instead.")] = None,
    as_json: options.AsJson = False,
) -> Result:
    """Changes the text of a record."""
    given = {"situation": situation, "pattern": pattern, "advice": advice}
    wanted = {name: text for name, text in given.items() if text is not None}
    if not wanted:
        raise UsageError("No change was given.", remedy="Use --situation, --pattern or --advice.")
    records = _records()
    changed = records.change(records.get(record).id, **wanted)
    return done(f"Changed {changed.id}.", **fields(changed, _FIELDS))


@app.command()
def merge(record: Id, others: Ids, as_json: options.AsJson = False) -> Result:
    """Merges records into the first, keeping its wording and adding up the counts."""
    kept = _records().merge(record, others)
    return done(f"Merged into {kept.id}, which was found {kept.seen} times.", **fields(kept, _FIELDS))


@app.command()
def delete(records: Ids, as_json: options.AsJson = False) -> Result:
    """Deletes records. The overseer may write them again; `alita gaps reject` prevents that."""
    store = _records()
    found = [store.get(name).id for name in records]
    for name in found:
        store.delete(name)
    return done(f"Deleted {', '.join(found)}.", records=found)


@app.command()
def export(
    output: Annotated[Path | None, opt("-o --output FILE", "File to write (default: stdout).")] = None,
) -> None:
    """Exports all records as JSON lines. Their questions appear only as hashes."""
    text = "".join(json.dumps(line) + "\n" for line in _records().exported())
    if output is None:
        print_text(text) if text else print_note("There are no gap records.")
        return
    write_file(output, text)
    print_note(f"Wrote {output}.")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines as written by export; - for stdin.")],
    as_json: options.AsJson = False,
) -> Result:
    """Imports records as new; approve the ones you trust. Invalid lines are reported and skipped."""
    with os_errors_as(UsageError, f"Cannot read {file}", "Give the name of a JSON Lines file."):
        raw = sys.stdin.read().encode(errors="surrogateescape") if str(file) == "-" else read_small(file, JOURNAL)
    records, taken, problems = _records(), list[GapRecord](), list[str]()
    for number, found in json_lines(raw):
        if isinstance(found, str):
            problems.append(f"line {number}: {found}")
            continue
        try:
            taken.append(records.take(found))
        except AlitaError as error:
            problems.append(f"line {number}: {error.message}")
    ids = [record.id for record in taken]
    rest = f"; skipped {count_of(len(problems), 'invalid line')}" if problems else ""
    return Result(
        {"ok": True, "records": ids, "problems": problems},
        note=f"Imported {count_of(len(ids), 'record')}{rest}.",
        warnings=[f"{file}: {problem}" for problem in problems],
        code=1 if problems and not taken else 0,
    )


@app.command()
def stats(as_json: options.AsJson = False) -> Result:
    """Shows, for each record, whether questions planned with it did better than others of its kind."""
    records = _records()
    found = records.all()
    helped = records.help_of(record.id for record in found)
    form = [
        {**fields(r, "id kind status seen"), **fields(helped[r.id], "shown right others others_right")} for r in found
    ]
    rows = [(r.id, r.status, r.kind, _help_text(helped[r.id])) for r in found]
    return listing(form, rows, "There are no gap records yet.")
