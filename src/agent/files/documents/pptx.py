"""Slides in the order of the show: texts, tables, charts' data, alt texts, speaker notes and comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pptx.package import Package  # with macros, or a show: the same parts by other names
from pptx.parts.presentation import PresentationPart

from agent.files.contents import (
    Contents,
    ReadLimits,
    Section,
    Source,
    TextContents,
    damaged,
    first_of,
    in_sections,
    table,
)
from agent.files.documents.ooxml import Package as Parts
from agent.files.documents.ooxml import Part
from agent.files.documents.package import Drawings
from mcp_tools.text import one_line

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_ROW = 91_440  # shapes whose tops differ by less (a tenth of an inch, in EMU) stand side by side


def open_pptx(source: Source, limits: ReadLimits) -> Contents:
    """Reads a presentation."""
    with Parts(source, limits) as parts:
        return _read(source, limits, parts)


def _read(source: Source, limits: ReadLimits, parts: Parts) -> Contents:
    parts.main("ppt/presentation.xml").relations  # noqa: B018 - it counts as read
    part: Any = Package.open(parts.normalised() if parts.is_odd() else str(source.path)).main_document_part
    if "presentationml" not in part.content_type and "powerpoint" not in part.content_type:
        raise damaged(source.name, "pptx", "its main part is another kind of document")
    if not isinstance(part, PresentationPart):
        part = PresentationPart.load(part.partname, part.content_type, part.package, part.blob)
    drawings = Drawings()
    slides = [_Slide(slide, number, drawings, parts) for number, slide in enumerate(part.presentation.slides, 1)]
    sections = [one for slide in slides for one in in_sections(slide.blocks, limits.section, slide.name)]
    if repeated := dict.fromkeys(line for slide in slides for line in slide.masters):
        sections.append(Section("master slides", "[on slides, by their master]\n" + "\n".join(repeated)))
    properties = parts.described()
    lost = [
        *drawings.lost,
        *parts.unread(),
        "Positions, colours, animations and pictures of masters are not in the text.",
    ]
    if any(slide.is_merged for slide in slides):
        lost.append("Some table cells are merged: their text stands in the first of them, the others are empty.")
    hidden = [str(slide.number) for slide in slides if slide.is_hidden]
    if hidden:
        lost.insert(0, f"Hidden in the show, but read like the others: slide {', '.join(hidden)}.")
    titles = [f"{slide.number} {slide.title or '(no title)'}" for slide in slides]
    summary = f"Presentation of {len(slides)} slides{f', {len(hidden)} of them hidden' if hidden else ''}."
    summary += properties
    summary += f"\nSlides: {first_of(titles, 20, '; ')}"
    return TextContents("pptx", summary, sections, lost=lost, data=drawings.pictures)


class _Slide:
    """One slide as blocks of text."""

    def __init__(self, slide: Any, number: int, drawings: Drawings, parts: Parts) -> None:
        part = parts.part(str(slide.part.partname)) or Part(parts, str(slide.part.partname))
        part.content  # noqa: B018 - it counts as read
        self._part, self._drawings, self.number = part, drawings, number
        for related in part.parts("notesSlide"):
            related.content  # noqa: B018 - the same
        lists = filter(None, (parts.part(f"ppt/{name}.xml") for name in ("commentAuthors", "authors")))
        self._authors = {one.get("id"): one.get("name", "") for listed in lists for one in listed.root}
        self.is_merged = False
        self.is_hidden = slide.element.get("show", "1") in ("0", "false")
        title = slide.shapes.title
        self._title_id = title.shape_id if title is not None else None
        self.title = one_line(_text(title.text_frame), 200) if title else ""
        self.name = f"slide {number}{' (hidden)' if self.is_hidden else ''}"
        self.blocks = [f"## {self.title}"] if self.title else []
        self.blocks += [*self._shapes(slide.shapes), *self._alternatives(slide.element), *self._comments()]
        self.masters = _text_of_masters(slide)
        frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if frame is not None and (notes := _text(frame).strip()):
            self.blocks.append(f"[speaker notes] {notes}")
        drawn = [one for one in slide.notes_slide.shapes if not one.is_placeholder] if slide.has_notes_slide else []
        self.blocks += [f"[on the notes page] {line}" for one in drawn for line in _lines(one.element)]
        self.blocks = self.blocks or ["(an empty slide)"]

    def _shapes(self, shapes: Iterable[Any]) -> Iterator[str]:
        """Shapes from top to bottom and left to right."""
        others = (shape for shape in shapes if shape.shape_id != self._title_id)
        for shape in sorted(others, key=lambda one: ((one.top or 0) // _ROW, one.left or 0)):
            yield from (block for block in self._shape(shape) if block.strip())

    def _shape(self, shape: Any) -> Iterator[str]:
        if hasattr(shape, "shapes"):
            yield from self._shapes(shape.shapes)
            return
        element, part = shape.element, self._part
        alt = element.xpath("string(./*[1]/p:cNvPr/@descr)")
        if getattr(shape, "has_text_frame", False) and shape.text_frame.text.strip():
            yield _text(shape.text_frame)
        elif getattr(shape, "has_table", False):
            self.is_merged |= any(cell.is_merge_origin for cell in shape.table.iter_cells())
            yield table([[_text(cell.text_frame) for cell in row.cells] for row in shape.table.rows])
        elif getattr(shape, "has_chart", False):
            yield self._drawings.chart(part, next(element.iter("{*}chart")).get(f"{_R}id", ""))
        elif next(element.iter("{*}relIds"), None) is not None:
            yield self._drawings.diagram(part, element)
        elif (ole := next(element.iter("{*}oleObj"), None)) is not None:
            what = ole.get("progId") or ole.get("name") or "of an unknown kind"
            yield self._drawings.embedded(part, ole.get(f"{_R}id"), what, f"slide-{self.number}")
        elif (blip := element.find(f".//{_A}blip")) is not None:
            for name, what in (("videoFile", "a film"), ("audioFile", "a sound")):
                if (media := element.find(f".//{_A}{name}")) is not None:
                    found = part.relations.get(media.get(f"{_R}link", ""))
                    self._drawings.others.append(f"{what}, {found.target.rpartition('/')[2]}" if found else what)
            yield self._drawings.picture(part, blip.get(f"{_R}embed", ""), alt, f"slide-{self.number}-picture")
            return
        if alt:
            yield f"[alt text: {alt}]"

    def _alternatives(self, element: Any) -> Iterator[str]:
        """Texts of shapes that are stored in several versions: formulas, handwriting, newer kinds."""
        for one in element.iter("{*}AlternateContent"):
            if str(one.getparent().tag).endswith(("}spTree", "}grpSp")):
                versions = ("\n".join(_lines(version)) for version in one)
                yield next((text for text in versions if text), "[a shape without text]")
                for name in [str(x.tag).rpartition("}")[2] for x in one.iter("{*}contentPart", "{*}model3d")]:
                    self._drawings.others.append({"contentPart": "handwriting", "model3d": "a 3D model"}[name])

    def _comments(self) -> Iterator[str]:
        """Comments of both formats, old and threaded, and replies to them."""
        for part in self._part.parts("comments"):
            for one in part.root.iter("{*}text", "{*}txBody"):
                by = self._authors.get(one.getparent().get("authorId"))
                yield f"[comment{f' by {by}' if by else ''}] {''.join(one.itertext()).strip()}"


def _lines(element: Any) -> list[str]:
    """The paragraphs with text below an element."""
    texts = ("".join(t.text or "" for t in one.iter("{*}t")) for one in element.iter(f"{_A}p"))
    return [text for text in texts if text.strip()]


def _text_of_masters(slide: Any) -> list[str]:
    """What the layout and the master of a slide write on it."""
    layout = slide.slide_layout
    shapes = [shape for one in (layout.slide_master, layout) for shape in one.shapes if not shape.is_placeholder]
    return [line for shape in shapes for line in _lines(shape.element)]


def _text(frame: Any) -> str:
    """The paragraphs of a frame with the targets of links; deeper ones are indented as a list."""
    lines = []
    for paragraph in frame.paragraphs:
        text = "".join(_run(one, frame.part) for one in paragraph._p)
        properties = paragraph._p.pPr  # `paragraph.level` would create missing properties
        level = properties.lvl if properties is not None else 0
        lines.append(f"{'  ' * (level - 1)}- {text}" if level and text.strip() else text)
    return "\n".join(line for line in lines if line.strip())


def _run(element: Any, part: Any) -> str:
    if element.tag == f"{_A}br":
        return "\n"
    text = "".join(one.text or "" for one in element.iter("{*}t"))
    link = element.find(f"{_A}rPr/{_A}hlinkClick")
    relation = part.rels.get(link.get(f"{_R}id", "")) if link is not None else None
    return f"[{text}]({relation.target_ref})" if relation is not None and relation.is_external else text
