"""Transfers files, identified by content hashes, between the benchmark's machine and the nodes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from agent.errors import RunError
from agent.store.journal import FILE as JOURNAL_FILE
from agent.store.runs import FILE as RUN_FILE
from mcp_tools.atomic import private, private_folder
from mcp_tools.small_files import leads_out, read_small

Files = dict[str, bytes]
"""File contents by relative POSIX path."""
MOST_BYTES = 100_000_000
"""Maximum total size in bytes of a run's files that are sent back."""
WHOLE = 1 << 40
"""A limit larger than any folder that was sent here."""
_GROWTH = 1_000_000
"""Maximum number of bytes by which a file may grow while its folder is read."""
_MOST_KEPT = 50
"""Maximum number of packed folders and attachments kept on a node."""
_FIRST = (RUN_FILE, JOURNAL_FILE)


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return a SHA-256 hash of the files' names and contents."""
    listed = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()


def read_folder(folder: Path, most: int = MOST_BYTES) -> tuple[Files, tuple[str, ...]]:
    """Read the files in a folder: first the run's records, then from small to large. Links are skipped.

    Returns:
        The files, and the names of files that are too large.
    """
    found = []
    for path in folder.rglob("*"):
        state = path.lstat()
        if stat.S_ISREG(state.st_mode) and not leads_out(path, folder):
            name = path.relative_to(folder).as_posix()
            found.append((name not in _FIRST, state.st_size, name))
    files: Files = {}
    left_out = []
    for _, size, name in sorted(found):
        if size > most:
            left_out.append(name)
            continue
        with contextlib.suppress(FileNotFoundError):  # the file was removed by a program that is still exiting
            files[name] = read_small(folder / name, min(most, size + _GROWTH), follow=False)
            most -= len(files[name])
    return files, tuple(left_out)


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a new folder, all or none.

    Raises:
        RunError: The folder already exists, or a file name leads out of it.
        OSError: The folder cannot be written.
    """
    for name in files:
        plain = PurePosixPath(name)
        if plain.is_absolute() or not plain.parts or ".." in plain.parts or "\0" in name:
            raise RunError(f"A node sent a file named {name!r}, which is not a safe relative path.")
    private_folder(folder.parent)
    draft = Path(tempfile.mkdtemp(prefix=".incoming-", dir=folder.parent))
    try:
        for name, content in files.items():
            path = draft / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(path, "xb", opener=private) as file:
                file.write(content)
        if folder.exists():
            raise RunError(f"{folder} already exists.")
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def link_folder(source: Path, target: Path) -> None:
    """Copy a folder with hard links, which is safe because alita replaces files and never edits them."""
    shutil.copytree(source, target, copy_function=os.link, dirs_exist_ok=True)


class Cache:
    """A node's cache of received files, in folders named by their hash.

    Args:
        folder: The cache folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, digest: str) -> Path | None:
        """Return the folder with a hash if it exists and is unchanged."""
        place = self._folder / digest
        if place.is_dir() and digest_of(read_folder(place, WHOLE)[0]) == digest:
            with contextlib.suppress(OSError):
                os.utime(place)
            return place
        return None

    def put(self, digest: str, files: Mapping[str, bytes]) -> Path:
        """Store files, and remove the least recently used ones.

        Raises:
            RunError: The files do not match the hash.
            OSError: The files cannot be written.
        """
        if digest_of(files) != digest:
            raise RunError(f"The files that were sent with the hash {digest[:12]} do not match it.")
        place = self._folder / digest
        shutil.rmtree(place, ignore_errors=True)
        with contextlib.suppress(RunError, FileExistsError):  # another worker on this node has stored the files
            write_folder(place, files)
        for old in self._oldest():
            shutil.rmtree(old, ignore_errors=True)
        return place

    def _oldest(self) -> Iterator[Path]:
        places = sorted(self._folder.iterdir(), key=lambda place: place.lstat().st_mtime, reverse=True)
        yield from places[_MOST_KEPT:]
