"""`alita files show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli import exits, options
from agent.cli.output import print_json, print_note, print_text

app = options.new_app("Files, as the agent reads them.")


@app.callback()
def group() -> None:
    """Files, as the agent reads them."""


@app.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any file: a workbook, a PDF, an archive, a recording.")],
    page: Annotated[int | None, typer.Option("--page", metavar="N", min=1, help="Only this page.")] = None,
    to: Annotated[int | None, typer.Option("--to", metavar="N", min=1, help="The last page.")] = None,
    find: Annotated[str, typer.Option("--find", metavar="WORDS", help="The lines that have these words.")] = "",
    as_json: options.AsJson = False,
) -> None:
    """Shows what a file is and how it begins; or pages of it, or where words occur."""
    from agent.files.reading import preview, read

    if page is None and to is None and not find.strip():
        seen = exits.run(preview(file))
        if as_json:
            form = {"name": seen.name, "kind": seen.kind, "bytes": seen.size, "summary": seen.summary}
            parts = {"beginning": seen.shown.text, "shown": seen.shown.label, "pages": seen.sections}
            print_json({"ok": True, **form, **parts, "facts": seen.facts, "lost": list(seen.lost)})
            return
        pages = "" if seen.sections is None else f", {seen.sections:,} page{'' if seen.sections == 1 else 's'}"
        shown = f"; shown: {seen.shown.label}" if seen.shown.label else ""
        print_text(f"{seen.name}: {seen.kind}, {seen.size:,} bytes{pages}{shown}\n{seen.summary}\n\n{seen.shown.text}")
        _print_lost(seen.lost)
        return
    reading = exits.run(read(file, page=page or 1, to=to, find=find))
    if as_json:
        where = {"name": reading.name, "where": reading.where, "text": reading.text}
        print_json({"ok": True, **where, "more": reading.more, "lost": list(reading.lost)})
        return
    print_note(f"{reading.name}: {reading.where}")
    if reading.text:
        print_text(reading.text)
    if reading.more:
        print_note(reading.more)
    _print_lost(reading.lost)


def _print_lost(lost: tuple[str, ...]) -> None:
    for sentence in lost:
        print_note(f"note: {sentence}")
