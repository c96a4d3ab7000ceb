"""Documents that are ZIP files: opens them within limits; reads their charts, diagrams and pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any
from zipfile import BadZipFile, ZipFile

from agent.files.contents import FileProblem, ReadLimits, Source, first_of, locked, table

_OLE = b"\xd0\xcf\x11\xe0"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_LABELS = ("{*}title", "{*}rich", "{*}trendline", "{*}dlblRangeCache")
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def open_package(source: Source, limits: ReadLimits) -> ZipFile:
    """Open a document as a ZIP file, without unpacking anything."""
    with source.path.open("rb") as file:
        if file.read(4) == _OLE:
            raise locked(source.name)
    try:
        archive = ZipFile(source.path)
    except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise FileProblem("truncated", f"{source.name} is truncated or corrupt: {error}.") from None
    members = archive.infolist()
    size = sum(one.file_size for one in members)
    if size > limits.unpacked or len(members) > limits.members:
        archive.close()
        raise FileProblem(
            "bomb",
            f"{source.name} would unpack to {size:,} bytes in {len(members):,} members; "
            f"the limits are {limits.unpacked:,} bytes and {limits.members:,} members.",
        )
    if any(one.flag_bits & 1 for one in members):
        archive.close()
        raise locked(source.name)
    return archive


def parse_xml(content: bytes) -> Any:
    """Return the root of an XML text. External references are not resolved."""
    from lxml import etree  # type: ignore[import-untyped]  # it has no stubs

    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))


@dataclass(slots=True)
class Drawings:
    """The pictures, charts, diagrams and embedded files of a document."""

    pictures: dict[str, bytes] = field(default_factory=dict)
    """The content of pictures and embedded files, by file name."""
    files: list[str] = field(default_factory=list)
    """Names of embedded files."""
    others: list[str] = field(default_factory=list)
    """Names of sounds, films and controls, which are not read."""

    @property
    def lost(self) -> list[str]:
        """Sentences about content that the text leaves out."""
        lost = []
        if count := len(self.pictures) - len(self.files):
            some = f"{count} pictures are" if count != 1 else "1 picture is"
            lost.append(f"{some} named in the text, with the alt text if any; the files are saved separately.")
        if self.files:
            lost.append(f"Embedded files are named in the text and saved separately: {first_of(self.files)}.")
        return [*lost, *(f"Not read: {other} ({self.others.count(other)})." for other in dict.fromkeys(self.others))]

    def picture(self, part: Any, relation: str, alt: str, stem: str) -> str:
        """Store a picture. Return the text for it: the name of its file and its description."""
        related = part.related(relation)
        if related is None:
            return self.kept(b"", "", alt, stem, part.address(relation))
        return self.kept(related.content, related.name.rpartition(".")[2].lower(), alt, stem)

    def kept(self, content: bytes, suffix: str, alt: str, stem: str, address: str = "") -> str:
        """Return the text for a picture. Without content, the text has only the description and the address."""
        name = address
        if content:
            name = self.named(content, suffix, stem)
        named = f"[picture {name}" if name else "[picture"
        return f"{named}: {alt}]" if alt else f"{named}]" if name else "[picture without description]"

    def embedded(self, part: Any, relation: str | None, what: str, stem: str) -> str:
        """Store the embedded file of a relation. Return the text for it: its name and its kind."""
        related = part.related(relation)
        if related is None:
            address = part.address(relation)
            self.others.append(f"a linked object, {what}{f', at {address}' if address else ''}")
            return f"[linked object: {what}{f', {address}' if address else ''}]"
        return self.file(related.content, related.name.rpartition(".")[2].lower(), what, stem)

    def file(self, content: bytes, suffix: str, what: str, stem: str) -> str:
        """Store an embedded file. Return the text for it."""
        name = self.named(content, suffix, f"{stem}-object")
        self.files += [name] if name not in self.files else []
        return f"[embedded file {name}: {what}]"

    def named(self, content: bytes, suffix: str, stem: str) -> str:
        """Store a file once, and return its name."""
        name = next((known for known, kept in self.pictures.items() if kept == content), "")
        name = name or f"{stem}-{len(self.pictures) + 1}.{suffix}"
        self.pictures[name] = content
        return name

    def chart(self, part: Any, relation: str) -> str:
        """Return a chart as text: its kind, titles and labels, and a table of its data."""
        related = part.related(relation)
        if related is None:
            return "[chart without data]"
        root = related.root
        title = next(root.iter("{*}title"), None)
        words = "" if title is None else _words(title)
        labels = [text for one in root.iter(*_LABELS) if one is not title and (text := _words(one))]
        labels = [text for text in dict.fromkeys(labels) if text != words]
        drawn = [text for shapes in related.parts("chartUserShapes") if (text := _words(shapes.root))]
        more = "".join(f"\n[in the chart: {text}]" for text in [*labels, *drawn])
        kinds, rows = _extended(root) if "chartex" in str(root.tag) else _data(root)
        return f"[{', '.join(kinds)} chart{': ' + words if words else ''}]\n{table(rows)}{more}"

    def diagram(self, part: Any, graphic: Any) -> str:
        """Return the words of a diagram as a list."""
        ids = next(graphic.iter("{*}relIds"), None)
        related = part.related(ids.get(f"{_RELATION}dm", "")) if ids is not None else None
        if related is None:
            return "[diagram]"
        texts = ("".join(t.text or "" for t in point.iter("{*}t")).strip() for point in related.root.iter("{*}pt"))
        return "[diagram]\n" + "\n".join(f"- {text}" for text in texts if text)


def _words(element: Any) -> str:
    """Return the text of a title or of shapes."""
    held = list(element.iter("{*}p")) or list(element.iter("{*}pt", "{*}tx", "{*}name"))
    return " ".join("".join(one.itertext("{*}t", "{*}v", "{*}name")).strip() for one in held).strip()


def _data(chart: Any) -> tuple[list[str], list[list[str]]]:
    """Return the kinds of a chart, and its data with the names of the series in the first row."""
    tags = [str(one.tag).rpartition("}")[2] for one in chart.iterfind(f".//{_CHART}plotArea/*")]
    kinds = dict.fromkeys(tag.removesuffix("Chart") for tag in tags if tag.endswith("Chart"))
    head, columns, labels = [""], list[list[str]](), list[str]()
    for series in chart.iter("{*}ser"):  # hidden series have another namespace
        name = " ".join(_values(series, "tx")) or series.findtext(f"{_CHART}tx/{_CHART}v", "")
        for what in ("val", "yVal", "bubbleSize"):
            if values := _values(series, what):
                columns.append(values)
                head.append((name or f"series {len(head)}") + (" (size)" if what == "bubbleSize" else ""))
        if not any(series.find(f"{_CHART}{what}") is not None for what in ("val", "yVal")) and name:
            head.append(name)
            columns.append([])
        labels = max(labels, _values(series, "cat", "xVal"), key=len)
    return list(kinds), [head, *(list(row) for row in zip_longest(labels, *columns, fillvalue=""))]


def _extended(chart: Any) -> tuple[list[str], list[list[str]]]:
    """Return the same as `_data` for newer charts: waterfall, treemap, funnel."""
    kinds = dict.fromkeys(one.get("layoutId", "") for one in chart.iter("{*}series"))
    names = [
        _words(tx) or "".join(tx.itertext()).strip() for one in chart.iter("{*}series") for tx in one.iter("{*}tx")
    ]
    levels = [level for one in chart.iter("{*}strDim", "{*}numDim") for level in one.iter("{*}lvl")]
    columns = [["".join(point.itertext()) for point in level.iter("{*}pt")] for level in levels]
    return list(kinds), [names, *(list(row) for row in zip_longest(*columns, fillvalue=""))]


def _values(series: Any, *names: str) -> list[str]:
    """Return the points of the first of these elements that exists. Missing points are empty.

    Labels with several levels are joined.
    """
    holder = next((found for name in names if (found := series.find(f"{_CHART}{name}")) is not None), None)
    if holder is None:
        return []
    points: dict[int, str] = {}
    for one in holder.iter(f"{_CHART}pt"):
        number, text = int(one.get("idx", 0)), one.findtext(f"{_CHART}v", "")
        points[number] = f"{text} / {points[number]}" if number in points else text
    return [points.get(number, "") for number in range(min(max(points, default=-1), 100_000) + 1)]
