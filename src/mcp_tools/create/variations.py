"""Other arguments of the same shape: what a general tool must also survive."""

from __future__ import annotations

import datetime
import math
import re
from random import Random

from mcp_tools.tool import Json

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
