"""The version of alita that runs."""

from __future__ import annotations

import functools
from importlib.metadata import PackageNotFoundError, version


@functools.cache
def alita_version() -> str:
    """As installed; `unknown` for sources that are not. Read once: it takes longer than most of a question's steps."""
    try:
        return version("alita")
    except PackageNotFoundError:
        return "unknown"
