"""When two results are the same answer."""

from __future__ import annotations

import math
import re

from mcp_tools.tool import Json

_NUMBER = re.compile(r"^[-+]?[$€£]?\s?[-+]?(\d[\d,]*)?(\.\d+)?(e[-+]?\d+)?$", re.IGNORECASE)


def answer_key(value: Json) -> str:
    """What a value says as an answer: equal for 12.0 and "12", for [2, 1] and "2, 1", for "Sunday" and "sunday."."""
    return "|".join(_parts(value))


def _parts(value: Json) -> list[str]:
    if isinstance(value, dict):
        return [part for inner in value.values() for part in _parts(inner)]
    if isinstance(value, list):
        return [part for inner in value for part in _parts(inner)]
    if isinstance(value, bool) or value is None:
        return [str(value).lower()]
    if isinstance(value, int | float):
        return [_number(float(value)) if isinstance(value, float) else str(value)]
    return [
        _scalar(part) for part in re.split(r"[,;\n]\s+|[,;\n](?!\d{3}(?!\d))|\s+and\s+", str(value)) if part.strip()
    ]


def _scalar(text: str) -> str:
    bare = text.strip().strip("()[]{}'\"`. ").strip()
    if bare and _NUMBER.match(bare):
        try:
            return _number(float(re.sub(r"[,$€£\s]", "", bare)))
        except ValueError:
            pass
    return " ".join(bare.casefold().split())


def _number(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.9g}")
    return str(int(rounded)) if rounded.is_integer() and abs(rounded) < 1e15 else repr(rounded)
