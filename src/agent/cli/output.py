"""Prints answers and data to stdout and everything else to stderr, without control sequences."""

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
    """Force colour on (`always`) or off (`never`) for all output; `auto` changes nothing."""
    if when != "auto":
        for name in ("NO_COLOR", "FORCE_COLOR"):
            os.environ.pop(name, None)
        os.environ["FORCE_COLOR" if when == "always" else "NO_COLOR"] = "1"


def print_text(text: str) -> None:
    """Print text for people to stdout."""
    print(printable(text).rstrip("\n"), flush=True)


def print_json(value: Any, *, line: bool = False) -> None:
    """Print JSON to stdout as pure ASCII, so that it cannot control a terminal. `line` prints it on one line."""
    print(json.dumps(value, indent=None if line else 2), flush=True)


def print_note(text: str) -> None:
    """Print a note for people to stderr, wrapped to the terminal's width."""
    lines = printable(text).split("\n")
    if sys.stderr.isatty() and max(map(len, lines)) > (width := shutil.get_terminal_size().columns):
        margins = [" " * (len(line) - len(line.lstrip())) for line in lines]
        rows = [rows_of(each.strip(), width, head=by, indent=by) for each, by in zip(lines, margins, strict=True)]
        lines = [row for of_line in rows for row in of_line]
    print("\n".join(lines), file=sys.stderr, flush=True)


def fields(of: Any, names: str) -> dict[str, Any]:
    """Return the named attributes as a dictionary, for `--json`."""
    return {name: getattr(of, name) for name in names.split()}


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a command. `--json` prints `form`. Otherwise, rows and text go to stdout, and the note to stderr.

    The last cell of a row may be long; it is wrapped to the terminal's width.
    """

    form: Any
    """The JSON value, or a function that returns it."""
    rows: Sequence[tuple[str, ...]] = ()
    text: str = ""
    note: str = ""
    warnings: Sequence[str] = ()
    """Warnings, which are printed to stderr even with `--json`."""
    code: int = 0
    """The command's exit code."""

    def print(self, as_json: bool = False, *, quiet: bool = False) -> None:
        """Print the result. `quiet` omits the note."""
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
    """Return a result that lists rows. `none` is the note to print if there are no rows."""
    return Result(form, rows, note="" if rows else none, warnings=warnings)


def done(note: str, **form: Any) -> Result:
    """Return the result of an action: a note for people, and `form` plus `ok` for JSON."""
    return Result({"ok": True, **form}, note=note)


def warn_of_isolation(settings: Settings, isolation: Isolation) -> None:
    """Warn if tools run without a sandbox or in a weaker one than before."""
    from agent.resources import isolation_lowered

    if isolation.level == "weak":
        print_note("Warning: tools run without a sandbox and with your permissions (--no-isolation).")
    if lowered := isolation_lowered(settings, isolation):
        print_note(f"Warning: {lowered}")


def error_text(error: AlitaError) -> str:
    """Return an error's message and remedy as text."""
    return f"alita: {error.message}" + (f"\n       {error.remedy}" if error.remedy else "")


def error_json(error: AlitaError) -> dict[str, Any]:
    """Return an error as JSON."""
    return {"kind": type(error).__name__, "message": error.message, "remedy": error.remedy}


_NARROW = 16
"""Minimum width of the last column. If less space is left, the whole row is wrapped as running text."""


def columns(rows: Sequence[tuple[str, ...]], width: int | None, *, indent: str = "") -> list[str]:
    """Format rows in columns. All but the last are at most half the width. If `indent` is given, long cells are cut."""
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
    """Wrap a text to `width` columns. Every line is indented, so that no text can imitate the prompt."""
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
    """Format a Unix time as a local date and time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
