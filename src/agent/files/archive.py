"""Archives: unpacked within limits into a temporary folder, then read member by member."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import math
import re
import shutil
import stat
import struct
import tarfile
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice, pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from agent.files.contents import (
    Contents,
    FileProblem,
    ReadLimits,
    Reason,
    Section,
    Source,
    locked,
    pieces,
)
from agent.files.detection import kind_of
from agent.files.encoding import FALLBACK
from agent.files.kinds import EMPTY, kinds_in, open_nested
from agent.files.previews import ROOM, ListPreview, PreviewText, preview_of_lists
from mcp_tools.text import one_line

_ARCHIVES = kinds_in("archive")
_CHUNK = 1 << 16
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError)
_MAX_LOST = 50  # sentences about members that were left out; the rest are counted
_MAX_NAME_BYTES = 240  # of one part of a path; file systems take 255
_NAME_ENCODINGS = (
    "utf-8",
    "cp932",
    "gb18030",
    "big5",
    "euc_kr",
    "euc_jp",
    "cp866",
    "cp1251",
    "cp437",
    "cp850",
    "cp1252",
)
_COMMON = {
    "gb18030": ("gb2312", b"\xd7"),
    "cp932": ("euc_jp", b"\xcf"),
    "euc_jp": ("euc_jp", b"\xcf"),
    "big5": ("big5", b"\xc6"),
}
"""Encodings that start with the common characters, each with a codec for these and the first byte of the last one."""
_MAX_SAMPLED_NAMES = 10_000  # names of tar members from which their encoding is detected
_DIGITS = re.compile(r"\d+")
_MIN_KOREAN = 5  # Korean characters in a row are unlikely to be misread Chinese
_LATIN = frozenset("äöüßéèêëàâáãåæçíìîïñóòôõøœúùûýÿ")
_ENCRYPTED = "it is protected by a password"


class _Unpacked(NamedTuple):
    name: str
    """Path in the archive. In a nested archive, it starts with the path of that archive."""
    path: Path
    kind: str
    size: int


class _Member(NamedTuple):
    name: str
    open: Callable[[], Any]
    refused: str = ""
    """The reason why it is not unpacked; empty if it is."""
    alone: bool = False
    """True for the only member of a compressed file: if it cannot be unpacked, nothing can be read."""
    comment: str = ""


class Archive(Contents):
    """An archive that is unpacked at the start. A member is parsed when its section is requested."""

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        super().__init__(source.kind)
        self._limits, self._depth = limits, source.depth
        self._folder = tempfile.TemporaryDirectory(prefix="alita-unpacked-", ignore_cleanup_errors=True)
        self._files: list[_Unpacked] = []
        self._names: set[str] = set()
        self._seen = self._bytes = 0
        self._is_locked = False
        try:
            self._unpack(source.path, source.kind, source.name)
            if not self._files and self._is_locked:
                raise locked(source.name)
        except BaseException:
            self.close()
            raise
        if len(self.lost) > _MAX_LOST:
            self.lost[_MAX_LOST:] = [f"And {len(self.lost) - _MAX_LOST:,} more such losses."]
        size = sum(file.size for file in self._files)
        self.summary = f"Archive ({self.kind}): {len(self._files):,} files, {size:,} bytes unpacked"
        self.facts = {"files": [{"name": one.name, "kind": one.kind, "bytes": one.size} for one in self._files[:1000]]}

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yield the list of members, then the sections of each member."""
        yield from (section for number, section in enumerate(self._sections(), 1) if number >= first)

    def preview(self) -> PreviewText:
        """Return the list of members. In a long list, names that differ only in numbers share a line."""
        lines = self._lines()
        if sum(map(len, lines)) <= ROOM // 2:
            return preview_of_lists([ListPreview(lines, len(lines), "file")])
        series: dict[tuple[str, str], list[_Unpacked]] = {}
        for file in self._files:
            series.setdefault((_DIGITS.sub("0", file.name), file.kind), []).append(file)
        lines = [
            f"- {files[0].name}{f' … {files[-1].name}' * (len(files) > 1)} "
            f"({f'{len(files):,} files, ' * (len(files) > 1)}{kind}, {sum(file.size for file in files):,} bytes)"
            for (_, kind), files in series.items()
        ]
        kept, room = list[str](), ROOM
        for line in lines:
            room -= len(line) + 1
            if room < 0:
                break
            kept.append(line)
        if left := len(lines) - len(kept):
            kept.append(f"- and {left:,} more names or series: `read` lists them all")
        return PreviewText(["\n".join(kept)], f"names of {len(self._files):,} files{', in part' * bool(left)}")

    def save_data(self, folder: Path) -> list[Path]:
        """Copy the unpacked members under their names in the archive. Unsafe members were never unpacked."""
        for file in self._files:
            (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, folder / file.name)
        return [folder / file.name for file in self._files]

    def close(self) -> None:
        """Delete the unpacked members."""
        self._folder.cleanup()

    def _lines(self) -> list[str]:
        return [f"- {file.name} ({file.kind}, {file.size:,} bytes)" for file in self._files]

    def _sections(self) -> Iterator[Section]:
        for text in pieces("\n".join(self._lines()) or "(no files)", self._limits.section):
            yield Section("members", text)
        for file in self._files:
            if file.kind == EMPTY:
                yield Section(file.name, "(empty, 0 bytes)")
                continue
            try:
                if file.kind in _ARCHIVES:
                    raise FileProblem("unsupported", f"{file.name} is an archive that was not unpacked.")
                source = Source(file.path, file.kind, file.name, self._depth + 1)
                with open_nested(source, self._limits, self.lost) as contents:
                    yield from (Section(f"{file.name}: {one.name}", one.text) for one in contents.sections())
            except FileProblem as problem:
                self.lost.append(problem.message)
                yield Section(file.name, f"(not readable: {problem.message})")

    def _unpack(self, path: Path, kind: str, called: str, prefix: str = "", depth: int = 1) -> None:
        """Unpack an archive that is inside `depth` - 1 others. Members are named `prefix` plus their path."""
        try:
            for member in _members(path, kind, called):
                self._seen += 1
                if self._seen > self._limits.members:
                    self.lost.append(f"Only the first {self._limits.members:,} members are read.")
                    return
                self._take(member, prefix + member.name, depth)
        except _DAMAGE as error:
            is_cut = _is_cut(error)
            state = "truncated" if is_cut else "corrupt"
            if not self._files:
                reason: Reason = "truncated" if is_cut else "damaged"
                raise FileProblem(reason, f"{one_line(called)} is {state}: {_reason(error)}.") from error
            self.lost.append(f"{one_line(called)} is {state}: files after these could not be read ({_reason(error)}).")

    def _take(self, member: _Member, name: str, depth: int) -> None:
        if member.comment:
            self.notes.append(f"Comment on {one_line(name)}: {one_line(member.comment, 500)}")
        refused = member.refused or _unsafe(member.name)
        if refused:
            self._is_locked |= refused == _ENCRYPTED
            self.lost.append(f"{one_line(name)} was skipped: {refused}.")
            return
        if name in self._names:
            path = PurePosixPath(name)
            others = (str(path.with_name(f"{path.stem} ({number}){path.suffix}")) for number in count(2))
            again = next(other for other in others if other not in self._names)
            self.notes.append(f"{one_line(name)} occurs more than once: another one is shown as {one_line(again)}.")
            name = again
        self._names.add(name)
        target = Path(self._folder.name, name)
        if target.is_dir():
            target = target.with_name(f"{target.name}.unpacked")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._copy(member, target)
        except _DAMAGE as error:
            size = target.stat().st_size if _is_cut(error) and target.is_file() else 0
            if not size and member.alone:
                raise
            if not size:
                target.unlink(missing_ok=True)
                self.lost.append(f"{one_line(name)} was skipped: {_reason(error)}.")
                return
            self.lost.append(f"{one_line(name)} is truncated: only its first {size:,} bytes could be unpacked.")
        kind = kind_of(target)
        if kind in _ARCHIVES and depth < self._limits.depth:
            self._unpack_inner(target, kind, name, depth, member.alone)
            return
        if kind in _ARCHIVES:
            self.lost.append(f"{one_line(name)} was not unpacked: it is nested {depth} archives deep.")
        self._files.append(_Unpacked(name, target, kind, target.stat().st_size))

    def _unpack_inner(self, target: Path, kind: str, name: str, depth: int, alone: bool) -> None:
        with tempfile.TemporaryDirectory(prefix="alita-packed-") as folder:
            inner = target.rename(Path(folder, "packed"))
            try:
                self._unpack(inner, kind, name, f"{name}/", depth + 1)
            except FileProblem as problem:
                if problem.reason == "bomb" or (alone and not self._files):
                    raise
                self.lost.append(problem.message)

    def _copy(self, member: _Member, target: Path) -> None:
        """Write a member. Count the bytes that arrive, since the size in the archive's header may be wrong."""
        with member.open() as stream, target.open("wb") as file:
            for chunk in _chunks(stream):
                self._bytes += len(chunk)
                if self._bytes > self._limits.unpacked:
                    limit = f"{self._limits.unpacked:,} bytes"
                    raise FileProblem("bomb", f"The archive unpacks to more than {limit} ({one_line(target.name)}).")
                file.write(chunk)


def _chunks(stream: Any) -> Iterator[bytes]:
    """Yield the chunks of a stream, up to the point where it is cut off.

    If a tar file ends within a chunk, tarfile returns none of that chunk, so smaller chunks are tried.
    """
    size = _CHUNK
    done = 0
    while True:
        try:
            chunk = stream.read1(size)  # `read` would lose the bytes before an error
        except tarfile.ReadError:
            if size == 1:
                raise
            size //= 2
            stream.seek(done)
            continue
        if not chunk:
            return
        done += len(chunk)
        yield chunk


def _members(path: Path, kind: str, called: str) -> Iterator[_Member]:
    if kind == "zip":
        yield from _zip_members(path)
    elif kind == "tar":
        yield from _tar_members(path)
    else:
        opened: dict[str, Callable[[Path], object]] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}
        yield _Member(_inner_name(called, kind), lambda: opened[kind](path), alone=True)


def _zip_members(path: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(path) as archive:
        names = _zip_names(archive.infolist())
        filled = {f"{folder}/" for name in names for folder in PurePosixPath(name).parents}
        for number, (info, name) in enumerate(zip(archive.infolist(), names, strict=True)):
            if name in filled:
                continue
            refused = _ENCRYPTED if info.flag_bits & 1 else ""
            if name.endswith("/"):
                refused = "it is an empty folder"
            if stat.S_ISLNK(info.external_attr >> 16):
                refused = "it is a link"
            comments = [b"" if number else archive.comment, info.comment]
            comment = b"; ".join(filter(None, comments)).decode("utf-8", FALLBACK)
            yield _Member(name, lambda info=info: archive.open(info), refused, comment=comment)  # type: ignore[misc]  # bound now


def _zip_names(members: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the names of members, with slashes. One encoding is detected for all names that declare none."""
    raw = {info: info.orig_filename.encode("cp437") for info in members if not info.flag_bits & 0x800}
    decode = _decoder([name for name in raw.values() if not name.isascii()])
    names = (
        _unicode_name(info.extra, raw[info]) or decode(raw[info]) if info in raw else info.filename for info in members
    )
    return [name.replace("\\", "/") for name in names]


def _unicode_name(extra: bytes, raw: bytes) -> str:
    """Return the name in the Unicode field (0x7075), if its checksum matches the raw name."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == 0x7075 and field[:5] == b"\1" + struct.pack("<I", zlib.crc32(raw)):
            with contextlib.suppress(UnicodeDecodeError):
                return field[5:].decode("utf-8")
    return ""


def _decoder(names: Sequence[bytes]) -> Callable[[bytes], str]:
    """Return a function that decodes names, with the encoding in which they look most like words."""
    best = min(_NAME_ENCODINGS, key=lambda encoding: _oddness(names, encoding)) if names else "utf-8"
    return lambda name: name.decode(best, "replace")


def _oddness(names: Sequence[bytes], encoding: str) -> float:
    """Return the share of characters that are unusual in file names; infinite if the names cannot be decoded."""
    try:
        text = "/".join(name.decode(encoding) for name in names)
    except UnicodeDecodeError:
        return math.inf
    if encoding == "utf-8":
        return -1.0
    beyond = [character for character in text if not character.isascii()]
    is_korean = len(beyond) >= _MIN_KOREAN and all("\uac00" <= character <= "\ud7a3" for character in beyond)
    odd = -0.1 if is_korean else 0.0
    for before, character in pairwise(f"/{text}"):
        if character.isascii():
            continue
        is_letter = unicodedata.category(character) in ("Lu", "Ll", "Lo", "Lm", "Mn", "Nd")
        odd += not is_letter or 0xFF61 <= ord(character) <= 0xFF9F
        odd += before.islower() and character.isupper()
        odd += 0.4 * (before.isascii() and before.isalpha() and character > "\u036f")
        if character > "\u2e80":
            odd += 0 if _is_common(character, encoding) else 0.6
        elif character > "\u036f":
            odd += 0.1 * (not character.islower())
        else:
            odd += 0.15 if character.lower() in _LATIN else 0.7
    return odd / len(beyond)


def _is_common(character: str, encoding: str) -> bool:
    """Return True for kana, hangul and common Chinese characters."""
    if "\u3040" <= character <= "\u30ff" or "\uac00" <= character <= "\ud7a3":
        return True
    name, last = _COMMON.get(encoding, ("", b""))
    with contextlib.suppress(UnicodeEncodeError):
        return bool(name) and character.encode(name)[:1] <= last
    return False


def _tar_members(path: Path) -> Iterator[_Member]:
    names: list[bytes] = []
    with contextlib.suppress(*_DAMAGE), tarfile.open(path, "r:") as archive:
        for info in islice(archive, _MAX_SAMPLED_NAMES):
            names.append(info.name.encode("utf-8", "surrogateescape"))
    decode = _decoder([name for name in names if not name.isascii()])
    with tarfile.open(path, "r:") as archive:
        for info in archive:
            if not info.isdir():
                is_link = info.issym() or info.islnk()
                refused = (
                    ""
                    if info.isreg()
                    else f"it is a link to {one_line(info.linkname)}"
                    if is_link
                    else "it is a device"
                )
                name = decode(info.name.encode("utf-8", "surrogateescape"))
                name = name if "/" in name else name.replace("\\", "/")
                yield _Member(name, lambda info=info: archive.extractfile(info), refused)  # type: ignore[misc]  # bound now


def _inner_name(called: str, kind: str) -> str:
    """Return `data.csv` for `folder/data.csv.gz` and `data.tar` for `data.tgz`."""
    name = PurePosixPath(called).name
    for suffix, instead in ((f".{kind}", ""), (".tgz", ".tar"), (".tbz2", ".tar"), (".txz", ".tar")):
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)] + instead
    return f"{name}.content"


def _unsafe(name: str) -> str:
    """Return the reason for not writing to this path; empty if it is safe."""
    parts = name.replace("\\", "/").split("/")
    if name.startswith(("/", "\\")) or (len(name) > 1 and name[1] == ":"):
        return "its path is absolute"
    if ".." in parts:
        return "its path leads out of the archive"
    if any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 for character in name) or "\\" in name:
        return "its name contains invalid characters"
    if not name or any(len(part.encode()) > _MAX_NAME_BYTES for part in parts) or len(parts) > 50:
        return "its path is too long" if name else "it has no name"
    return ""


def _is_cut(error: BaseException) -> bool:
    signs = ("truncated", "not a zip file", "unexpected end of data")
    return isinstance(error, EOFError) or any(sign in str(error).lower() for sign in signs)


def _reason(error: BaseException) -> str:
    return one_line(str(error), 160).rstrip(".") or type(error).__name__
