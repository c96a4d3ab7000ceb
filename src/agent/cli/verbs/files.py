"""`alita files show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli import exits, options
from agent.cli.options import opt
from agent.cli.output import Result, print_note
from agent.errors import UsageError
from agent.files.media.speech import from_settings
from agent.files.reading import preview, read
from mcp_tools.text import count_of

app = options.App("Shows files as the agent reads them.")


@app.callback()
def group() -> None:
    """Shows files as the agent reads them."""


@app.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any file: a workbook, a PDF, an archive, a recording.")],
    page: Annotated[int | None, opt("--page N", "Show this page only.", min=1)] = None,
    to: Annotated[int | None, opt("--to N", "Last page to show.", min=1)] = None,
    find: Annotated[str, opt("--find WORDS", "Show lines that contain all these words.")] = "",
    as_json: options.AsJson = False,
) -> Result:
    """Shows a summary and the beginning of a file, some of its pages, or lines with given words."""
    if to is not None and to < (page or 1):
        raise UsageError(f"Page {to} comes before page {page or 1}.", remedy="Give --to the last page to show.")
    speech = from_settings(options.settings())
    if page is None and to is None and not find.strip():
        seen = exits.run(preview(file, speech=speech))
        form = {"name": file.name, "kind": seen.kind, "bytes": seen.size, "summary": seen.summary}
        form |= {"beginning": seen.text, "shown": seen.label, "pages": seen.sections, "facts": seen.facts}
        pages = "" if seen.sections is None else f", {count_of(seen.sections, 'page')}"
        shown = f"; shown: {seen.label}" if seen.label else ""
        text = f"{file.name}: {seen.kind}, {seen.size:,} bytes{pages}{shown}\n{seen.summary}\n\n{seen.text}"
        more, lost, notes = "", seen.lost, seen.notes
    else:
        part = exits.run(read(file, page=page or 1, to=to, find=find, speech=speech))
        form = {"name": file.name, "where": part.where, "text": part.text, "more": part.more}
        text, more, lost, notes = part.text, part.more, part.lost, part.notes
        print_note(f"{file.name}: {part.where}")
    remarks = [*([more] if more else []), *(f"not shown: {one}" for one in lost), *(f"note: {one}" for one in notes)]
    return Result({"ok": True, **form, "lost": lost, "notes": notes}, text=text, note="\n".join(remarks))
