"""The names in a spec: general, so that they hold for other values, and hiding nothing of Python's own."""

from __future__ import annotations

import re

from mcp_tools.checks.number_words import spoken_numbers
from mcp_tools.create.assemble import COMMON_MODULES
from mcp_tools.errors import CreationError
from mcp_tools.library import valid_name
from mcp_tools.tool import Json

_HIDING = frozenset({"date", "time", "timedelta", "deque", "counter", "permutations", "combinations", "product", "gcd"})


_LARGEST_TRIVIAL = 2


def spells(name: str, value: Json) -> bool:
    """Whether a parameter is called by its value, as in `three=3`."""
    return type(value) is int and value in spoken_numbers(name.replace("_", " "))


def general_name(name: str, purpose: str, arguments: dict[str, Json]) -> str:
    """The name without digits and without the arguments' numbers in words, and never one of Python's own."""
    numbers = {value for value in arguments.values() if type(value) is int}
    words = [word for word in re.sub(r"\d+", "", name).split("_") if word and not spoken_numbers(word) & numbers]
    general = "_".join(words)
    if valid_name(general):
        return general
    general = "_".join(re.findall(r"[a-z]+", purpose.lower())[:4])
    if not valid_name(general):
        raise CreationError(f"the spec has no usable name: {name!r}")
    return general


def general_purpose(purpose: str, arguments: dict[str, Json]) -> str:
    """The purpose with the names of the parameters where it holds their numbers: "the last `count` numbers"."""
    for name, value in arguments.items():
        if isinstance(value, int | float) and abs(value) > _LARGEST_TRIVIAL:
            purpose = re.sub(rf"(?<![\w.,]){re.escape(str(value))}(?!\w|[.,]\d)", f"`{name}`", purpose)
    return purpose


def free_of_modules(name: str) -> str:
    """A parameter's name that hides no builtin, module or class that code for it is likely to use."""
    if name in _HIDING or name in COMMON_MODULES or not valid_name(name):
        return f"given_{name}"
    return name
