"""Writing two files as one: after a kill at any moment a tool is there whole, as it was before or as it became.

Both files are first written whole to `pending/`. Then the source is moved into place, then the JSON file: that move is
the commit. What a killed process left is rolled forward when its source is in place already, and dropped otherwise.
All of it happens under the lock of the library.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from mcp_tools.library.files import META_HASH, object_path, source_path


def write_pair(folder: Path, pending: Path, name: str, source: bytes, document: bytes) -> None:
    """Puts both files of a tool in place.

    Raises:
        OSError: A file could not be written; the tool is as it was before.
    """
    pending.mkdir(parents=True, exist_ok=True)
    waiting = {pending / f"{name}.py": source, pending / f"{name}.json": document}
    try:
        for path, content in waiting.items():
            _write(path, content)
        _sync(pending)
        (pending / f"{name}.py").replace(source_path(folder, name))
        (pending / f"{name}.json").replace(object_path(folder, name))
    finally:
        settle(folder, pending)
    _sync(folder)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def settle(folder: Path, pending: Path) -> None:
    """Finishes or drops what an interrupted write left. Only under the lock."""
    for path in sorted(pending.glob("*.json")) if pending.is_dir() else ():
        source = source_path(folder, path.stem)
        if not (pending / source.name).exists() and source.exists() and _belongs(path, source):
            path.replace(object_path(folder, path.stem))
    for path in list(pending.iterdir()) if pending.is_dir() else ():
        path.unlink(missing_ok=True)


def _belongs(document: Path, source: Path) -> bool:
    try:
        wanted = json.loads(document.read_bytes())["_meta"][META_HASH]
    except (ValueError, KeyError, TypeError):
        return False
    return bool(wanted == hashlib.sha256(source.read_bytes()).hexdigest())


def keep_version(folder: Path, versions: Path, name: str) -> None:
    """Copies the files of a name, as they are, to where old versions are kept."""
    found = [path for path in (source_path(folder, name), object_path(folder, name)) if path.exists()]
    if not found:
        return
    label = _label(hashlib.sha256(found[0].read_bytes()).hexdigest())
    kept = versions / name
    kept.mkdir(parents=True, exist_ok=True)
    for path in found:
        _write(kept / f"{label}{path.suffix}", path.read_bytes())
    _sync(kept)


def _label(content_hash: str) -> str:
    return content_hash[:12]


def kept_version(versions: Path, name: str, source_hash: str) -> tuple[bytes, bytes] | None:
    """The source and the JSON file of an old version; None unless its source has that very hash."""
    stem = versions / name / _label(source_hash)
    try:
        source, document = stem.with_suffix(".py").read_bytes(), stem.with_suffix(".json").read_bytes()
    except OSError:
        return None
    return (source, document) if hashlib.sha256(source).hexdigest() == source_hash else None
