"""What small models write that would fail, and has one sense all the same, gets that sense.

A file that is opened by a name that was made up is the variable which holds the attached file. A column that is
formatted as one number is its sum.
"""

from __future__ import annotations

import builtins
import functools
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

_READERS = ("read_csv", "read_table", "read_excel", "read_json", "read_parquet", "read_xml")
_NO_TEXT = (".csv", ".tsv", ".xlsx", ".xls", ".ods", ".json", ".jsonl", ".parquet", ".xml", ".db", ".sqlite")
"""How names end that are no text's: pandas opens them like this too."""


def be_lenient(named: dict[str, Any]) -> None:
    """From now on such programs run; what does not fail is as always.

    Where several variables could be meant, the one with the file's name is.
    """
    tables = {name: value for name, value in named.items() if hasattr(value, "columns")}
    texts = {name: value for name, value in named.items() if isinstance(value, str)}
    if texts:
        builtins.open = _text_instead(texts)
    if tables:
        import pandas as pd  # type: ignore[import-untyped]  # it has no types

        for reader in _READERS:
            setattr(pd, reader, _instead(getattr(pd, reader), tables, lambda table: table.copy()))
        pd.Series.__format__ = _formatted
        pd.read_html = lambda *_, **__: [table.copy() for table in tables.values()]


def _formatted(column: Any, form: str) -> str:
    return format(column.sum(), form) if form else str(column)


def _instead(open_: Callable[..., Any], held: dict[str, Any], give: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(open_)
    def opened(file: Any, *args: Any, **options: Any) -> Any:
        name = _meant(file, held)
        return give(held[name]) if name else open_(file, *args, **options)

    return opened


def _text_instead(texts: dict[str, str]) -> Callable[..., Any]:
    open_ = builtins.open
    instead = _instead(open_, texts, io.StringIO)

    @functools.wraps(open_)
    def opened(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        reads_text = mode in ("r", "rt") and not str(file).lower().endswith(_NO_TEXT)
        return (instead if reads_text else open_)(file, mode, *args, **options)

    return opened


def _meant(file: Any, held: dict[str, Any]) -> str:
    if not isinstance(file, str | Path) or len(str(file)) > 255 or "\n" in str(file) or Path(file).exists():
        return ""
    stem = Path(file).stem
    return stem if stem in held else next(iter(held)) if len(held) == 1 else ""
