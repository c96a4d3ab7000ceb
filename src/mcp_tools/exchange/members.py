"""Foreign files as names and bytes: a file, a folder or a zip, read whole and within limits before anything is done."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from mcp_tools.environments.wrapped import FOLDER as WRAPPED
from mcp_tools.errors import UsageError
from mcp_tools.small_files import read_small
from mcp_tools.text import one_line

Members = dict[str, bytes]
"""Files by their names, relative and with `/`."""

MOST_FILES = 4_000
LARGEST = 4_000_000
"""Bytes of one file in a folder or an archive."""
MOST_BYTES = 64_000_000
"""Bytes of all files together, unpacked."""
LARGEST_INPUT = 32_000_000
"""Bytes of an archive or a registry."""
_DEEPEST = 4
_LONGEST_NAME = 200
_ENTRY = b"PK\x01\x02"
"""The beginning of each entry of a zip's directory."""
_PLAIN = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)
_READ = (".py", ".json", ".md")
_STAMP = (1980, 1, 1, 0, 0, 0)


def read_members(path: Path) -> Members:
    """The files of a folder or of a zip; a single other file under its own name.

    Raises:
        UsageError: It cannot be read, or holds what no honest export holds: links, names that lead elsewhere, doubled
            names, more than fits the limits.
    """
    try:
        if path.is_dir():
            return _in_folder(path)
        content = read_small(path, LARGEST if path.suffix == ".py" else LARGEST_INPUT)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    return unzipped(content, path) if content.startswith(b"PK") else {path.name: content}


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip of files; equal files make equal bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, _STAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, content)
    return made.getvalue()


def unzipped(content: bytes, path: Path, *, deepest: int = _DEEPEST) -> Members:
    """The files of a zip, which came as `path`.

    Raises:
        UsageError: See `read_members`.
    """
    if content.count(_ENTRY) > MOST_FILES:  # before the directory is read, which takes memory for each entry
        raise _refused(path, f"it holds more than {MOST_FILES:,} files")
    found: Members = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _require_harmless(entries, path, deepest)
            for entry in entries:
                found[entry.filename] = archive.read(entry)
    except _DAMAGE as error:
        raise _refused(path, f"it is damaged: {one_line(str(error))}") from None
    return found


def _require_harmless(entries: list[zipfile.ZipInfo], path: Path, deepest: int) -> None:
    """Refuses an archive by its directory, before anything is unpacked; no entry unpacks to more than that says."""
    seen: set[str] = set()
    for entry in entries:
        shown = one_line(entry.orig_filename, 80)
        if wrong := misnamed(entry.orig_filename, deepest):
            raise _refused(path, f"the name {shown!r} {wrong}")
        if entry.filename.casefold() in seen:
            raise _refused(path, f"it holds {shown} twice")
        seen.add(entry.filename.casefold())
        if stat.S_IFMT(entry.external_attr >> 16) not in {0, stat.S_IFREG}:
            raise _refused(path, f"{shown} is a link or a special file")
        if entry.flag_bits & 1:
            raise _refused(path, f"{shown} is protected by a password")
        if entry.compress_type not in _PLAIN:
            raise _refused(path, f"{shown} is compressed in a way that is not read here")
        if entry.file_size > LARGEST:
            raise _refused(path, f"{shown} unpacks to {entry.file_size:,} bytes; {LARGEST:,} are allowed")
    if (size := sum(entry.file_size for entry in entries)) > MOST_BYTES:
        raise _refused(path, f"it unpacks to {size:,} bytes; {MOST_BYTES:,} are allowed")


def misnamed(name: str, deepest: int) -> str:
    """Why a name may not stand in an archive; empty for a good one."""
    parts = name.split("/")
    if len(name) > _LONGEST_NAME or len(parts) > deepest:
        return "is too long or too deep"
    if not name.isprintable() or "\\" in name or ":" in name:
        return "has characters that no exported file has"
    if {"", ".", ".."} & {*parts}:
        return "leads out of the archive"
    return ""


def _in_folder(folder: Path) -> Members:
    found: Members = {}
    size = 0
    for name, path in _files(folder, "", 2):
        if len(found) >= MOST_FILES:
            raise _refused(folder, f"it holds more than {MOST_FILES:,} files")
        found[name] = read_small(path, LARGEST, follow=False)
        size += len(found[name])
        if size > MOST_BYTES:
            raise _refused(folder, f"its files have more than {MOST_BYTES:,} bytes")
    return found


def _files(folder: Path, above: str, levels: int) -> Iterator[tuple[str, Path]]:
    """The sources, JSON files and texts in a folder and its subfolders; none that are hidden."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            name = f"{above}{entry.name}"
            if entry.name.startswith((".", "__pycache__")):
                continue
            if entry.is_dir(follow_symlinks=False):
                if levels > 1:
                    yield from _files(Path(entry.path), f"{name}/", levels - 1)
            elif entry.name.endswith(_READ) or (above == f"{WRAPPED}/" and entry.name.endswith(".whl")):
                if entry.is_symlink():
                    raise _refused(folder, f"{one_line(name, 80)} is a link, and none is followed")
                yield name, Path(entry.path)


def _refused(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} is not imported: {why}.", remedy="Nothing was changed.")
