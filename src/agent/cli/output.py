"""Printing: answers and data on stdout, everything else on stderr, nothing that could steer a terminal."""

from __future__ import annotations

import json
import shutil
import sys
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
    """The form in which `--json` tells an error."""
    return {"kind": type(error).__name__, "message": error.message, "remedy": error.remedy}


def print_rows(rows: list[tuple[str, ...]]) -> None:
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
        from agent.cli.screens.wrapping import rows_of

        lines += rows_of(row[-1], terminal, head=head, indent=" " * min(len(head), most))
    _write("".join(f"{line}\n" for line in lines))


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()


def _to_stderr(text: str) -> None:
    encoding = sys.stderr.encoding or "utf-8"
    sys.stderr.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    sys.stderr.flush()
