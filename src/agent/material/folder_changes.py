"""Shows the changes that programs made in the copy of the user's folder, and applies those that the user accepts."""

from __future__ import annotations

import difflib
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from agent.answer import FileChange
from agent.errors import StorageError, UsageError
from agent.material.folder import (
    DRAFT,
    CopiedFile,
    Entry,
    FolderCopy,
    copied,
    entries_below,
    opened,
    opened_file,
    parent_of,
    shown_name,
)
from agent.question import REMOVED_FILES
from agent.user_files import usual_mode, writing
from mcp_tools.atomic import whole_file
from mcp_tools.errors import os_errors_as
from mcp_tools.text import printable

MOST_DIFFED = 400_000
"""Maximum bytes of a text that is compared line by line."""
_MOST_LINES = 3_000
_MOST_SHOWN = 300
"""Maximum lines of a file's diff."""
_REPOSITORIES = frozenset([".git", ".hg", ".svn", ".bzr", ".jj"])
_PARTS_OF_GIT = ("config", "commondir", "objects", "refs")
"""Names that, with a file `HEAD`, make a folder a git repository. The settings of a repository can run programs."""
_OF_GIT = re.compile(r"(head|config|config\.worktree|commondir|(objects|refs|hooks|info|modules|worktrees)/.*)")
_ACTING = frozenset(
    [
        "alita.toml",
        "agents.md",
        "agents.override.md",
        "claude.md",
        "claude.local.md",
        "gemini.md",
        "__pycache__",
        "sitecustomize",
        "sitecustomize.py",
        "usercustomize",
        "usercustomize.py",
        "autorun.inf",
        "desktop.ini",
        "generated_tools",
    ]
)
"""Names of files that programs load automatically, in addition to names that begin with a dot."""
_ACTING_ENDS = (".pth", ".pyc", ".egg-link", ".desktop", ".lnk")
_NO_LINKS = frozenset([errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
"""Errors of file systems without hard links."""
_SLASHES = re.compile("/")
_HARD_LINK = "it is a hard link"
_ODD_NAME = "its name contains unprintable characters"


@dataclass(frozen=True, slots=True)
class Change:
    """A file that was changed, added or removed in the copy."""

    path: str
    kind: Literal["added", "changed", "removed"]
    bytes_before: int | None
    bytes_after: int | None
    before: str
    """SHA-256 when the file was copied; empty for a new file."""
    after: str
    """SHA-256 now; empty for a removed file."""

    @property
    def acts_by_itself(self) -> bool:
        """True if a program may run or load the file automatically. The user must then accept it by name."""
        parts = self.path.casefold().split("/")
        return any(part.startswith(".") or part in _ACTING for part in parts) or parts[-1].endswith(_ACTING_ENDS)

    @property
    def public(self) -> FileChange:
        """The change in the form that an answer lists."""
        return FileChange(self.path, self.kind, self.bytes_before, self.bytes_after)


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes of a copy."""

    files: tuple[Change, ...]
    never: tuple[tuple[str, str], ...] = ()
    """Names of files that are never applied, each with the reason."""

    def named(self, names: Sequence[str]) -> list[Change]:
        """Return the changes of these files. Without names, return all except those of files that act by themselves.

        Raises:
            UsageError: A named file has no change.
        """
        if not names:
            return [change for change in self.files if not change.acts_by_itself]
        known = {change.path: change for change in self.files}
        wanted = [name.removeprefix("./") for name in names]
        if missing := [name for name in wanted if name not in known]:
            why = dict(self.never).get(missing[0], "it has not changed")
            raise UsageError(
                f"{shown_name(missing[0])} cannot be applied: {why}.",
                remedy="`alita changes` lists the changes that can be applied.",
            )
        return [known[name] for name in dict.fromkeys(wanted)]


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of applying changes."""

    done: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    """Files that were not applied, each with the reason."""
    kept: Path | None = None
    """Folder that keeps the removed files."""


def changes_of(copy: FolderCopy) -> Changes:
    """Compare a copy with its record.

    Raises:
        StorageError: There is no complete copy.
    """
    files = copy.manifest().files
    found: list[Change] = []
    never: list[tuple[str, str]] = []
    seen: set[str] = set()
    closed: tuple[str, ...] = ()
    in_repository = False
    with os_errors_as(StorageError, f"{copy.folder} cannot be read"), opened(copy.folder) as top:
        for entry in entries_below(top):
            seen.add(entry.name)
            closed += (f"{entry.name}/",) if entry.status is None else ()
            judged = _judged(entry, files.get(entry.name))
            if judged is not None and _is_repository(entry.name):
                in_repository = True
            elif isinstance(judged, Change):
                found.append(judged)
            elif judged is not None:
                never.append((entry.name, judged))
    for name in sorted(files.keys() - seen):
        if _is_repository(name):
            in_repository = True
        elif name.startswith(closed) or not name.isprintable():
            never.append((name, "it cannot be read" if name.isprintable() else _ODD_NAME))
        else:
            found.append(Change(name, "removed", files[name].bytes, None, files[name].sha256, ""))
    if in_repository:
        never.append((".git", "its hooks would run on your machine"))
    for folder in _bare_repositories({*files, *seen}):
        inner = [one for one in found if one.path.casefold().startswith(folder)]
        parts = [one for one in inner if _OF_GIT.fullmatch(one.path.casefold().removeprefix(folder))]
        never += [(one.path, "it is part of a repository") for one in parts]
        found = [one for one in found if one not in parts]
    return Changes(tuple(sorted(found, key=lambda one: one.path)), tuple(never))


def _judged(entry: Entry, before: CopiedFile | None) -> Change | str | None:
    """Return the change of a file in the copy, or why it is never applied; None if the file is unchanged."""
    name, status = entry.name, entry.status
    if status is None or entry.flaw:
        return entry.flaw
    if status.st_nlink != 1:
        return _HARD_LINK
    if before is not None and before.is_untouched(status):
        return None
    if not name.isprintable():
        return _ODD_NAME
    try:
        with opened_file(entry.place, name.rpartition("/")[2]) as file:
            sha256, size = copied(file)
    except OSError:
        return "it cannot be read"
    if before is None:
        return Change(name, "added", None, size, "", sha256)
    return Change(name, "changed", before.bytes, size, before.sha256, sha256) if before.sha256 != sha256 else None


def _is_repository(name: str) -> bool:
    return not _REPOSITORIES.isdisjoint(name.casefold().split("/"))


def _bare_repositories(names: Iterable[str]) -> list[str]:
    """Return the folders that git treats as repositories, in lower case and with a final slash."""
    known = {name.casefold() for name in names}
    above = {name.removesuffix("head") for name in known if f"/{name}".endswith("/head")}
    parts = {f"{folder}{part}": folder for folder in above for part in _PARTS_OF_GIT}
    starts = {name[: place.start()] for name in known for place in _SLASHES.finditer(name)} | known
    return sorted({folder for part, folder in parts.items() if part in starts})


def diff(copy: FolderCopy, change: Change) -> str:
    """Return the unified diff of a text file, safe to print; empty if it is not shown."""
    before, after = _lines(copy.root, change.path, change.before), _lines(copy.folder, change.path, change.after)
    if before is None or after is None:
        return ""
    old = "/dev/null" if change.kind == "added" else f"a/{change.path}"
    new = "/dev/null" if change.kind == "removed" else f"b/{change.path}"
    lines = difflib.unified_diff(before, after, old, new, lineterm="")
    shown = [printable(line).replace("\n", "␤") for line in islice(lines, _MOST_SHOWN + 1)]
    return "\n".join([*shown[:_MOST_SHOWN], *(["… more lines are not shown"] if len(shown) > _MOST_SHOWN else [])])


def _lines(folder: Path, path: str, sha256: str) -> list[str] | None:
    """Return the lines of a file with this hash; None if its content differs, is not text or is too long."""
    if not sha256:
        return []
    with suppress(OSError, UnicodeDecodeError), opened(folder) as top, parent_of(top, path) as (place, name):
        with opened_file(place, name) as file:
            if os.fstat(file.fileno()).st_size > MOST_DIFFED or copied(file)[0] != sha256:
                return None
            file.seek(0)
            text = file.read(MOST_DIFFED + 1).decode()
        if "\0" not in text and text.count("\n") <= _MOST_LINES:
            return text.split("\n")
    return None


def apply(copy: FolderCopy, changes: Iterable[Change]) -> Applied:
    """Apply changes to the user's folder. Each file is written completely or not at all.

    A file in the folder that has changed since it was copied is not touched. Removed files are kept in the run's
    folder. Changes that have already been applied, for example by a killed process, count as applied.

    Raises:
        StorageError: The folder is missing, or was replaced by another folder.
    """
    with _locked(copy) as (root, source):
        manifest = copy.manifest()
        status = os.fstat(root)
        if (status.st_dev, status.st_ino) != (manifest.device, manifest.inode):
            raise StorageError(
                f"{shown_name(str(copy.root))} is not the folder that was copied.",
                remedy=f"The changed files are in {copy.folder}.",
            )
        kept = copy.place / REMOVED_FILES / time.strftime("%y%m%d-%H%M%S")
        done: list[str] = []
        left: list[tuple[str, str]] = []
        try:
            for change in sorted(changes, key=lambda one: one.kind != "removed"):
                try:
                    new = _apply(root, source, change, kept)
                except (OSError, StorageError) as problem:
                    left.append((change.path, _reason(problem)))
                    continue
                done.append(change.path)
                if new is None:
                    manifest.files.pop(change.path, None)
                else:
                    manifest.files[change.path] = new
        finally:
            copy.save(manifest)
    return Applied(tuple(done), tuple(left), kept if kept.exists() else None)


@contextmanager
def _locked(copy: FolderCopy) -> Iterator[tuple[int, int]]:
    """Open the user's folder and the copy, with a lock that keeps others from applying changes to the folder."""
    what = f"{shown_name(str(copy.root))} cannot be changed"
    with (
        os_errors_as(StorageError, what, f"The changed files are in {copy.folder}."),
        opened(copy.root) as root,
        opened(copy.folder) as source,
    ):
        fcntl.flock(root, fcntl.LOCK_EX)
        yield root, source


def _reason(problem: OSError | StorageError) -> str:
    if isinstance(problem, StorageError):
        return problem.message
    if isinstance(problem, _Conflict):
        return str(problem)
    return f"it cannot be written: {problem.strerror or problem}"


class _Conflict(OSError):
    """The file in the user's folder has changed since it was copied."""


def _apply(root: int, source: int, change: Change, kept: Path) -> CopiedFile | None:
    """Apply a change and return the file's new record; None for a removed file.

    Raises:
        OSError, StorageError: The change was not applied.
    """
    with parent_of(root, change.path, make=change.kind != "removed") as (place, name):
        with suppress(FileNotFoundError):  # left by a killed process
            os.unlink(DRAFT, dir_fd=place)
        status, now = _found_at(place, name)
        if now == change.after:
            return _record(source, change)
        if now != change.before:
            what = "is there already" if not change.before else "has changed since it was copied" if now else "is gone"
            raise _Conflict(f"it {what}")
        if change.kind == "removed":
            assert status is not None
            _set_aside(place, name, kept / change.path, status)
        else:
            _write(place, name, source, change, status)
    if change.kind == "removed":
        _remove_empty(root, source, change.path)
        return None
    return _record(source, change)


def _record(source: int, change: Change) -> CopiedFile | None:
    if change.kind == "removed":
        return None
    with parent_of(source, change.path) as (place, name):
        return CopiedFile.of(change.after, os.stat(name, dir_fd=place, follow_symlinks=False))


def _found_at(place: int, name: str) -> tuple[os.stat_result | None, str]:
    """Return the status and hash of a file; None and an empty text if there is no file.

    Raises:
        OSError: The name belongs to a link, folder or device.
    """
    try:
        status = os.stat(name, dir_fd=place, follow_symlinks=False)
    except FileNotFoundError:
        return None, ""
    if not stat.S_ISREG(status.st_mode):
        raise _Conflict("its name belongs to something other than a file")
    with opened_file(place, name) as file:
        return status, copied(file)[0]


def _require_same(place: int, name: str, before: os.stat_result) -> None:
    now = os.stat(name, dir_fd=place, follow_symlinks=False)
    if (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns) != (
        before.st_ino,
        before.st_size,
        before.st_mtime_ns,
        before.st_ctime_ns,
    ):
        raise _Conflict("it has changed since it was copied")


def _write(place: int, name: str, source: int, change: Change, before: os.stat_result | None) -> None:
    """Write a file of the copy to the user's folder, with the mode of the file that it replaces."""
    with parent_of(source, change.path) as (inner, own), opened_file(inner, own) as file:
        found = os.fstat(file.fileno())
        if found.st_nlink != 1:
            raise _Conflict(_HARD_LINK)
        mode = usual_mode()
        mode |= (mode & 0o444) >> 2 if found.st_mode & 0o111 else 0
        mode = mode if before is None else before.st_mode & 0o777
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(DRAFT, flags, 0o600, dir_fd=place)
        try:
            with os.fdopen(descriptor, "wb") as draft:
                if copied(file, draft)[0] != change.after:
                    raise _Conflict("it changed while it was applied")
                if before is not None:
                    with suppress(OSError):
                        os.fchown(descriptor, before.st_uid, before.st_gid)
                os.fchmod(descriptor, mode)
                draft.flush()
                os.fsync(descriptor)
            if before is None:
                _name_new(place, name)
            else:
                _require_same(place, name, before)
                os.replace(DRAFT, name, src_dir_fd=place, dst_dir_fd=place)
            os.fsync(place)
        except BaseException:
            with suppress(OSError):
                os.unlink(DRAFT, dir_fd=place)
            raise


def _name_new(place: int, name: str) -> None:
    """Rename the draft. The new name must be unused."""
    try:
        os.link(DRAFT, name, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=False)
    except FileExistsError:
        raise _Conflict("it is there already") from None
    except OSError as problem:
        if problem.errno not in _NO_LINKS:
            raise
        if _found_at(place, name)[1]:
            raise _Conflict("it is there already") from None
        os.replace(DRAFT, name, src_dir_fd=place, dst_dir_fd=place)
    else:
        os.unlink(DRAFT, dir_fd=place)


def _set_aside(place: int, name: str, target: Path, before: os.stat_result) -> None:
    """Move a removed file to the run's folder."""
    with opened_file(place, name) as file, writing(target):
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(target) as aside:
            copied(file, aside)
    _require_same(place, name, before)
    os.unlink(name, dir_fd=place)
    os.fsync(place)


def _remove_empty(root: int, source: int, path: str) -> None:
    """Remove empty parent folders of a removed file, unless they still exist in the copy."""
    while "/" in path:
        path = path.rpartition("/")[0]
        with suppress(OSError), parent_of(source, path) as (inner, name), opened(name, below=inner):
            return
        try:
            with parent_of(root, path) as (place, name):
                os.rmdir(name, dir_fd=place)
        except OSError:
            return
