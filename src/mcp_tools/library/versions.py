"""Old versions of a library's tools: `.alita/versions/NAME/HASH.py` and `HASH.json`, named by the hash of the source.

Anyone who can write to the folder can add versions, so only those that were approved are served.
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

_MAX_VERSIONS = 1000
_HASH_DIGITS = 12
"""Length of the hash in file names."""


def kept(folder: Path, name: str, source_hash: str) -> Tool | None:
    """Return the version with this source hash, if both files are intact."""
    label = source_hash[:_HASH_DIGITS]
    try:
        place = within(folder, *VERSIONS, name)
        source, document = read(place / f"{label}.py"), read(place / f"{label}.json")
    except (OSError, ValueError):
        return None
    version = parsed(name, source, document)
    return version if isinstance(version, Tool) and version.source_hash == source_hash else None


def all_of(folder: Path, name: str) -> list[Tool]:
    """Return the intact versions of a tool, oldest first. Links and files with a wrong hash are left out."""
    found = []
    with contextlib.suppress(OSError):
        place = within(folder, *VERSIONS, name)
        for path in itertools.islice(sorted(place.glob("*.py")), _MAX_VERSIONS):
            with contextlib.suppress(OSError):
                source_hash = hashlib.sha256(read(path)).hexdigest()
                version = kept(folder, name, source_hash) if source_hash[:_HASH_DIGITS] == path.stem else None
                found += [version] if version else []
    return sorted(found, key=lambda version: str(version.provenance.get("created", "")))


def one_of(folder: Path, name: str, source_hash: str) -> Tool:
    """Return the version with a source hash, or with a unique prefix of its hash.

    Raises:
        LibraryError: There is no such version, or the prefix is ambiguous.
    """
    known = all_of(folder, name)
    found = [version for version in known if source_hash and version.source_hash.startswith(source_hash)]
    if len(found) == 1:
        return found[0]
    which = f"{len(found)} versions" if found else "no version"
    listed = ", ".join(version.source_hash[:_HASH_DIGITS] for version in known) or "none"
    raise LibraryError(f"{name} has {which} {source_hash[:64]!r}", remedy=f"its versions: {listed}")
