"""The most downloaded packages, which need no confirmation and with which unknown names are compared."""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path

from mcp_tools.packages import BASE_PACKAGES, FILE_PACKAGES, IMPORT_NAMES, import_name, imported_modules

_MIN_SIMILARITY = 0.85
"""Minimum similarity to a known name at which an unknown name counts as a typo."""


@functools.cache
def known_packages() -> frozenset[str]:
    """Return the names of the four thousand most downloaded packages."""
    text = Path(__file__).with_name("data").joinpath("known.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def near_miss(name: str) -> str:
    """Return the known package with the most similar name. Empty if the name is known or resembles none."""
    if name in known_packages():
        return ""
    found = get_close_matches(name, sorted(known_packages()), n=1, cutoff=_MIN_SIMILARITY)
    return found[0] if found else ""


DISTRIBUTIONS = {module.lower(): name for name, module in IMPORT_NAMES.items()}
"""Package names by module, where the two differ: `sklearn` is in `scikit-learn`."""


def imported_packages(source: str, modules: Collection[str]) -> tuple[str, ...]:
    """Return the known packages that a source imports, except `modules` and packages that come with alita."""
    own = {*sys.stdlib_module_names, *modules, *map(import_name, (*BASE_PACKAGES, *FILE_PACKAGES))}
    named = sorted(imported_modules(source) - own)
    names = [DISTRIBUTIONS.get(name.lower(), name.lower().replace("_", "-")) for name in named]
    return tuple(name for name in names if name in known_packages())
