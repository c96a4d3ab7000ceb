"""Values with which a tool over files can be tried: what else stands in the same column, or under the same key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_tools.packages import imported
from mcp_tools.sandbox.protocol import Job, Sandbox
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp_tools.create.interfaces import Proposal

_MOST_SETS = 4
_WORKBOOKS = (".xlsx", ".xlsm", ".xls")
_BESIDE = """import csv
import json


def beside(paths: list[str], wanted: list[str], most: int) -> dict[str, list[str]]:
    found = {}
    for path in paths:
        try:
            columns = list(_columns(path))
        except Exception:
            continue
        for text in wanted:
            for column in columns:
                others = [value for value in dict.fromkeys(column) if value and value.casefold() != text.casefold()]
                if len(others) < len(dict.fromkeys(filter(None, column))):
                    found.setdefault(text, others[:most])
    return found


def _columns(path: str):
    if path.lower().endswith(('.xlsx', '.xlsm', '.xls')):
        import pandas
        for sheet in pandas.read_excel(path, sheet_name=None, header=None, dtype=str).values():
            for name in sheet:
                yield [str(value).strip() for value in sheet[name].dropna()][1:]
        return
    with open(path, encoding='utf-8-sig', newline='') as file:
        text = file.read()
    if path.lower().endswith(('.json', '.jsonl')):
        columns = {}
        is_one = path.lower().endswith('.json')
        for record in [text] if is_one else filter(None, text.splitlines()):
            _collect(json.loads(record), (), columns)
        yield from columns.values()
        return
    rows = list(csv.reader(text.splitlines(keepends=True), csv.Sniffer().sniff(text[:10_000], ',;|\\t')))
    for place in range(max(map(len, rows))):
        yield [row[place].strip() for row in rows[1:] if len(row) > place]


def _collect(value, key, columns):
    if isinstance(value, dict):
        for name, inner in value.items():
            _collect(inner, (*key, name), columns)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, key, columns)
    else:
        columns.setdefault(key, []).append(str(value))
"""
"""For each text the other values of the first column, or of the first key, that holds it."""


async def other_values(arguments: dict[str, Json], proposal: Proposal, sandbox: Sandbox) -> list[dict[str, Json]]:
    """Sets of arguments with other values of the same columns: each changed alone, then all at once."""
    scalars = {name: value for name, value in arguments.items() if isinstance(value, str | int | float)}
    named = {name: value for name, value in scalars.items() if not isinstance(value, bool)}
    found = await _beside(list(map(str, named.values())), proposal, sandbox)
    others = {name: values for name, value in named.items() if (values := _read_as(value, found.get(str(value), [])))}
    sets = [{**arguments, name: values[0]} for name, values in others.items()]
    for turn in range(_MOST_SETS):
        sets.append({**arguments, **{name: values[turn % len(values)] for name, values in others.items()}})
    return [new for place, new in enumerate(sets) if new != arguments and new not in sets[:place]][:_MOST_SETS]


async def _beside(wanted: list[str], proposal: Proposal, sandbox: Sandbox) -> dict[str, list[str]]:
    if not wanted:
        return {}
    paths = [str(path) for path in proposal.files]
    holds_workbook = any(path.lower().endswith(_WORKBOOKS) for path in paths)
    packages = imported("import pandas\npandas.read_excel", proposal.capabilities.packages) if holds_workbook else ()
    arguments: dict[str, Json] = {"paths": paths, "wanted": wanted, "most": _MOST_SETS}
    outcome = await sandbox.run(Job(_BESIDE, "beside", arguments, read=proposal.files, packages=packages))
    return dict(outcome.value) if outcome.ok else {}


def _read_as(value: str | float, texts: Sequence[str]) -> list[Json]:
    """The texts as values of the same kind; what is none is left out."""
    read: list[Json] = []
    for text in texts:
        try:
            read.append(type(value)(text))
        except ValueError:
            continue
    return read
