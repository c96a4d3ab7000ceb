"""`alita gaps …`: the gap records, which tell what went wrong with questions of a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agent.cli import options
from agent.cli.options import opt
from agent.cli.output import date_text, fields, print_done, print_json, print_list, print_rows
from agent.learning.gap_records import GapRecords
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.learning.gap_records import RecordStatus

app = options.new_app("Gap records: what went wrong with questions of a kind, and what to do instead.")

Ids = Annotated[list[str], typer.Argument(metavar="RECORD...", help="Ids, or their beginnings.")]
Id = Annotated[str, typer.Argument(metavar="RECORD", help="The id or its beginning.")]
_STATUS = "new, approved or rejected; all if not given."
_FIELDS = "id kind situation pattern advice status seen created updated"


def _records() -> GapRecords:
    return GapRecords(options.settings().gaps_file)


@app.command("list")
def list_(
    status: Annotated[Literal["new", "approved", "rejected"] | None, opt("--status STATUS", _STATUS)] = None,
    limit: options.Limit = 50,
    as_json: options.AsJson = False,
) -> None:
    """Lists the records, the newest first."""
    found = [record for record in _records().all() if status in (None, record.status)][:limit]
    rows = [(r.id, r.status, f"{r.seen} ×", r.kind, one_line(r.pattern, 200)) for r in found]
    none = "There are no gap records. A benchmark writes them: alita gaia run FILE --learning grow"
    print_list(as_json, [fields(record, _FIELDS) for record in found], rows, none)


@app.command()
def show(record: Id, as_json: options.AsJson = False) -> None:
    """Shows a record, and how the questions went that were planned with it."""
    records = _records()
    found = records.get(record)
    known = records.help_of([found.id])[found.id]
    if as_json:
        print_json({**fields(found, _FIELDS), **fields(known, "shown right others others_right")})
        return
    print_rows(
        [
            ("record", f"{found.id} ({found.status})"),
            ("kind", found.kind),
            ("when", found.situation),
            ("what goes wrong", found.pattern),
            ("instead", found.advice),
            ("found", f"{found.seen} times, last {date_text(found.updated)}"),
            (
                "helped",
                f"{known.right} of {known.shown} questions planned with it were right; "
                f"{known.others_right} of {known.others} others of its kind",
            ),
        ]
    )


@app.command()
def approve(records: Ids, as_json: options.AsJson = False) -> None:
    """Lets the planner see records even where only reviewed ones count (gaps = "reviewed")."""
    _marked(records, "approved", as_json)


@app.command()
def reject(records: Ids, as_json: options.AsJson = False) -> None:
    """Keeps records from the planner, and from being written again."""
    _marked(records, "rejected", as_json)


def _marked(names: list[str], status: RecordStatus, as_json: bool) -> None:
    records = _records()
    found = [records.get(name).id for name in names]
    for name in found:
        records.mark(name, status)
    print_done(as_json, f"{status.capitalize()}: {', '.join(found)}.", status=status, records=found)


@app.command()
def delete(records: Ids, as_json: options.AsJson = False) -> None:
    """Deletes records. The overseer may write them again; `alita gaps reject` prevents that."""
    store = _records()
    found = [store.get(name).id for name in records]
    for name in found:
        store.delete(name)
    print_done(as_json, f"Deleted {', '.join(found)}.", records=found)
