"""Says where two JSON values differ first."""

from __future__ import annotations

from mcp_tools.text import one_line
from mcp_tools.tool import Json

AROUND = 30


def first_difference(recorded: Json, asked: Json, where: str = "request") -> str | None:
    """One sentence that names the place and both values, or None when they are equal."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        pairs = [(f"{where}.{k}", recorded.get(k), asked.get(k)) for k in sorted({*recorded, *asked})]
    elif isinstance(recorded, list) and isinstance(asked, list):
        pairs = [(f"{where}[{i}]", a, b) for i, (a, b) in enumerate(zip(recorded, asked, strict=False))]
        pairs.append((f"the length of {where}", len(recorded), len(asked)))
    else:
        return None if recorded == asked else _sentence(where, recorded, asked)
    for place, one, other in pairs:
        found = first_difference(one, other, place)
        if found:
            return found
    return None


def _sentence(where: str, recorded: Json, asked: Json) -> str:
    if isinstance(recorded, str) and isinstance(asked, str):
        same = next(
            (i for i, (a, b) in enumerate(zip(recorded, asked, strict=False)) if a != b),
            min(len(recorded), len(asked)),
        )
        start = max(same - AROUND, 0)
        recorded, asked = recorded[start : same + AROUND], asked[start : same + AROUND]
        where = f"{where}, character {same}"
    return f"{where}: recorded {one_line(repr(recorded), 80)}, now {one_line(repr(asked), 80)}"
