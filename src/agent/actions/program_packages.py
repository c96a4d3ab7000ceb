"""The packages that a program or a tool needs."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from mcp_tools.checks.header import declared
from mcp_tools.errors import (
    LibraryError,
)
from mcp_tools.packages import import_name, is_provided

if TYPE_CHECKING:
    pass


def packages_of(code: str, modules: Collection[str] = ()) -> tuple[str, ...]:
    """Return the packages that code declares or imports, except those that come with alita.

    Raises:
        LibraryError: The header of the code is wrong.
    """
    from mcp_tools.environments.known import imported_packages

    named = declared(code).packages
    known = {import_name(one) for one in named}
    found = [*named, *(one for one in imported_packages(code, modules) if import_name(one) not in known)]
    return tuple(one for one in found if not is_provided(one))


def packages_behind(code: str) -> tuple[str, ...]:
    """Return the packages of an earlier program; empty if it did not run because its header was wrong."""
    try:
        return packages_of(code)
    except LibraryError:
        return ()
