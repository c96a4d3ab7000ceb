"""The names in a spec: they hide nothing of Python's own."""

from __future__ import annotations

import re

from mcp_tools.create.small.assemble import COMMON_MODULES
from mcp_tools.errors import CreationError
from mcp_tools.library import valid_name

_HIDING = frozenset({"date", "time", "timedelta", "deque", "counter", "permutations", "combinations", "product", "gcd"})


def usable_name(name: str, purpose: str) -> str:
    """The name, or one of the purpose's words where it is one of Python's own.

    Raises:
        CreationError: Neither can be the name of a function.
    """
    if valid_name(name):
        return name
    general = "_".join(re.findall(r"[a-z]+", purpose.lower())[:4])
    if not valid_name(general):
        raise CreationError(f"the spec has no usable name: {name!r}")
    return general


def free_of_modules(name: str) -> str:
    """A parameter's name that hides no builtin, module or class that code for it is likely to use."""
    if name in _HIDING or name in COMMON_MODULES or not valid_name(name):
        return f"given_{name}"
    return name
