"""The agent: asks a model what to do next, and does it."""

from __future__ import annotations

import functools


@functools.cache
def alita_version() -> str:
    """Return the installed version, or `unknown` for uninstalled sources. Cached, because reading it is slow."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("alita")
    except PackageNotFoundError:
        return "unknown"
