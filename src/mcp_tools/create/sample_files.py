"""The small files that a test brings for a tool that opens files."""

from __future__ import annotations

import json
from pathlib import Path

from mcp_tools.library.arguments import surely_fits
from mcp_tools.packages import installed

_TEXTS = frozenset(
    {"", ".csv", ".tsv", ".txt", ".md", ".json", ".jsonl", ".xml", ".html", ".yaml", ".yml", ".toml", ".log"}
)
_WORKBOOK = ".xlsx"
_SHEETS = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "array"}}}
_WRITING = """def _write_files(files):
    import json
    import pathlib

    for name, text in files.items():
        if not name.lower().endswith(".xlsx"):
            pathlib.Path(name).write_text(text, encoding="utf-8")
            continue
        import openpyxl

        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in json.loads(text).items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        book.save(name)
"""


def writable(path: Path) -> bool:
    """Whether a test can bring a file of this kind."""
    suffix = path.suffix.lower()
    return suffix in _TEXTS or (suffix == _WORKBOOK and bool(installed(("openpyxl",))))


def with_files(source: str, files: dict[str, str]) -> str:
    """The source, which first writes some files, texts by name, into its scratch folder.

    The text of a workbook is JSON: the rows of each sheet by its name.
    """
    return f"{source}\n\n{_WRITING}\n\n_write_files({files!r})\n" if files else source


def usable(files: dict[str, str]) -> bool:
    """Whether these files can be written."""
    for name, text in files.items():
        path = Path(name)
        if path.name != name or name.startswith(".") or not (isinstance(text, str) and writable(path)):
            return False
        if path.suffix.lower() == _WORKBOOK and not _is_workbook(text):
            return False
    return True


def _is_workbook(text: str) -> bool:
    try:
        return surely_fits(json.loads(text), _SHEETS)
    except (ValueError, RecursionError):
        return False
