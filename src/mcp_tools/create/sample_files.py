"""Small files that a test provides for a tool that opens files."""

from __future__ import annotations

import base64
import functools
import io
import json
import re
import zipfile
from pathlib import Path

from mcp_tools.library.arguments import surely_fits
from mcp_tools.packages import installed
from mcp_tools.tool import Json

_TEXTS = frozenset(
    {"", ".csv", ".tsv", ".txt", ".md", ".json", ".jsonl", ".xml", ".html", ".yaml", ".yml", ".toml", ".log"}
)
_WORKBOOK, _ARCHIVE = ".xlsx", ".zip"
_FORMS: dict[str, Json] = {
    _WORKBOOK: {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "array"}}},
    _ARCHIVE: {"type": "object", "additionalProperties": {"type": "string"}},
}
"""JSON schemas of binary files: the rows of each sheet, and the text of each archive member, by name."""
_MAX_CHARS = 100_000
_FIXED_TIME = (2000, 1, 1, 0, 0, 0)
"""All timestamps in generated files, so that a replay makes the same calls."""
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_WRITING = """def _write_files(files):
    import base64
    import pathlib

    for name, content in files.items():
        pathlib.Path(name).write_bytes(base64.b64decode(content))
"""


def writable(path: Path) -> bool:
    """Return True if tests can provide files of this type."""
    suffix = path.suffix.lower()
    return suffix in _TEXTS or suffix == _ARCHIVE or (suffix == _WORKBOOK and bool(installed(("openpyxl",))))


def with_files(source: str, files: dict[str, str]) -> str:
    """Extend a source so that it first writes files into its working folder.

    Args:
        source: The source of a tool.
        files: The text of each file by name; for workbooks and archives, their content as JSON. They are built before
            the call, so that the tool's process does not have to import any package.
    """
    if not files:
        return source
    contents = {name: base64.b64encode(_content(name, text)).decode() for name, text in files.items()}
    return f"{source}\n\n{_WRITING}\n\n_write_files({contents!r})\n"


@functools.lru_cache(maxsize=64)
def _content(name: str, text: str) -> bytes:
    """Return the bytes of a file. The same text always gives the same bytes."""
    suffix = Path(name).suffix.lower()
    if suffix == _WORKBOOK:
        return _workbook(json.loads(text))
    if suffix == _ARCHIVE:
        return _archive({member: inner.encode() for member, inner in json.loads(text).items()})
    return text.encode("utf-8", "surrogatepass")


def _archive(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, inner in members.items():
            archive.writestr(zipfile.ZipInfo(member, _FIXED_TIME), inner, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _workbook(sheets: dict[str, list[list[Json]]]) -> bytes:
    import openpyxl  # type: ignore[import-untyped]  # has no stubs

    book, saved = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(saved)
    with zipfile.ZipFile(saved) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    return _archive({part: _TIME.sub(b"2000-01-01T00:00:00Z", inner) for part, inner in parts.items()})


def usable(files: dict[str, str]) -> bool:
    """Return True if all files have a safe name, a supported type and valid content."""
    for name, text in files.items():
        path = Path(name)
        if path.name != name or name.startswith(".") or not (isinstance(text, str) and writable(path)):
            return False
        if len(text) > _MAX_CHARS or not _is_made(name, text):
            return False
    return True


def _is_made(name: str, text: str) -> bool:
    form = _FORMS.get(Path(name).suffix.lower())
    try:
        return form is None or (surely_fits(json.loads(text), form) and bool(_content(name, text)))
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return False
