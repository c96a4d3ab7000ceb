"""Documents that are zip files: opening them within limits; their charts, diagrams and pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any
from zipfile import BadZipFile, ZipFile

from agent.files.contents import FileProblem, ReadLimits, Source, locked, table

_OLE = b"\xd0\xcf\x11\xe0"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def open_package(source: Source, limits: ReadLimits) -> ZipFile:
    """Opens a document as a zip file, without unpacking anything."""
    with source.path.open("rb") as file:
        if file.read(4) == _OLE:
            raise locked(source.name)
    try:
        archive = ZipFile(source.path)
    except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise FileProblem("truncated", f"{source.name} is cut off or damaged: {error}.") from None
    members = archive.infolist()
    size = sum(one.file_size for one in members)
    if size > limits.unpacked or len(members) > limits.members:
        archive.close()
        raise FileProblem(
            "bomb",
            f"{source.name} would unpack to {size:,} bytes in {len(members):,} members; "
            f"{limits.unpacked:,} bytes and {limits.members:,} members are the limits.",
        )
    if any(one.flag_bits & 1 for one in members):
        archive.close()
        raise locked(source.name)
    return archive


def parse_xml(content: bytes) -> Any:
    """The root of an XML text; external references are not resolved."""
    from lxml import etree  # type: ignore[import-untyped]  # it has no stubs

    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))


@dataclass(slots=True)
class Drawings:
    """The pictures, charts and diagrams of a document."""

    pictures: dict[str, bytes] = field(default_factory=dict)
    """Contents by file name."""
    others: list[str] = field(default_factory=list)
    """Embedded objects, sounds and films."""

    @property
    def lost(self) -> list[str]:
        """What the text does not show."""
        some = f"{len(self.pictures)} pictures are" if len(self.pictures) != 1 else "1 picture is"
        named = f"{some} named in the text, with the alt text if there is any; the files are saved apart."
        others = [f"Not read: {other} ({self.others.count(other)})." for other in dict.fromkeys(self.others)]
        return [named, *others] if self.pictures else others

    def picture(self, part: Any, relation: str, alt: str, stem: str) -> str:
        """Keeps a picture, and returns its text: the name of its file and its description."""
        related = _related(part, relation)
        if related is None:
            return self.kept(b"", "", alt, stem)
        return self.kept(related.blob, str(related.partname).rpartition(".")[2].lower(), alt, stem)

    def kept(self, content: bytes, suffix: str, alt: str, stem: str) -> str:
        """The text for a picture; without content, only its description."""
        name = ""
        if content:
            name = next((known for known, kept in self.pictures.items() if kept == content), "")
            name = name or f"{stem}-{len(self.pictures) + 1}.{suffix}"
            self.pictures[name] = content
        named = f"[picture {name}" if name else "[picture"
        return f"{named}: {alt}]" if alt else f"{named}]" if name else "[picture without description]"

    def chart(self, part: Any, relation: str) -> str:
        """A chart: its kind, its title, and the table of its data."""
        related = _related(part, relation)
        if related is None:
            return "[chart without data]"
        chart = parse_xml(related.blob)
        title = chart.find(f".//{_CHART}title")
        words = [] if title is None else [one.text for one in title.iter("{*}t") if one.text]
        tags = [str(one.tag).rpartition("}")[2] for one in chart.iterfind(f".//{_CHART}plotArea/*")]
        kinds = dict.fromkeys(tag.removesuffix("Chart") for tag in tags if tag.endswith("Chart"))
        head, columns, labels = [""], list[list[str]](), list[str]()
        for series in chart.iter(f"{_CHART}ser"):
            head.append(" ".join(_values(series, "tx")) or f"series {len(head)}")
            labels = max(labels, _values(series, "cat", "xVal"), key=len)
            columns.append(_values(series, "val", "yVal"))
        cells = list(zip_longest(labels, *columns, fillvalue=""))
        return f"[{', '.join(kinds)} chart{': ' + ' '.join(words) if words else ''}]\n" + table([head, *cells])

    def diagram(self, part: Any, graphic: Any) -> str:
        """The words of a diagram as a list."""
        ids = next(graphic.iter("{*}relIds"), None)
        related = _related(part, ids.get(f"{_RELATION}dm", "")) if ids is not None else None
        if related is None:
            return "[diagram]"
        texts = (
            "".join(t.text or "" for t in point.iter("{*}t")).strip() for point in parse_xml(related.blob).iter("{*}pt")
        )
        return "[diagram]\n" + "\n".join(f"- {text}" for text in texts if text)


def _values(series: Any, *names: str) -> list[str]:
    """The points of the first of these elements that exists, by number; missing points are empty."""
    holder = next((found for name in names if (found := series.find(f"{_CHART}{name}")) is not None), None)
    if holder is None:
        return []
    found = {int(one.get("idx", 0)): one.findtext(f"{_CHART}v", "") for one in holder.iter(f"{_CHART}pt")}
    return [found.get(number, "") for number in range(min(max(found, default=-1), 100_000) + 1)]


def _related(part: Any, relation: str) -> Any:
    """The part that a relation leads to; None if it leads out of the document or nowhere."""
    found = part.rels.get(relation) if relation else None
    return None if found is None or found.is_external else found.target_part
