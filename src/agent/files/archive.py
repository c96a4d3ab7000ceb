"""Archives: what is in them, and each member as its own reader reads it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agent.files.contents import ReadLimits, Section, Source
from agent.files.kinds import EMPTY
from agent.files.previews import Part, part_of
from agent.files.problem import FileProblem, parser_failed
from agent.files.readers import READERS, reader_of
from agent.files.unpacking import Unpacked, Unpacking

if TYPE_CHECKING:
    from agent.files.contents import Contents
    from mcp_tools.tool import Json


class ArchiveReader:
    """Reads zip and tar files, and files packed by gzip, bzip2 or xz."""

    kinds = frozenset({"zip", "tar", "gz", "bz2", "xz"})

    def open(self, source: Source, limits: ReadLimits) -> Archive:
        """Unpacks an archive into a temporary folder.

        Raises:
            FileProblem: It is encrypted, damaged, cut off, or unpacks to too much.
        """
        return Archive(source, limits)


class Archive:
    """An unpacked archive.

    Args:
        source: The file.
        limits: What may come out of it.
    """

    count: int | None = None
    """Not known: members are opened when they are read."""

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        self.kind = source.kind
        name = source.name or source.path.name
        self._limits = limits
        self._depth = source.depth
        self._folder = tempfile.TemporaryDirectory(prefix="alita-unpacked-", ignore_cleanup_errors=True)
        unpacking = Unpacking(Path(self._folder.name), limits)
        try:
            unpacking.unpack(source.path, source.kind, name)
        except BaseException:
            self.close()
            raise
        self._files = unpacking.files
        self.lost = unpacking.lost
        if not self._files and unpacking.encrypted:
            self.close()
            raise FileProblem(
                "encrypted", f"{name} is protected by a password.", remedy="Its content cannot be had without it."
            )
        size = sum(file.size for file in self._files)
        self.summary = f"Archive ({self.kind}): {len(self._files):,} files, {size:,} bytes unpacked"
        self.facts: dict[str, Json] = {
            "files": [{"name": one.name, "kind": one.kind, "bytes": one.size} for one in self._files[:1000]]
        }

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The list of members, then each member's sections, from that number on."""
        before = 0
        for listing in self._listings():
            before += 1
            if before >= first:
                yield listing
        for file in self._files:
            yield from self._member_sections(file, max(1, first - before))
            before += self._passed

    def preview(self) -> list[Part]:
        """Its members; how they begin is looked at one by one."""
        return [part_of(self._lines(), len(self._files), "files")]

    def save_data(self, folder: Path) -> list[Path]:
        """Writes the members that are not dangerous, under the names that they have in the archive."""
        paths = []
        for file in self._files:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, target)
            paths.append(target)
        return paths

    def close(self) -> None:
        """Removes the unpacked members."""
        self._folder.cleanup()

    def _lines(self) -> list[str]:
        return [f"- {file.name} ({file.kind}, {file.size:,} bytes)" for file in self._files]

    def _listings(self) -> Iterator[Section]:
        page: list[str] = []
        for line in self._lines() or ["(no files)"]:
            if page and sum(len(one) + 1 for one in page) + len(line) > self._limits.section:
                yield Section("members", "\n".join(page))
                page = []
            page.append(line)
        yield Section("members", "\n".join(page))

    def _member_sections(self, file: Unpacked, first: int) -> Iterator[Section]:
        """A member's sections from that number on; `_passed` then tells how many it has."""
        self._passed = 0
        if file.kind == EMPTY:
            self._passed = 1
            if first == 1:
                yield Section(file.name, "(empty, 0 bytes)")
            return
        try:
            yield from self._read(file, first)
        except FileProblem as problem:
            yield from self._unreadable(file, first, problem)
        except Exception as error:  # noqa: BLE001 - a foreign parser may raise anything at a damaged file
            yield from self._unreadable(file, first, parser_failed(file.name, file.kind, error))

    def _read(self, file: Unpacked, first: int) -> Iterator[Section]:
        contents = self._opened(file)
        try:
            if contents.count is not None and contents.count < first:
                self._passed = contents.count
                return
            start = 1 if contents.count is None else first
            self._passed = start - 1
            for section in contents.sections(start):
                self._passed += 1
                if self._passed >= first:
                    yield Section(f"{file.name}: {section.name}", section.text)
        finally:
            self.lost += [f"{file.name}: {one}" for one in contents.lost]
            contents.close()

    def _unreadable(self, file: Unpacked, first: int, problem: FileProblem) -> Iterator[Section]:
        self.lost.append(problem.message)
        self._passed += 1
        if self._passed >= first:
            yield Section(file.name, f"(not readable: {problem.message})")

    def _opened(self, file: Unpacked) -> Contents:
        if file.kind not in READERS or file.kind in ArchiveReader.kinds:
            raise FileProblem("unsupported", f"{file.name} is a file of the kind {file.kind}, which is not read.")
        source = Source(file.path, file.kind, file.name, self._depth + 1)
        return reader_of(file.kind).open(source, self._limits)
