"""A run's output folder, with the files that programs wrote for the user."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from agent.answer import OutputFile
from agent.errors import StorageError
from agent.material.folder import shown_name
from agent.user_files import whole_file
from mcp_tools.errors import os_errors_as
from mcp_tools.prompt import data_block
from mcp_tools.sandbox.inside.scratch import remove
from mcp_tools.sandbox.protocol import OUTPUT_BYTES, OUTPUT_FILES
from mcp_tools.small_files import is_text, plain_files

if TYPE_CHECKING:
    from agent.calls.recorder import Recorder
    from agent.state import Step

FOLDER = "outputs"
MAX_LISTED = 50
"""Maximum number of a program's files to list."""
_PLAIN = re.compile(r"[\w./-]{1,60}")


class Outputs:
    """The output folder, where programs start and may write.

    Links and special files are ignored, because a link could lead elsewhere.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> Path:
        """Create the folder. Others may list it, but not change it."""
        self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        return self.folder

    def snapshot(self) -> dict[str, tuple[int, int]]:
        """Return the size and modification time of each file."""
        return {name: (found.st_size, found.st_mtime_ns) for name, found in plain_files(self.folder)}

    def written_since(self, before: dict[str, tuple[int, int]]) -> list[OutputFile]:
        """Return the new and changed files in order of their names."""
        now = self.snapshot()
        changed = sorted(name for name in now if now[name] != before.get(name))
        return [OutputFile(name, str(self.folder / name), now[name][0]) for name in changed]

    def kept_since(self, before: dict[str, tuple[int, int]]) -> list[OutputFile]:
        """Return the new and changed files. If the folder exceeds its limits, remove them and return none.

        Files with undecodable names are left out.
        """
        files = [file for file in self.written_since(before) if is_text(file.name)]
        if files and self.is_full:
            self.remove(files)
            return []
        return files

    def remove_new_folders(self, before: Iterable[str]) -> None:
        """Remove the folders that have no earlier files, at any depth and with any modes."""
        kept = {".", *(str(parent) for name in before for parent in Path(name).parents)}
        for place in sorted(self.folder / name for name in kept):
            with contextlib.suppress(OSError), os.scandir(place) as entries:
                for entry in list(entries):
                    new = entry.is_dir(follow_symlinks=False) and os.path.relpath(entry.path, self.folder) not in kept
                    if new:
                        remove(entry.path)

    def remove(self, files: list[OutputFile]) -> None:
        """Remove files that a program wrote past its limit."""
        for file in files:
            Path(file.path).unlink(missing_ok=True)

    @property
    def is_full(self) -> bool:
        """True if the folder exceeds the limits for programs."""
        sizes = [size for size, _ in self.snapshot().values()]
        return len(sizes) > OUTPUT_FILES or sum(sizes) > OUTPUT_BYTES


async def copied(
    files: Iterable[OutputFile], folder: Path, may_replace: Callable[[Path], Awaitable[bool]]
) -> tuple[list[Path], list[Path]]:
    """Copy a run's files to a folder of the user. Return the copies, and the existing files that were not replaced.

    Args:
        files: The files. Each keeps its relative path.
        folder: The target folder, created if missing.
        may_replace: Called for each file that already exists.

    Raises:
        StorageError: A file is missing or cannot be written.
    """
    made: list[Path] = []
    left: list[Path] = []
    for file in files:
        target = folder / file.name
        there = await asyncio.to_thread(_what_stands_at, target, folder)
        if there == "nothing" or (there == "file" and await may_replace(target)):
            await asyncio.to_thread(_copy, file.path, target)
            made.append(target)
        else:
            left.append(target)
    return made, left


def _what_stands_at(target: Path, folder: Path) -> Literal["nothing", "file", "other"]:
    """Return the kind of thing that a copy would replace, and create the parent folders."""
    with os_errors_as(StorageError, f"{target} cannot be written", "Choose another folder."):
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.parent.resolve().is_relative_to(folder.resolve()):
            raise StorageError(f"{target.parent} leads out of {folder}.", remedy="Choose another folder.")
        if not os.path.lexists(target):
            return "nothing"
        return "file" if target.is_file() and not target.is_symlink() else "other"


def _copy(path: str, target: Path) -> None:
    with os_errors_as(StorageError, f"{path} cannot be read", "Ask the question again to create the file."):
        source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(source, "rb") as content, whole_file(target, shared=True) as copy:
        shutil.copyfileobj(content, copy)


T = TypeVar("T")


async def with_outputs(
    outputs: Outputs, calls: Recorder, wanted: bool, call: Callable[[Path | None], Awaitable[T]]
) -> tuple[T, list[OutputFile]]:
    """Make a call and return its result and the files it wrote. The call gets the folder only if `wanted`."""
    if not wanted:
        return await call(None), []
    before = outputs.snapshot()
    result = await call(outputs.make() if calls.journal.is_live else outputs.folder)

    async def written() -> Any:
        return tuple(await asyncio.to_thread(outputs.kept_since, before))

    return result, await calls.call("outputs", {}, written, form=list[OutputFile])


def with_files_of(done: Step, written: Sequence[OutputFile]) -> Step:
    """Return the step with the files that its program wrote for the user."""
    if written:
        done["outputs"] = [asdict(file) for file in written]
    return done


def listing(written: Sequence[OutputFile]) -> str:
    """Return the list of files that a step wrote, in the form for the model. Unusual names are marked as data."""
    if not written:
        return ""
    names = written[:MAX_LISTED]
    named = ", ".join(f"{shown_name(file.name)} ({file.size:,} bytes)" for file in names)
    more = f" and {len(written) - MAX_LISTED} more" if len(written) > MAX_LISTED else ""
    if all(_PLAIN.fullmatch(file.name) for file in names):
        return f"Kept for the user: {named}{more}."
    return f"Kept for the user:\n{data_block('outputs', f'{named}{more}')}"
