"""Documents that are zip files inside: opened within limits; their charts, diagrams and pictures as text and files."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any
from zipfile import BadZipFile, ZipFile

from agent.files.contents import FileProblem, ReadLimits, Source, beginning, damaged, name_of, table

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LOCKED = 1
"""Bit of a member's flags: its content is encrypted."""
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


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
    members = archive.infolist()
    size = sum(one.file_size for one in members)
    problem = None
    if size > limits.unpacked or len(members) > limits.members:
        problem = FileProblem(
            "bomb",
            f"{name_of(source)} would unpack to {size:,} bytes in {len(members):,} members; "
            f"{limits.unpacked:,} bytes and {limits.members:,} members are the limits.",
            remedy="Do not open it unless you know who made it.",
        )
    elif any(one.flag_bits & _LOCKED for one in members):
        problem = FileProblem("encrypted", f"{name_of(source)} is encrypted.")
    elif member and member not in archive.namelist():
        problem = FileProblem(
            "mismatch", f"{name_of(source)} is no {source.kind}: it has no {member}.", remedy="Check its kind."
        )
    if problem is not None:
        archive.close()
        raise problem
    return archive


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


@dataclass(slots=True)
class Drawn:
    """What was found, for the whole document."""

    pictures: dict[str, bytes] = field(default_factory=dict)
    """By the name of the file that they are saved as."""
    undescribed: int = 0
    """Pictures that say nothing about themselves."""
    charts: int = 0
    others: list[str] = field(default_factory=list)
    """Embedded objects, sounds and films."""

    @property
    def lost(self) -> list[str]:
        """What the text does not show."""
        sentences = []
        if self.pictures or self.undescribed:
            many = max(len(self.pictures), self.undescribed)
            some = f"{many} pictures are" if many != 1 else "1 picture is"
            sentences.append(f"{some} named in the text, with the alt text if there is any; the files are saved apart.")
        for other in dict.fromkeys(self.others):
            sentences.append(f"Not read: {other} ({self.others.count(other)}).")
        return sentences

    def picture(self, part: Any, relation: str, alt: str, stem: str) -> str:
        """A picture: the name of the file that it is kept as, and what the document says of it."""
        related = _related(part, relation)
        if related is None:
            return self.kept(b"", "", alt, stem)
        return self.kept(related.blob, str(related.partname).rpartition(".")[2].lower(), alt, stem)

    def kept(self, content: bytes, suffix: str, alt: str, stem: str) -> str:
        """What the text says of a picture; without content only what the document says of it."""
        name = ""
        if content:
            name = next((known for known, kept in self.pictures.items() if kept == content), "")
            name = name or f"{stem}-{len(self.pictures) + 1}.{suffix}"
            self.pictures[name] = content
        if not alt:
            self.undescribed += 1
        named = f"[picture {name}" if name else "[picture"
        return f"{named}: {alt}]" if alt else f"{named}]" if name else "[picture without description]"

    def chart(self, part: Any, relation: str) -> str:
        """A chart: its kind, its title, and the table of its data."""
        related = _related(part, relation)
        if related is None:
            self.others.append("a chart whose data is missing")
            return "[chart without data]"
        self.charts += 1
        chart = _parsed(related.blob)
        title = chart.find(f".//{_CHART}title")
        words = [] if title is None else [one.text for one in title.iter(f"{_DRAWING}t") if one.text]
        tags = [str(one.tag).rpartition("}")[2] for one in chart.iterfind(f".//{_CHART}plotArea/*")]
        kinds = dict.fromkeys(tag.removesuffix("Chart") for tag in tags if tag.endswith("Chart"))
        head, columns, labels = [""], list[list[str]](), list[str]()
        for series in chart.iter(f"{_CHART}ser"):
            head.append(" ".join(_values(series, "tx")) or f"series {len(head)}")
            labels = max(labels, _values(series, "cat", "xVal"), key=len)
            columns.append(_values(series, "val", "yVal"))
        rows = enumerate(zip_longest(labels, *columns, fillvalue=""), 1)
        cells = [[label or str(number), *values] for number, (label, *values) in rows]
        return f"[{', '.join(kinds)} chart{': ' + ' '.join(words) if words else ''}]\n" + table([head, *cells])

    def diagram(self, part: Any, graphic: Any) -> str:
        """The words of a diagram, one a line."""
        ids = graphic.find(f".//{_DIAGRAM}relIds")
        related = _related(part, ids.get(f"{_RELATION}dm", "")) if ids is not None else None
        if related is None:
            self.others.append("a diagram")
            return ""
        points = _parsed(related.blob).iter(f"{_DIAGRAM}pt")
        texts = ("".join(t.text or "" for t in point.iter(f"{_DRAWING}t")).strip() for point in points)
        return "[diagram]\n" + "\n".join(f"- {text}" for text in texts if text)


def _values(series: Any, *names: str) -> list[str]:
    """The points of the first of these that is there, in the order of their numbers; one that is left out is empty."""
    holder = next((found for name in names if (found := series.find(f"{_CHART}{name}")) is not None), None)
    if holder is None:
        return []
    found = {int(one.get("idx", 0)): one.findtext(f"{_CHART}v", "") for one in holder.iter(f"{_CHART}pt")}
    if not found:
        return [one.text or "" for one in holder.iter(f"{_CHART}v")]
    return [found.get(number, "") for number in range(min(max(found), 100_000) + 1)]


def _related(part: Any, relation: str) -> Any:
    """The part that a relation leads to; None where it leads out of the document or nowhere."""
    found = part.rels.get(relation) if relation else None
    return None if found is None or found.is_external else found.target_part


def _parsed(blob: bytes) -> Any:
    from lxml import etree  # type: ignore[import-untyped]  # it has no stubs

    return etree.fromstring(blob, etree.XMLParser(resolve_entities=False, no_network=True))
