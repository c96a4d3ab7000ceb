"""Read an untrusted file, folder or zip into memory, within limits, before anything else is done with it."""

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
"""Contents of files, keyed by relative path with `/` separators."""

MAX_FILES = 4_000
MAX_FILE_BYTES = 4_000_000
MAX_TOTAL_BYTES = 64_000_000
"""Limit on the total size of all files after unpacking."""
MAX_INPUT_BYTES = 32_000_000
"""Size limit of an archive or a registry file."""
_MAX_DEPTH = 4
_MAX_NAME_CHARS = 200
_ENTRY = b"PK\x01\x02"
"""Signature of each entry in a zip file's central directory."""
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
    """Return the files in a folder or zip. Any other file is returned under its own name.

    Raises:
        UsageError: The path cannot be read, exceeds a limit, or contains links, duplicate names or unsafe names.
    """
    try:
        if path.is_dir():
            return _in_folder(path)
        content = read_small(path, MAX_FILE_BYTES if path.suffix == ".py" else MAX_INPUT_BYTES)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    return unzipped(content, path) if content.startswith(b"PK") else {path.name: content}


def zipped(members: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of files. Equal files give equal bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, _STAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, content)
    return made.getvalue()


def unzipped(content: bytes, path: Path, *, deepest: int = _MAX_DEPTH) -> Members:
    """Return the files in a zip archive. Error messages refer to it by `path`.

    Raises:
        UsageError: See `read_members`.
    """
    if content.count(_ENTRY) > MAX_FILES:  # reading the directory would use memory for each entry
        raise _refused(path, f"it contains more than {MAX_FILES:,} files")
    found: Members = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            _require_harmless(entries, path, deepest)
            for entry in entries:
                found[entry.filename] = archive.read(entry)
    except _DAMAGE as error:
        raise _refused(path, f"it is not a valid archive: {one_line(str(error))}") from None
    return found


def _require_harmless(entries: list[zipfile.ZipInfo], path: Path, deepest: int) -> None:
    """Check an archive's directory before unpacking anything. `zipfile` enforces the sizes that it states."""
    seen: set[str] = set()
    for entry in entries:
        shown = one_line(entry.orig_filename, 80)
        if wrong := misnamed(entry.orig_filename, deepest):
            raise _refused(path, f"the name {shown!r} {wrong}")
        if entry.filename.casefold() in seen:
            raise _refused(path, f"it contains {shown} twice")
        seen.add(entry.filename.casefold())
        if stat.S_IFMT(entry.external_attr >> 16) not in {0, stat.S_IFREG}:
            raise _refused(path, f"{shown} is a link or a special file")
        if entry.flag_bits & 1:
            raise _refused(path, f"{shown} is protected by a password")
        if entry.compress_type not in _PLAIN:
            raise _refused(path, f"{shown} is compressed with an unsupported method")
        if entry.file_size > MAX_FILE_BYTES:
            raise _refused(path, f"{shown} unpacks to {entry.file_size:,} bytes; the limit is {MAX_FILE_BYTES:,}")
    if (size := sum(entry.file_size for entry in entries)) > MAX_TOTAL_BYTES:
        raise _refused(path, f"it unpacks to {size:,} bytes; the limit is {MAX_TOTAL_BYTES:,}")


def misnamed(name: str, deepest: int) -> str:
    """Return the reason why a name is not allowed in an archive, or an empty string if it is."""
    parts = name.split("/")
    if len(name) > _MAX_NAME_CHARS or len(parts) > deepest:
        return "is too long or is nested too deeply"
    if not name.isprintable() or "\\" in name or ":" in name:
        return "contains forbidden characters"
    if {"", ".", ".."} & {*parts}:
        return "points outside the archive"
    return ""


def _in_folder(folder: Path) -> Members:
    found: Members = {}
    size = 0
    for name, path in _files(folder, "", 2):
        if len(found) >= MAX_FILES:
            raise _refused(folder, f"it contains more than {MAX_FILES:,} files")
        found[name] = read_small(path, MAX_FILE_BYTES, follow=False)
        size += len(found[name])
        if size > MAX_TOTAL_BYTES:
            raise _refused(folder, f"its files have more than {MAX_TOTAL_BYTES:,} bytes in total")
    return found


def _files(folder: Path, above: str, levels: int) -> Iterator[tuple[str, Path]]:
    """Yield the source, JSON and text files in a folder and its subfolders, except hidden ones."""
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
                    raise _refused(folder, f"{one_line(name, 80)} is a link, and links are not followed")
                yield name, Path(entry.path)


def _refused(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} cannot be imported: {why}.", remedy="Nothing was changed.")
