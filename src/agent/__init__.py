"""The agent: asks a model what to do next, and does it."""

from __future__ import annotations

import functools


@functools.cache
def alita_version() -> str:
    """As installed; `unknown` for sources that are not. Read once: it takes longer than most of a question's steps."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("alita")
    except PackageNotFoundError:
        return "unknown"
