"""Archives: unpacked within limits, so that no member writes elsewhere or grows without end; read member by member."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import shutil
import stat
import struct
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from agent.files.contents import (
    READERS,
    Contents,
    FileProblem,
    ReadLimits,
    Section,
    Source,
    locked,
    open_contents,
    parser_failed,
    pieces,
)
from agent.files.kinds import EMPTY, kind_of
from agent.files.previews import Part, part_of
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.files.contents import Contents

ARCHIVES = frozenset({"zip", "tar", "gz", "bz2", "xz"})
_CHUNK = 1 << 20
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError)
_TOLD = 50
"""Sentences about what is left out; the others are counted."""
_NAME = 240
"""Bytes of one part of a path that file systems take."""
_SIGN = b"PK\x03\x04"
_LOCAL = struct.Struct("<6xHH4xLLLHH")
"""The header of a member: flags, method, checksum, both sizes, the lengths of its name and of what follows that."""
_IN_EXTRA = 0xFFFFFFFF
"""A size that does not fit into the header."""
_ENCRYPTED = "it is protected by a password"


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A file that was in an archive."""

    name: str
    """Its path in the archive; of a nested one, behind the path of that."""
    path: Path
    kind: str
    size: int


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    open: Callable[[], IO[bytes]]
    refused: str = ""
    """Why it is not unpacked."""
    alone: bool = False
    """It is all that there is: where nothing comes out of it, the archive cannot be read."""
    size: int = 0
    """What must come at least; less is cut off."""


@dataclass(slots=True)
class Unpacking:
    """The unpacking of one archive, and of those in it.

    Args:
        folder: Where the files go; theirs alone.
        limits: How much may come out of it.
    """

    folder: Path
    limits: ReadLimits
    files: list[Unpacked] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    encrypted: int = 0
    """Members that need a password."""
    seen: int = 0
    """Members, nested ones among them."""
    _untold: int = 0
    _bytes: int = 0
    _names: set[str] = field(default_factory=set)

    def unpack(self, path: Path, kind: str, called: str, prefix: str = "", depth: int = 1) -> None:
        """Unpacks an archive.

        Args:
            path: The archive.
            kind: Its kind, one of `ARCHIVES`.
            called: Its name for people.
            prefix: What stands in front of its members' names.
            depth: Archives around the members.

        Raises:
            FileProblem: It is damaged or cut off, or unpacks to too much.
        """
        try:
            for member in _members(path, kind, called):
                self.seen += 1
                if self.seen > self.limits.members:
                    self._lose(f"Only the first {self.limits.members:,} members are read.")
                    return
                self._take(member, prefix, depth)
        except _DAMAGE as error:
            state = "cut off" if _is_cut(error) else "damaged"
            if not self.files:
                raise FileProblem(
                    "truncated" if _is_cut(error) else "damaged",
                    f"{one_line(called)} is {state}: {_said(error)}.",
                    remedy="Look at its bytes in a program.",
                ) from error
            self._lose(f"{one_line(called)} is {state}: what came after these files is lost ({_said(error)}).")

    def _take(self, member: _Member, prefix: str, depth: int) -> None:
        name = prefix + member.name
        refused = member.refused or _unsafe(member.name) or ("it is there twice" if name in self._names else "")
        if refused:
            self.encrypted += refused == _ENCRYPTED
            self._lose(f"{one_line(name)} is left out: {refused}.")
            return
        self._names.add(name)
        target = self.folder / f"{name}.unpacked" if (self.folder / name).is_dir() else self.folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            size = self._copy(member, target, name)
        except _DAMAGE as error:
            size = self._cut(member, target, name, error)
            if not size:
                return
        self._keep(Unpacked(name, target, kind_of(target), size), depth, member.alone)

    def _cut(self, member: _Member, target: Path, name: str, error: Exception) -> int:
        """The bytes that are kept of a member which cannot be read to its end; 0 where it is left out."""
        size = target.stat().st_size if _is_cut(error) and target.exists() else 0
        if not size:
            target.unlink(missing_ok=True)
            if member.alone:
                raise error
            self._lose(f"{one_line(name)} is left out: {_said(error)}.")
            return 0
        self._lose(f"{one_line(name)} is cut off: only its first {size:,} bytes could be unpacked.")
        return size

    def _keep(self, file: Unpacked, depth: int, alone: bool) -> None:
        if file.kind not in ARCHIVES:
            self.files.append(file)
            return
        if depth >= self.limits.depth:
            self._lose(f"{one_line(file.name)} is left packed: {depth} archives are around it.")
            self.files.append(file)
            return
        inner = file.path.rename(self.folder.with_name(f"{self.folder.name}-{self.seen}.packed"))
        try:
            self.unpack(inner, file.kind, file.name, f"{file.name}/", depth + 1)
        except FileProblem as problem:
            if problem.reason == "bomb" or (alone and not self.files):
                raise
            self._lose(problem.message)
        inner.unlink(missing_ok=True)

    def _copy(self, member: _Member, target: Path, name: str) -> int:
        """Writes a member, counting what really comes, whatever the archive says."""
        size = 0
        with member.open() as stream, target.open("wb") as file:
            # at a break, `read` would lose what it has gathered
            read = stream.read1 if isinstance(stream, io.BufferedIOBase) else stream.read
            while chunk := read(_CHUNK):
                size += len(chunk)
                self._bytes += len(chunk)
                if self._bytes > self.limits.unpacked:
                    raise FileProblem(
                        "bomb", f"The archive unpacks to more than {self.limits.unpacked:,} bytes ({one_line(name)})."
                    )
                file.write(chunk)
        if size < member.size:
            raise EOFError("unexpected end of data")
        return size

    def _lose(self, sentence: str) -> None:
        if len(self.lost) < _TOLD:
            self.lost.append(sentence)
            return
        self._untold += 1
        self.lost[_TOLD:] = [f"And {self._untold:,} more like these."]


def _members(path: Path, kind: str, called: str) -> Iterator[_Member]:
    if kind == "zip":
        yield from _zip_members(path)
    elif kind == "tar":
        yield from _tar_members(path)
    else:
        opened: dict[str, Callable[[Path], IO[bytes]]] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}  # type: ignore[dict-item]  # read as bytes unless told
        yield _Member(_inner_name(called, kind), lambda: opened[kind](path), alone=True)


def _zip_members(path: Path) -> Iterator[_Member]:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        yield from _without_directory(path)
        raise  # what is lost is told by whoever takes the members
    with archive:
        for one in archive.infolist():
            if not one.filename.endswith("/"):
                yield _zip_member(one, lambda one=one: archive.open(one))  # type: ignore[misc]  # bound now


def _zip_member(info: zipfile.ZipInfo, opened: Callable[[], IO[bytes]]) -> _Member:
    refused = _ENCRYPTED if info.flag_bits & 1 else ""
    if stat.S_ISLNK(info.external_attr >> 16):
        refused = "it is a link"
    name = info.filename
    if not info.flag_bits & 0x800:  # many programs write UTF-8 without saying so
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return _Member(name, opened, refused)


def _without_directory(path: Path) -> Iterator[_Member]:
    """The members of a zip file that was cut off, by their own headers: its directory, at the end, is missing."""
    with path.open("rb") as file:
        while len(head := file.read(_LOCAL.size)) == _LOCAL.size and head.startswith(_SIGN):
            flags, method, checksum, packed, size, named, extra = _LOCAL.unpack(head)
            info = zipfile.ZipInfo(file.read(named).decode("utf-8" if flags & 0x800 else "cp437", "replace"))
            info.flag_bits, info.compress_type = flags, method
            info.CRC, info.compress_size, info.file_size = checksum, packed, size
            start = file.seek(extra, os.SEEK_CUR)
            if unknown := bool(flags & 8) or packed == _IN_EXTRA:
                if method != zipfile.ZIP_DEFLATED or flags & 1:
                    return  # nothing tells where such a member ends
                info.CRC, info.compress_size, info.file_size = None, _deflated_bytes(file), sys.maxsize  # type: ignore[assignment]  # not checked
            file.seek(start)
            if not info.filename.endswith("/"):
                yield _zip_member(info, lambda info=info: cast(IO[bytes], zipfile.ZipExtFile(file, "r", info)))  # type: ignore[misc]  # bound now
            file.seek(start + info.compress_size)
            if unknown:  # its checksum and sizes stand behind it, in 12 to 24 bytes
                file.seek(max(0, file.read(24 + len(_SIGN)).find(_SIGN)) + start + info.compress_size)


def _deflated_bytes(file: IO[bytes]) -> int:
    """How many bytes the compressed data has that begins here; all that are left where it is cut off."""
    start, inflate = file.tell(), zlib.decompressobj(-zlib.MAX_WBITS)
    while not inflate.eof and (chunk := inflate.unconsumed_tail or file.read(_CHUNK)):
        inflate.decompress(chunk, _CHUNK)
    # one more than there is tells that it is cut
    return file.tell() - start - len(inflate.unused_data) + (not inflate.eof)


def _tar_members(path: Path) -> Iterator[_Member]:
    end = path.stat().st_size
    with tarfile.open(path, "r:") as archive:
        for one in archive:
            if one.isdir():
                continue
            refused = "" if one.isreg() else "it is a link" if one.issym() or one.islnk() else "it is a device"
            size = one.size
            if not one.issparse():
                one.size = max(0, min(size, end - one.offset_data))  # of one that is cut off, what is there is read
            yield _Member(one.name, lambda one=one: cast(IO[bytes], archive.extractfile(one)), refused, size=size)  # type: ignore[misc]  # bound now


def _inner_name(called: str, kind: str) -> str:
    """`data.csv` of `folder/data.csv.gz`, `data.tar` of `data.tgz`."""
    name = PurePosixPath(called).name
    for suffix, instead in ((f".{kind}", ""), (".tgz", ".tar"), (".tbz2", ".tar"), (".txz", ".tar"), (".tbz", ".tar")):
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)] + instead
    return f"{name}.content"


def _unsafe(name: str) -> str:
    """Why a path must not be written; empty when it may be."""
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or (len(name) > 1 and name[1] == ":"):
        return "its path is absolute"
    if ".." in parts:
        return "its path leads out of the archive"
    if any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 for character in name) or "\\" in name:
        return "its name holds characters that no name should"
    if not name or any(len(part.encode()) > _NAME for part in parts) or len(parts) > 50:
        return "its path is too long" if name else "it has no name"
    return ""


def _is_cut(error: BaseException) -> bool:
    said = str(error).lower()
    return isinstance(error, EOFError) or any(
        sign in said for sign in ("truncated", "not a zip file", "unexpected end of data")
    )


def _said(error: BaseException) -> str:
    return one_line(str(error), 160).rstrip(".") or type(error).__name__


class Archive(Contents):
    """An archive, unpacked into a temporary folder.

    Args:
        source: The file.
        limits: What may come out of it.

    Raises:
        FileProblem: It is encrypted, damaged, cut off, or unpacks to too much.
    """

    count = None
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
            raise locked(source)
        size = sum(file.size for file in self._files)
        self.summary = f"Archive ({self.kind}): {len(self._files):,} files, {size:,} bytes unpacked"
        self.facts = {"files": [{"name": one.name, "kind": one.kind, "bytes": one.size} for one in self._files[:1000]]}

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The list of members, then each member's sections, from that number on."""
        number = 0
        for text in pieces("\n".join(self._lines()) or "(no files)", self._limits.section):
            number += 1
            if number >= first:
                yield Section("members", text)
        for file in self._files:
            for section in self._of_member(file, first - 1 - number):
                number += 1
                if section is not None and number >= first:
                    yield section

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

    def _of_member(self, file: Unpacked, skip: int) -> Iterator[Section | None]:
        """The sections of a member; None for each of the first ones that are skipped without being read."""
        if file.kind == EMPTY:
            yield Section(file.name, "(empty, 0 bytes)")
            return
        contents = None
        try:
            if file.kind not in READERS or file.kind in ARCHIVES:
                raise FileProblem("unsupported", f"{file.name} is a file of the kind {file.kind}, which is not read.")
            contents = open_contents(Source(file.path, file.kind, file.name, self._depth + 1), self._limits)
            skipped = 0 if contents.count is None else min(max(skip, 0), contents.count)
            yield from repeat(None, skipped)
            for section in contents.sections(skipped + 1):
                yield Section(f"{file.name}: {section.name}", section.text)
        except Exception as error:  # noqa: BLE001 - a foreign parser may raise anything at a damaged file
            problem = error if isinstance(error, FileProblem) else parser_failed(file.name, file.kind, error)
            self.lost.append(problem.message)
            yield Section(file.name, f"(not readable: {problem.message})")
        finally:
            if contents is not None:
                self.lost += [f"{file.name}: {one}" for one in contents.lost]
                contents.close()
