"""Other arguments of the same shape: what a general tool must also survive."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from mcp_tools.packages import imported
from mcp_tools.sandbox.protocol import Job, Sandbox
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp_tools.create.interfaces import Proposal


_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_TIME = re.compile(r"^(\d{1,2}):(\d{2})$")
_EDGES: dict[type, tuple[Json, ...]] = {int: (0, -1), float: (0.0, -1.0), str: ("",), list: ([],), dict: ({},)}


def variations(arguments: dict[str, Json], *, count: int = 4, seed: int = 0) -> list[dict[str, Json]]:
    """Up to `count` argument sets near the given one, all different from it and from each other.

    The first ones change a single parameter each, the last one changes all; the same seed gives the same sets.
    """
    random = Random(seed)  # noqa: S311 - repeatable trial data, nothing secret
    names = list(arguments)
    random.shuffle(names)
    plans = [[name] for name in names[: max(count - 1, 1)]] + [names]
    found: list[dict[str, Json]] = []
    for attempt in range(count * 3):
        plan = plans[attempt % len(plans)]
        changed = {name: vary(value, random) if name in plan else value for name, value in arguments.items()}
        if changed != arguments and changed not in found:
            found.append(changed)
        if len(found) == count:
            break
    return found


def edges(arguments: dict[str, Json]) -> list[dict[str, Json]]:
    """Argument sets with one empty, zero or negative value each."""
    return [
        {**arguments, name: edge}
        for name, value in arguments.items()
        for edge in _EDGES.get(type(value), ())
        if edge != value
    ]


def vary(value: Json, random: Random) -> Json:
    """A value of the same shape, usually another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return _vary_int(value, random)
    if isinstance(value, float):
        return _vary_float(value, random)
    if isinstance(value, str):
        return _vary_text(value, random)
    if isinstance(value, list):
        return _vary_list(value, random)
    if isinstance(value, dict):
        return {key: vary(inner, random) for key, inner in value.items()}
    return value


def _vary_int(value: int, random: Random) -> int:
    if abs(value) <= 3:
        return value + 1
    step = max(1, abs(value) // 10)
    return value + random.choice((-step, -1, 1, step))


def _vary_float(value: float, random: Random) -> float:
    """Near the value and as coarse; what is no finite number stays."""
    factor = random.choice((0.5, 0.9, 1.1, 1.5))
    varied = round(value * factor, 4) if abs(value) >= 0.001 else value * factor or 0.5
    return varied if math.isfinite(varied) else value


def _vary_text(value: str, random: Random) -> str:
    if _DATE.match(value):
        try:
            day = datetime.date.fromisoformat(value)
            return (day + datetime.timedelta(days=random.choice((-40, -3, 5, 31)))).isoformat()
        except (ValueError, OverflowError):
            return value
    if time := _TIME.match(value):
        minutes = (int(time[1]) * 60 + int(time[2]) + random.choice((7, 45))) % (24 * 60)
        return f"{minutes // 60:02d}:{minutes % 60:02d}"
    if len(value) < 4 or (value.isalpha() and value.istitle()):
        return value
    if any(separator in value for separator in "\n,;| "):
        return _shorter(value)
    cut = random.randrange(1, len(value))
    return value[cut:] + value[:cut]


def _shorter(value: str) -> str:
    """A text made of several parts without its last one."""
    separator = next(mark for mark in "\n;|, " if mark in value)
    parts = value.split(separator)
    return separator.join(parts[:-1]) if len(parts) > 2 else separator.join(reversed(parts))


def _vary_list(value: list[Json], random: Random) -> list[Json]:
    if not value:
        return value
    if len(value) > 2 and random.random() < 0.5:
        return value[:-1]
    position = random.randrange(len(value))
    return [vary(inner, random) if i == position else inner for i, inner in enumerate(value)]


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
