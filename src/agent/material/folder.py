"""The user's folder. Programs may read it or change a copy, and the user accepts the changes afterwards."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from agent.errors import StorageError, UsageError
from agent.question import COPIED_FOLDER, MANIFEST
from agent.user_files import writing
from mcp_tools.atomic import write_whole
from mcp_tools.errors import os_errors_as
from mcp_tools.sandbox.protocol import Writable
from mcp_tools.small_files import RECORD, json_of, read_small
from mcp_tools.text import count_of

DRAFT = ".alita-applying"
"""The temporary name of a file while it is written."""
MOST_BYTES, MOST_FILES = 1_000_000_000, 20_000
"""Limits of a folder that can be copied."""
DEEPEST = 60
MOST_LISTED = 40
_ROOM = 2 * MOST_BYTES, 2 * MOST_FILES
"""Limits of the copy, which programs may enlarge."""
_LOOKED_AT = 10_000
_PIECE = 1 << 20
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_LINK, _SPECIAL, _UNREADABLE, _DEEP = "a link", "not a regular file", "it cannot be read", "it is nested too deeply"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, or a folder that is not entered."""

    name: str
    """Path relative to the folder."""
    place: int
    """Descriptor of the open folder that contains the entry."""
    status: os.stat_result | None = None
    flaw: str = ""
    """Why the entry cannot be read as a file; empty if it can."""


@contextmanager
def opened(folder: Path | str, *, below: int | None = None) -> Iterator[int]:
    """Open a folder that is not a link.

    Raises:
        OSError: The folder is missing, is a link or cannot be read.
    """
    descriptor = os.open(folder, _FLAGS | os.O_DIRECTORY, dir_fd=below)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def entries_below(folder: int, above: str = "", depth: int = 0) -> Iterator[Entry]:
    """Yield all entries below an open folder, in order of their names. Links are not followed."""
    with os.scandir(folder) as found:
        names = sorted(entry.name for entry in found)
    for name in names:
        path, flaw = f"{above}{name}", ""
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            yield Entry(path, folder, None, _UNREADABLE)
            continue
        if stat.S_ISDIR(status.st_mode):
            if depth == DEEPEST:
                yield Entry(path, folder, None, _DEEP)
                continue
            try:
                with opened(name, below=folder) as inner:
                    yield from entries_below(inner, f"{path}/", depth + 1)
            except OSError:
                yield Entry(path, folder, None, _UNREADABLE)
            continue
        if not stat.S_ISREG(status.st_mode):
            flaw = _LINK if stat.S_ISLNK(status.st_mode) else _SPECIAL
        yield Entry(path, folder, status, flaw)


@contextmanager
def parent_of(folder: int, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the parent of a path below an open folder, and yield it with the file's name. Links are not followed.

    Raises:
        OSError: A folder on the path is missing or a link, or the path leads outside.
    """
    *above, name = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in (*above, name)):
        raise OSError(f"{path!r} is not a valid path in the folder")
    descriptor = os.dup(folder)
    try:
        for part in above:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
            inner = os.open(part, _FLAGS | os.O_DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor, name
    finally:
        os.close(descriptor)


@contextmanager
def opened_file(place: int, name: str) -> Iterator[BinaryIO]:
    """Open a regular file in an open folder, without following links.

    Raises:
        OSError: The file is missing, is not a regular file, or cannot be read.
    """
    descriptor = os.open(name, _FLAGS | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=place)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(_SPECIAL)
        yield file


def copied(source: BinaryIO, target: BinaryIO | None = None, *, most: int | None = None) -> tuple[str, int]:
    """Copy a file and return its SHA-256 and size. Without a target, the file is only read.

    Raises:
        OSError: The file is longer than `most`, or cannot be read or written.
    """
    digest, size = hashlib.sha256(), 0
    while piece := source.read(_PIECE):
        digest.update(piece)
        size += len(piece)
        if most is not None and size > most:
            raise OSError(f"it is larger than {most:,} bytes")
        if target is not None:
            target.write(piece)
    return digest.hexdigest(), size


def shown_name(name: str) -> str:
    """Return a name with unusual characters escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in name)


def checked_folder(path: Path, own: Sequence[Path]) -> Path:
    """Return the real path of a folder that the user names.

    Args:
        path: The folder.
        own: alita's own folders, which contain the user's keys and runs.

    Raises:
        UsageError: The path is not a folder, or the folder contains files that programs must not see.
    """
    with os_errors_as(UsageError, f"The folder {shown_name(str(path))} cannot be read", "Correct the path."):
        real = path.expanduser().resolve(strict=True)
        if not real.is_dir():
            raise UsageError(f"{shown_name(str(path))} is not a folder.", remedy="Attach a file with --file.")
        os.scandir(real).close()
    if not str(real).isprintable():  # the path is shown in prompts and commands
        raise UsageError(
            f"The folder name {shown_name(str(real))} contains unprintable characters.", remedy="Rename the folder."
        )
    for one in own:
        place = one.resolve()
        if place.is_relative_to(real) or real.is_relative_to(place):
            raise UsageError(
                f"{shown_name(str(path))} contains alita's own files ({place}), such as keys and earlier runs.",
                remedy="Choose another folder, or a folder in this one.",
            )
    return real


def measure(root: Path) -> None:
    """Check that a folder is small enough to be copied.

    Raises:
        UsageError: The folder has too many files, or the files are too large.
    """
    size = files = 0
    with os_errors_as(UsageError, f"The folder {root} cannot be read"), opened(root) as top:
        for entry in entries_below(top):
            if entry.status is not None and not entry.flaw:
                size, files = size + entry.status.st_size, files + 1
                _require_room(root, size, files)


def _require_room(root: Path, size: int, files: int) -> None:
    if size > MOST_BYTES or files > MOST_FILES:
        raise UsageError(
            f"The folder {root} has more than {MOST_BYTES:,} bytes or {MOST_FILES:,} files, so it is not copied.",
            remedy="Choose a smaller folder, or leave out --write, so that programs only read it.",
        )


def listing(root: Path) -> str:
    """Return the first file names in a folder with their sizes, upper levels first."""
    lines: list[str] = []
    waiting = deque([""])
    while waiting and len(lines) <= MOST_LISTED:
        above = waiting.popleft()
        with suppress(OSError), os.scandir(root / above) as found:
            for entry in sorted(islice(found, _LOOKED_AT), key=lambda one: one.name):
                path = f"{above}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{path}/")
                    lines.append(f"{shown_name(path)}/")
                elif entry.is_file(follow_symlinks=False):
                    lines.append(f"{shown_name(path)} ({entry.stat(follow_symlinks=False).st_size:,} bytes)")
    more = ["… and more"] if len(lines) > MOST_LISTED else []
    return "\n".join([*lines[:MOST_LISTED], *more]) or "(empty)"


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """The record of a copied file."""

    sha256: str
    bytes: int
    inode: int
    """Inode of the copy."""
    changed: int
    """Time of the copy's last status change, in nanoseconds. Programs cannot set it."""

    def is_untouched(self, status: os.stat_result) -> bool:
        """Return True if the copy has not been written to."""
        return (self.bytes, self.inode, self.changed) == (status.st_size, status.st_ino, status.st_ctime_ns)

    @classmethod
    def of(cls, sha256: str, status: os.stat_result) -> CopiedFile:
        """Return the record of a copy with this status."""
        return cls(sha256, status.st_size, status.st_ino, status.st_ctime_ns)


@dataclass(slots=True)
class Manifest:
    """The record of a copied folder."""

    device: int
    inode: int
    files: dict[str, CopiedFile] = field(default_factory=dict)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    """Names of files that were not copied, each with the reason."""


class FolderCopy:
    """The copy of a user's folder in the folder of a run."""

    def __init__(self, root: Path, place: Path) -> None:
        self.root = root
        """The user's folder."""
        self.place = place
        """The folder of the run."""
        self.folder = place / COPIED_FOLDER

    @property
    def writable(self) -> Writable:
        """The copy as a folder that programs may write to."""
        return Writable(self.folder, *_ROOM)

    def make(self) -> Manifest:
        """Copy the folder. An incomplete copy by a killed process is replaced.

        Raises:
            UsageError: The folder is too large, or cannot be read.
            StorageError: The copy cannot be written.
        """
        with writing(self.folder):
            if self.folder.exists():
                shutil.rmtree(self.folder)
            self.folder.mkdir(mode=0o755)
        with os_errors_as(UsageError, f"The folder {self.root} cannot be read"), opened(self.root) as top:
            status, size = os.fstat(top), 0
            manifest = Manifest(status.st_dev, status.st_ino)
            for entry in entries_below(top):
                if entry.name.rpartition("/")[2] == DRAFT:
                    continue
                if entry.flaw:
                    manifest.left_out.append((entry.name, entry.flaw))
                    continue
                assert entry.status is not None
                _require_room(self.root, size + entry.status.st_size, len(manifest.files) + 1)
                try:
                    with opened_file(entry.place, entry.name.rpartition("/")[2]) as file:
                        manifest.files[entry.name] = self._copy(file, entry.name, MOST_BYTES - size)
                except OSError:  # unreadable or missing
                    manifest.left_out.append((entry.name, _UNREADABLE))
                    continue
                size += manifest.files[entry.name].bytes
        self.save(manifest)
        return manifest

    def _copy(self, source: BinaryIO, name: str, most: int) -> CopiedFile:
        target = self.folder / name
        with writing(target):
            target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            with target.open("xb") as copy:
                sha256, _ = copied(source, copy, most=most)
                # readable for the user that programs run as; the run's folder itself is private
                os.fchmod(copy.fileno(), 0o644 | (os.fstat(source.fileno()).st_mode & 0o111))
            return CopiedFile.of(sha256, target.stat())

    @property
    def is_whole(self) -> bool:
        """True if everything was copied."""
        return (self.place / MANIFEST).exists()

    def manifest(self) -> Manifest:
        """Return the record of the copy.

        Raises:
            StorageError: The run has no complete copy.
        """
        path = self.place / MANIFEST
        with os_errors_as(StorageError, f"{path} cannot be read", "Ask the question again with --folder."):
            content = read_small(path, RECORD, follow=False)
        try:
            data: Any = json_of(content)
            files = {name: CopiedFile(*facts) for name, facts in data["files"].items()}
            return Manifest(data["device"], data["inode"], files, [(name, why) for name, why in data["left_out"]])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise StorageError(f"{path} is corrupt.", remedy="Ask the question again with --folder.") from None

    def save(self, manifest: Manifest) -> None:
        """Write the record of the copy.

        Raises:
            StorageError: It cannot be written.
        """
        files = {name: [one.sha256, one.bytes, one.inode, one.changed] for name, one in manifest.files.items()}
        plain = {"device": manifest.device, "inode": manifest.inode, "files": files, "left_out": manifest.left_out}
        with writing(self.place / MANIFEST):
            write_whole(self.place / MANIFEST, json.dumps(plain).encode())

    def left_out(self, manifest: Manifest) -> str:
        """Return a sentence about files that were not copied; empty if all were copied."""
        if not (names := manifest.left_out):
            return ""
        shown = ", ".join(f"{shown_name(name)} ({why})" for name, why in names[:10])
        more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
        return f"{count_of(len(names), 'name')} not copied: {shown}{more}"
