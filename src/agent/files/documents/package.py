"""Documents that are zip files inside: opened only when they hold what they should and do not grow beyond limits."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from zipfile import BadZipFile, ZipFile

from agent.files.contents import ReadLimits, Source
from agent.files.problem import FileProblem, beginning, damaged, name_of

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LOCKED = 1
"""Bit of a member's flags: its content is encrypted."""


def open_package(source: Source, limits: ReadLimits, member: str = "") -> ZipFile:
    """Opens the zip file of a document.

    Args:
        source: The document.
        limits: What it may grow to.
        member: What a document of its kind has in it.

    Raises:
        FileProblem: It is empty, no zip file, cut off, encrypted, a bomb, or holds something else.
    """
    head = beginning(source)
    if head.startswith(_OLE):
        raise FileProblem(
            "encrypted",
            f"{name_of(source)} is locked by a password, or is of the format before {source.kind}.",
            remedy="Its content cannot be had without the password.",
        )
    if not head.startswith(b"PK"):
        raise FileProblem(
            "mismatch", f"{name_of(source)} is no {source.kind}: it is no zip file inside.", remedy="Check its kind."
        )
    try:
        archive = ZipFile(source.path)
    except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise FileProblem(
            "truncated",
            f"{name_of(source)} breaks off or is damaged: {error}.",
            remedy="What is whole of it can be recovered in a program.",
        ) from None
    try:
        _check(archive, source, limits, member)
    except FileProblem:
        archive.close()
        raise
    return archive


def read_member(archive: ZipFile, source: Source, name: str) -> bytes:
    """The content of a member.

    Raises:
        FileProblem: It is missing or damaged.
    """
    with damage_told(source, f"a file of the kind {source.kind}"):
        return archive.read(name)


@contextmanager
def damage_told(source: Source, what: str) -> Iterator[None]:
    """Turns what parsers raise at damaged content into a problem of the file.

    Raises:
        FileProblem: They raised it.
    """
    from lxml.etree import LxmlError  # type: ignore[import-untyped]  # it has no stubs

    try:
        yield
    except RecursionError:
        raise damaged(source, what, "it is nested too deeply") from None
    except (
        *(BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, LxmlError),
        *(KeyError, IndexError, ValueError, AttributeError, TypeError),
    ) as error:
        raise damaged(source, what, error) from None


def _check(archive: ZipFile, source: Source, limits: ReadLimits, member: str) -> None:
    members = archive.infolist()
    size = sum(one.file_size for one in members)
    if size > limits.unpacked or len(members) > limits.members:
        raise FileProblem(
            "bomb",
            f"{name_of(source)} would unpack to {size:,} bytes in {len(members):,} members; "
            f"{limits.unpacked:,} bytes and {limits.members:,} members are the limits.",
            remedy="Do not open it unless you know who made it.",
        )
    if any(one.flag_bits & _LOCKED for one in members):
        raise FileProblem("encrypted", f"{name_of(source)} is encrypted.")
    if member and member not in archive.namelist():
        raise FileProblem(
            "mismatch", f"{name_of(source)} is no {source.kind}: it has no {member}.", remedy="Check its kind."
        )
