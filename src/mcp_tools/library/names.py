"""Names of tools: valid in Python, over MCP and as file names, and free of confusion."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Container

LONGEST = 64
_SHAPE = re.compile(rf"[a-z][a-z0-9_]{{0,{LONGEST - 1}}}", re.ASCII)
_RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins))


def valid_name(text: str) -> bool:
    """Whether a tool may be called so: `^[a-z][a-z0-9_]{0,63}$`, no keyword and no builtin of Python."""
    return _SHAPE.fullmatch(text) is not None and text not in _RESERVED


def free_name(name: str, taken: Container[str]) -> str:
    """The name itself, or with the first of `_2`, `_3` … that is not taken, within the longest length."""
    if name not in taken:
        return name
    number = 2
    while (candidate := f"{name[: LONGEST - len(str(number)) - 1]}_{number}") in taken:
        number += 1
    return candidate
