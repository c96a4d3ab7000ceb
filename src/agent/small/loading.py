"""Runs inside the sandbox, as a module beside a program: opens attached files and describes what they hold.

It imports libraries and nothing else of the project: the rest is not there.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

_SHOWN_COLUMNS = 40
_SHOWN_VALUES = 12
_SHOWN_ROWS = 3
_SHOWN_CHARS = 700
_HEADER_ROWS = 15
"""Rows of a sheet in which its header is looked for."""
_DATE = r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2})?)?"
_NUMBER = {
    mark: re.compile(
        rf"(-?)([$€£]?)\s?(-?(?:\d+|\d{{1,3}}(?:[{groups}'\u00a0\u202f ]\d{{3}})+)(?:[{mark}]\d+)?)\s?([%€$£]?)"
    )
    for mark, groups in ((".", ","), (",", "."))
}
"""A number as people write it, by its decimal mark: in groups of three, if in any, so that `1,5` is never 15."""


def load(files: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the files hold, by the names of variables.

    Args:
        files: Each with name, path, kind, facts, and the path of its text if it has one.
    """
    found = [(label, value) for file in files for label, value in _opened(file)]
    named: dict[str, Any] = {}
    for label, value in found:
        usual = _usual_name(value)
        alone = sum(_usual_name(other) == usual for _, other in found) == 1
        name = base = usual if alone else _identifier(label, usual)
        while name in named:
            name = f"{base}_{len(named)}"
        named[name] = value
    return named


def _opened(file: dict[str, Any]) -> list[tuple[str, Any]]:
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

    kind, path, name = file["kind"], file["path"], file["name"]
    if kind in ("csv", "tsv"):
        return [(name, _delimited(path, file["facts"]))]
    if kind in ("xlsx", "xls", "xlsb", "ods"):
        sheets = pd.read_excel(path, sheet_name=None, header=None, engine="calamine")
        return [(str(title) if len(sheets) > 1 else name, _framed(raw)) for title, raw in sheets.items() if len(raw)]
    if kind == "sqlite":
        return _database(path)
    if kind in ("json", "jsonld", "jsonl"):
        return [(name, _records(_json(path, kind)))]
    if file["text"].endswith(".transcript.json"):
        return [(name, _json(file["text"], "json")["text"])]
    if file["text"].endswith(".pages.jsonl"):
        pages = [page["text"] for page in _json(file["text"], "jsonl")]
        return [(name, "\n".join(pages)), (name, pages)]
    encoding = str(file["facts"].get("encoding") or "utf-8")
    return [(name, Path(file["text"]).read_text(encoding, errors="replace").removeprefix("\ufeff"))]


def _delimited(path: str, facts: dict[str, Any]) -> Any:
    import pandas as pd

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        table = pd.read_csv(
            path,
            sep=facts.get("delimiter", ","),
            encoding=facts.get("encoding", "utf-8"),
            encoding_errors="replace",
            skiprows=facts.get("lines_above", 0),
            header=0 if facts.get("header") else None,
            on_bad_lines="warn",
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
        )
    table.attrs["skipped"] = sum(str(warning.message).count("Skipping line") for warning in warned)
    for column in table.columns:
        table[column] = _typed(table[column].str.strip(), facts.get("decimal", "."))
    return _named_columns(table, table.columns if facts.get("header") else [""] * len(table.columns))


def _typed(column: Any, decimal: str) -> Any:
    """Return a column of text as numbers or dates if every value is one of one unit; codes such as 007 stay text."""
    import pandas as pd

    given = column[column != ""]
    found = [_NUMBER[decimal].fullmatch(text) for text in given]
    units = {match[2] + match[4] for match in found if match}
    is_code = given.str.match(r"-?0\d").any()
    is_one_unit = len(units) == 1 or (len(units - {""}) == 1 and "%" not in units)
    if given.empty or (all(found) and is_one_unit and not is_code):
        digits = column.str.replace(rf"[^\d{decimal}-]", "", regex=True).str.replace(decimal, ".")
        return pd.to_numeric(digits, errors="coerce") if len(given) else column
    if given.str.fullmatch(_DATE).all():
        return pd.to_datetime(column.where(column != ""), errors="coerce", format="ISO8601")
    return column.where(column != "", None)


def _framed(raw: Any) -> Any:
    """Return a sheet as a table, below the row that names its columns."""
    raw = raw.dropna(how="all").dropna(how="all", axis=1)
    for at in range(min(len(raw) - 1, _HEADER_ROWS)):
        given = raw.iloc[at].dropna()
        if len(given) >= 0.6 * len(raw.columns) and all(isinstance(value, str) for value in given):
            return _named_columns(raw.iloc[at + 1 :].reset_index(drop=True).infer_objects(), raw.iloc[at])
    return _named_columns(raw.reset_index(drop=True), [""] * len(raw.columns))


def _named_columns(table: Any, names: Any) -> Any:
    """Return the table, each column with a name of its own."""
    given: list[str] = []
    for number, value in enumerate(names, 1):
        name = " ".join(str(value).split()) if isinstance(value, str) and value.strip() else f"column_{number}"
        given.append(f"{name}_{number}" if name in given else name)
    table.columns = given
    return table


def _database(path: str) -> list[tuple[str, Any]]:
    import sqlite3

    import pandas as pd

    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    names = connection.execute(
        "select name from sqlite_master where type in ('table','view') and name not like 'sqlite_%'"
    )
    quoted = {str(name): str(name).replace('"', '""') for (name,) in names}
    return [(name, pd.read_sql(f'select * from "{inner}"', connection)) for name, inner in quoted.items()]  # noqa: S608 - quoted


def _json(path: str, kind: str) -> Any:
    with Path(path).open(encoding="utf-8-sig") as file:
        return [json.loads(line) for line in file if line.strip()] if kind == "jsonl" else json.load(file)


def _records(data: Any) -> Any:
    """Return a list of flat objects as a table, and anything else as it is."""
    import pandas as pd

    is_list = isinstance(data, list) and data and all(isinstance(item, dict) for item in data)
    is_flat = is_list and not any(isinstance(value, dict | list) for item in data for value in item.values())
    return pd.DataFrame(data) if is_flat else data


def _usual_name(value: Any) -> str:
    if hasattr(value, "columns"):
        return "table"
    if isinstance(value, str):
        return "text"
    return "pages" if isinstance(value, list) and value and all(isinstance(item, str) for item in value) else "data"


def _identifier(label: str, otherwise: str) -> str:
    name = re.sub(r"\W+", "_", re.sub(r"\.\w{1,5}$", "", label.rpartition("/")[2])).strip("_").lower()
    return f"{otherwise}_{name}" if not name or name[0].isdigit() else name


def tell(named: dict[str, Any]) -> str:
    """Return what the variables hold, for whoever writes a program with them."""
    return "\n".join(_described(name, value) for name, value in named.items())


def _described(name: str, value: Any) -> str:
    if hasattr(value, "columns"):
        lines = [f"{name}: DataFrame of {len(value)} rows with the columns:"]
        lines += [f"  {column!r}: {_column_told(value[column])}" for column in value.columns[:_SHOWN_COLUMNS]]
        if count := value.attrs.get("skipped"):
            lines.append(f"Left out are {count} lines of the file that have more values than the header.")
        first = value.iloc[:_SHOWN_ROWS, :_SHOWN_COLUMNS].to_csv(index=False).strip()
        return "\n".join([*lines, "Its first rows:", *(line[:300] for line in first.splitlines())])
    if isinstance(value, str):
        size = f"{len(value)} characters in {len(value.splitlines())} lines"
        return f"{name}: str, {size}. It begins:\n{value[:_SHOWN_CHARS]}"
    if name.endswith("pages"):
        return f"{name}: list of {len(value)} str, the text of each page"
    shown = json.dumps(value, ensure_ascii=False, default=str)[: 2 * _SHOWN_CHARS]
    return f"{name}: {type(value).__name__}, from JSON. It begins:\n{shown}"


def _column_told(column: Any) -> str:
    given = column.dropna()
    empty = f", {len(column) - len(given)} empty" if len(given) < len(column) else ""
    kind = str(column.dtype)
    if len(given) and kind.startswith(("datetime", "int", "float")):
        return f"{'datetime' if kind[0] == 'd' else 'number'} from {given.min()} to {given.max()}{empty}"
    different = list(dict.fromkeys(given.astype(str)))
    shown = ", ".join(repr(text[:40]) for text in different[:_SHOWN_VALUES])
    return f"text, {len(different)} different: {shown}{' …' if len(different) > _SHOWN_VALUES else ''}{empty}"
