"""Printing: answers and data on stdout, everything else on stderr, nothing that could steer a terminal."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any

from mcp_tools.errors import AlitaError
from mcp_tools.text import printable


def print_text(text: str) -> None:
    """Text for people on stdout."""
    _write(printable(text).rstrip("\n") + "\n")


def print_json(value: Any, *, line: bool = False) -> None:
    """JSON on stdout; `line` puts it on one. Pure ASCII, so no character in it can steer a terminal."""
    _write(json.dumps(value, indent=None if line else 2) + "\n")


def print_note(text: str) -> None:
    """A remark for people on stderr."""
    _to_stderr(printable(text))


def show_error(error: AlitaError) -> None:
    """What happened and what to do next, on stderr."""
    _to_stderr(f"alita: {printable(error.message)}")
    if error.remedy:
        _to_stderr(f"       {printable(error.remedy)}")


def error_json(error: AlitaError) -> dict[str, Any]:
    """What `--json` prints of an error."""
    return {"kind": type(error).__name__, "message": error.message, "remedy": error.remedy}


def print_rows(rows: Sequence[tuple[str, ...]]) -> None:
    """Rows as columns; the last one is as long as it likes, and broken into further rows on a terminal."""
    if not rows:
        return
    safe = [tuple(" ".join(printable(cell).split()) for cell in row) for row in rows]
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    most = terminal // 2 if terminal else sys.maxsize
    widths = [min(max(len(row[i]) for row in safe), most) for i in range(len(safe[0]) - 1)]
    lines = []
    for row in safe:
        head = "".join(f"{cell.ljust(width)}  " for cell, width in zip(row, widths, strict=False))
        if terminal is None:
            lines.append(f"{head}{row[-1]}".rstrip())
            continue
        lines += rows_of(row[-1], terminal, head=head, indent=" " * min(len(head), most))
    _write("".join(f"{line}\n" for line in lines))


def rows_of(text: str, width: int, *, head: str = "  ", indent: str = "  ") -> list[str]:
    """Breaks text into rows of at most `width` columns, so that none begins where a prompt begins.

    Args:
        text: Anything; what could steer a terminal is taken out.
        width: Columns of the terminal.
        head: What the first row begins with.
        indent: What every further row begins with.
    """
    from rich.cells import cell_len

    rows: list[str] = []
    for line in printable(text).expandtabs(4).split("\n"):
        rest = line
        while True:
            start = indent if rows else head
            row, rest = _split(rest, max(width - cell_len(start), 8))
            rows.append((start + row).rstrip())
            if not rest:
                break
    return rows


def _split(text: str, room: int) -> tuple[str, str]:
    """What fits, broken at a blank where there is one, and the rest."""
    from rich.cells import cell_len

    if cell_len(text) <= room:
        return text, ""
    fits, used = 0, 0
    for character in text:
        used += cell_len(character)
        if used > room:
            break
        fits += 1
    blank = text.rfind(" ", 1, fits + 1)
    if blank > fits // 2:
        return text[:blank], text[blank + 1 :]
    return text[: max(fits, 1)], text[max(fits, 1) :]


def date_text(seconds: float) -> str:
    """A date and time as people here write it, from seconds since 1970."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


def _to_stderr(text: str) -> None:
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    sys.stderr.flush()
