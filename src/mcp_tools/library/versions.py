"""The versions of a library's tools that were kept: `.alita/versions/NAME/HASH.py` and `.json`, by the source's hash.

They come with the folder, so they are data: only an approved version is served.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from pathlib import Path

from mcp_tools.errors import LibraryError
from mcp_tools.library.folder import VERSIONS, read, within
from mcp_tools.library.tool_files import parsed
from mcp_tools.tool import Tool

_MOST = 1000
_LABEL = 12
"""Digits of the hash that name the files."""


def kept(folder: Path, name: str, source_hash: str) -> Tool | None:
    """Return the version with this source hash, if both files are intact."""
    label = source_hash[:_LABEL]
    try:
        place = within(folder, *VERSIONS, name)
        source, document = read(place / f"{label}.py"), read(place / f"{label}.json")
    except (OSError, ValueError):
        return None
    version = parsed(name, source, document)
    return version if isinstance(version, Tool) and version.source_hash == source_hash else None


def all_of(folder: Path, name: str) -> list[Tool]:
    """The versions of a tool that are whole, oldest first. Links are left out, and files with a wrong label."""
    found = []
    with contextlib.suppress(OSError):
        place = within(folder, *VERSIONS, name)
        for path in itertools.islice(sorted(place.glob("*.py")), _MOST):
            with contextlib.suppress(OSError):
                source_hash = hashlib.sha256(read(path)).hexdigest()
                version = kept(folder, name, source_hash) if source_hash[:_LABEL] == path.stem else None
                found += [version] if version else []
    return sorted(found, key=lambda version: str(version.provenance.get("created", "")))


def one_of(folder: Path, name: str, source_hash: str) -> Tool:
    """Return the version with a source hash, or the only one with this prefix.

    Raises:
        LibraryError: No version has that hash, or several have it.
    """
    known = all_of(folder, name)
    found = [version for version in known if source_hash and version.source_hash.startswith(source_hash)]
    if len(found) == 1:
        return found[0]
    which = f"{len(found)} versions" if found else "no version"
    listed = ", ".join(version.source_hash[:_LABEL] for version in known) or "none"
    raise LibraryError(f"{name} has {which} {source_hash[:64]!r}", remedy=f"its versions: {listed}")
