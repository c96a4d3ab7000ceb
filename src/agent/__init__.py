"""The agent: asks a model for the next action and carries it out."""

from __future__ import annotations

import functools


@functools.cache
def alita_version() -> str:
    """Return the installed version, or `unknown` if alita is not installed. Cached, because the lookup is slow."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("alita")
    except PackageNotFoundError:
        return "unknown"
