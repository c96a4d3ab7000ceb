"""Printing: answers and data on stdout, everything else on stderr, nothing that could steer a terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from mcp_tools.sandbox.protocol import Isolation


def choose_color(when: str) -> None:
    """Turns colour on (`always`) or off (`never`) in all that this process prints; `auto` changes nothing."""
    if when != "auto":
        for name in ("NO_COLOR", "FORCE_COLOR"):
            os.environ.pop(name, None)
        os.environ["FORCE_COLOR" if when == "always" else "NO_COLOR"] = "1"


def print_text(text: str) -> None:
    """Text for people on stdout."""
    print(printable(text).rstrip("\n"), flush=True)


def print_json(value: Any, *, line: bool = False) -> None:
    """JSON on stdout; `line` puts it on one. Pure ASCII, so no character in it can steer a terminal."""
    print(json.dumps(value, indent=None if line else 2), flush=True)


def print_note(text: str) -> None:
    """A remark for people on stderr; a terminal that is too narrow breaks its lines between words."""
    lines = printable(text).split("\n")
    if sys.stderr.isatty() and max(map(len, lines)) > (width := shutil.get_terminal_size().columns):
        margins = [" " * (len(line) - len(line.lstrip())) for line in lines]
        rows = [rows_of(each.strip(), width, head=by, indent=by) for each, by in zip(lines, margins, strict=True)]
        lines = [row for of_line in rows for row in of_line]
    print("\n".join(lines), file=sys.stderr, flush=True)


def fields(of: Any, names: str) -> dict[str, Any]:
    """The named attributes, for `--json`."""
    return {name: getattr(of, name) for name in names.split()}


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a command: one JSON value with `--json`, else rows and text on stdout and a note on stderr.

    The last cell of a row is as long as it likes, and broken into further rows on a terminal.
    """

    form: Any
    """The JSON value, or what makes it if it costs something."""
    rows: Sequence[tuple[str, ...]] = ()
    text: str = ""
    note: str = ""
    warnings: Sequence[str] = ()
    """On stderr with `--json`, too."""
    code: int = 0
    """With which the command exits."""

    def print(self, as_json: bool = False, *, quiet: bool = False) -> None:
        """Prints it; `quiet` leaves its note out."""
        if as_json:
            print_json(self.form() if callable(self.form) else self.form)
        else:
            if self.rows:
                width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
                print("\n".join(columns(self.rows, width)), flush=True)
            if self.text:
                print_text(self.text)
            if self.note and not quiet:
                print_note(self.note)
        for warning in self.warnings:
            print_note(warning)


def listing(form: Any, rows: Sequence[tuple[str, ...]], none: str, warnings: Sequence[str] = ()) -> Result:
    """Return a result of found items; `none` is the note where that is nothing."""
    return Result(form, rows, note="" if rows else none, warnings=warnings)


def done(note: str, **form: Any) -> Result:
    """Return a result of an action: a note for people, or an object with `ok`."""
    return Result({"ok": True, **form}, note=note)


def warn_of_isolation(settings: Settings, isolation: Isolation) -> None:
    """Says that nothing isolates tools, or that less does than before."""
    from agent.resources import isolation_lowered

    if isolation.level == "weak":
        print_note("Warning: tools run without a sandbox and with your permissions (--no-isolation).")
    if lowered := isolation_lowered(settings, isolation):
        print_note(f"Warning: {lowered}")


def error_text(error: AlitaError) -> str:
    """Return the event and the advice."""
    return f"alita: {error.message}" + (f"\n       {error.remedy}" if error.remedy else "")


def error_json(error: AlitaError) -> dict[str, Any]:
    """Return the form of an error for `--json`."""
    return {"kind": type(error).__name__, "message": error.message, "remedy": error.remedy}


_NARROW = 16
"""Minimum width of a column; below it, the text continues in the next row."""


def columns(rows: Sequence[tuple[str, ...]], width: int | None, *, indent: str = "") -> list[str]:
    """Rows as lines, in columns of which only the last may be longer than half the width; indented cells are cut."""
    most = width // 2 if width else sys.maxsize
    safe = [[" ".join(printable(cell).split()) for cell in row] for row in rows]
    heads = [[one_line(cell, most) if indent else cell for cell in row[:-1]] for row in safe]
    widths = [min(max(map(len, column)), most) for column in zip(*heads, strict=True)]
    lines: list[str] = []
    for cells, (*_, last) in zip(heads, safe, strict=True):
        head = indent + "".join(f"{cell:<{size}}  " for cell, size in zip(cells, widths, strict=True))
        if width is None:
            lines.append(f"{head}{last}".rstrip())
        elif width - len(head) < min(len(last), _NARROW):
            lines += rows_of(f"{head}{last}", width, head="", indent=f"{indent}    ")
        else:
            lines += rows_of(last, width, head=head, indent=" " * min(len(head), most))
    return lines


def rows_of(text: str, width: int, *, head: str = "  ", indent: str = "  ") -> list[str]:
    """Breaks text into rows of at most `width` columns, so that none begins where a prompt begins."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    rows: list[str] = []
    for line in printable(text).expandtabs(4).split("\n"):
        start = indent if rows else head
        wrapped = Text(line).wrap(Console(), max(width - max(cell_len(start), cell_len(indent)), 8), overflow="fold")
        for row in wrapped or [""]:
            rows.append(f"{indent if rows else head}{row}".rstrip())
    return rows


def date_text(seconds: float) -> str:
    """A date and time as people here write it, from seconds since 1970."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
