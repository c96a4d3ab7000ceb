"""Derives other arguments from a call, and removes a parameter from a source."""

from __future__ import annotations

import ast
import datetime
import io
import math
import re
import tokenize
from random import Random

from mcp_tools.checks.source import parameters
from mcp_tools.tool import Json

_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_TIME = re.compile(r"^(\d{1,2}):(\d{2})$")
_EDGES: dict[type, tuple[Json, ...]] = {int: (0, -1), float: (0.0, -1.0), str: ("",), list: ([],), dict: ({},)}


def variations(arguments: dict[str, Json], *, count: int = 4, seed: int = 0) -> list[dict[str, Json]]:
    """Return up to `count` different argument sets that are similar to the given one.

    The first sets change one parameter each; the last changes all. The same seed gives the same sets.
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
    """Return argument sets that each have one empty, zero or negative value."""
    return [
        {**arguments, name: edge}
        for name, value in arguments.items()
        for edge in _EDGES.get(type(value), ())
        if edge != value
    ]


def vary(value: Json, random: Random) -> Json:
    """Return a value of the same shape, usually a different one."""
    match value:
        case bool():
            return not value
        case int():
            step = max(1, abs(value) // 10)
            return value + (1 if abs(value) <= 3 else random.choice((-step, -1, 1, step)))
        case float():
            factor = random.choice((0.5, 0.9, 1.1, 1.5))
            varied = round(value * factor, 4) if abs(value) >= 0.001 else value * factor or 0.5
            return varied if math.isfinite(varied) else value
        case str():
            return _vary_text(value, random)
        case [_, _, _, *_] if random.random() < 0.5:
            return value[:-1]
        case [_, *_]:
            position = random.randrange(len(value))
            return [vary(inner, random) if i == position else inner for i, inner in enumerate(value)]
        case dict():
            return {key: vary(inner, random) for key, inner in value.items()}
    return value


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
    if separator := next((mark for mark in "\n;|, " if mark in value), ""):
        parts = value.split(separator)
        return separator.join(parts[:-1] if len(parts) > 2 else reversed(parts))
    cut = random.randrange(1, len(value))
    return value[cut:] + value[:cut]


_NEAR = 3
_WIDE: dict[type, tuple[Json, ...]] = {
    int: (0, 1, 2, -1, 1000),
    float: (0.0, 1.0, -1.0, 0.001, 1e6),
    str: ("", "a", "Z z", "10"),
}


def alternatives(value: Json, schema: dict[str, Json]) -> list[Json]:
    """Return other values for a parameter: all its choices, or some similar and some very different values."""
    choices = [branch["enum"] for branch in (schema, *schema.get("anyOf", ())) if "enum" in branch]
    if choices:
        found: list[Json] = [choice for choice in choices[0] if choice != value]
    elif isinstance(value, bool):
        found = [not value]
    else:
        random = Random(0)  # noqa: S311 - repeatable trial data, nothing secret
        found = [vary(value, random) for _ in range(_NEAR)]
        found += _WIDE.get(type(value), ())
        if isinstance(value, str):
            found += [value.swapcase(), value[::-1]]
        elif isinstance(value, list):
            found += [value[::-1], value[:1], []]
        elif isinstance(value, dict):
            found += [dict(list(value.items())[:-1]), {}]
        elif value is None:
            found += [True, *_WIDE[int], *_WIDE[str]]
    unlike = [other for other in found if type(other) is not type(value) or other != value]
    return [other for place, other in enumerate(unlike) if other not in unlike[:place]]


def without_parameter(source: str, function: str, name: str) -> str | None:
    """Remove a parameter and its line in the docstring from a source, without any other change.

    Returns:
        The shorter source; None if the body reads the parameter, a call passes it, or the docstring mentions it
        elsewhere.
    """
    tree = ast.parse(source)
    node = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function)
    read = any(isinstance(n, ast.Name) and n.id in {name, function} for n in ast.walk(tree))
    passed = any(isinstance(n, ast.keyword) and n.arg == name for n in ast.walk(tree))
    if read or passed:
        return None
    try:
        cut = _without_entry(_without_argument(source, node, name), node, name)
        if cut is None:
            return None
        after = next(n for n in ast.parse(cut).body if isinstance(n, ast.FunctionDef) and n.name == function)
    except SyntaxError:
        return None
    left = [parameter.arg for parameter in parameters(after)]
    is_clean = left == [parameter.arg for parameter in parameters(node) if parameter.arg != name]
    spoken_of = re.search(rf"\b{name}\b", ast.get_docstring(after) or "")
    return cut if is_clean and not spoken_of else None


def _without_argument(source: str, node: ast.FunctionDef, name: str) -> str:
    arguments = node.args
    listed = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip(reversed([p.arg for p in listed]), reversed(arguments.defaults), strict=False))
    defaults |= {p.arg: value for p, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value}
    parameter = next(p for p in parameters(node) if p.arg == name)
    last = defaults.get(name) or parameter.annotation or parameter
    lines = source.splitlines(keepends=True)
    start = (parameter.lineno, _column(lines, parameter.lineno, parameter.col_offset))
    end = (last.end_lineno or 0, _column(lines, last.end_lineno or 0, last.end_col_offset or 0))
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in {tokenize.NL, tokenize.COMMENT, tokenize.NEWLINE}
    ]
    after = next(place for place, token in enumerate(tokens) if token.start >= end)
    before = max(place for place, token in enumerate(tokens) if token.end <= start)
    if tokens[after].string == ",":
        end = tokens[after].end
        if tokens[after + 1].start[0] == end[0] and lines[start[0] - 1][: start[1]].strip():
            end = tokens[after + 1].start
    elif tokens[before].string == ",":
        start = tokens[before].start
    head, tail = lines[start[0] - 1][: start[1]], lines[end[0] - 1][end[1] :]
    if not head.strip() and re.fullmatch(r"\s*(#.*)?\s*", tail):
        head = tail = ""  # remove the whole line, with its comment
    return "".join([*lines[: start[0] - 1], head + tail, *lines[end[0] :]])


def _column(lines: list[str], line: int, column: int) -> int:
    """Convert a column of the syntax tree, which is in bytes, to characters."""
    return len(lines[line - 1].encode()[:column].decode())


def _without_entry(source: str, node: ast.FunctionDef, name: str) -> str | None:
    """Remove a parameter from the docstring's Args. Return None if the closing quotes follow on the same line."""
    after = next((n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == node.name), None)
    text = after.body[0] if after else None
    if not isinstance(text, ast.Expr) or not text.end_lineno:
        return None
    lines = source.splitlines(keepends=True)
    entry = re.compile(rf"(\s+)\*{{0,2}}{name}\s*(?:\([^)]*\))?\s*:")
    first = next((n for n in range(text.lineno, text.end_lineno) if entry.match(lines[n])), None)
    if first is None:
        return source
    match = entry.match(lines[first])
    margin = len(match[1]) if match else 0
    following = range(first + 1, text.end_lineno)
    last = next((n for n in following if len(lines[n]) - len(lines[n].lstrip()) <= margin), text.end_lineno)
    if last == text.end_lineno:
        return None
    return "".join(lines[:first] + lines[last:])
