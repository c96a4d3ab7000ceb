"""The small files that a test brings for a tool that opens files."""

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
"""The JSON that stands for a file that is no text: the rows of each sheet, and the text of each member, by name."""
_LONGEST = 100_000
_LONG_AGO = (2000, 1, 1, 0, 0, 0)
_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_WRITING = """def _write_files(files):
    import base64
    import pathlib

    for name, content in files.items():
        pathlib.Path(name).write_bytes(base64.b64decode(content))
"""


def writable(path: Path) -> bool:
    """Return True if a test can bring a file of this kind."""
    suffix = path.suffix.lower()
    return suffix in _TEXTS or suffix == _ARCHIVE or (suffix == _WORKBOOK and bool(installed(("openpyxl",))))


def with_files(source: str, files: dict[str, str]) -> str:
    """The source, which first writes some files, texts by name, into its scratch folder.

    Workbooks and archives are made here, so that the tool's process needs no packages for them.
    """
    if not files:
        return source
    contents = {name: base64.b64encode(_content(name, text)).decode() for name, text in files.items()}
    return f"{source}\n\n{_WRITING}\n\n_write_files({contents!r})\n"


@functools.lru_cache(maxsize=64)
def _content(name: str, text: str) -> bytes:
    """The bytes of a file; the same for the same text, so that a replay makes the same calls."""
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
            archive.writestr(zipfile.ZipInfo(member, _LONG_AGO), inner, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _workbook(sheets: dict[str, list[list[Json]]]) -> bytes:
    import openpyxl  # type: ignore[import-untyped]  # it has no types

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
    """Return True if these files can be written."""
    for name, text in files.items():
        path = Path(name)
        if path.name != name or name.startswith(".") or not (isinstance(text, str) and writable(path)):
            return False
        if len(text) > _LONGEST or not _is_made(name, text):
            return False
    return True


def _is_made(name: str, text: str) -> bool:
    form = _FORMS.get(Path(name).suffix.lower())
    try:
        return form is None or (surely_fits(json.loads(text), form) and bool(_content(name, text)))
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError):
        return False
