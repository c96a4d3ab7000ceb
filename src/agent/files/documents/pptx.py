"""Slides in the order of the show: texts, tables, charts' data, alt texts, speaker notes and comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pptx.package import Package  # with macros, or a show: the same parts by other names
from pptx.parts.presentation import PresentationPart

from agent.files.contents import Contents, ReadLimits, Source, TextContents, damaged, first_of, in_sections, table
from agent.files.documents.package import Drawings, open_package, parse_xml
from mcp_tools.text import one_line

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_ROW = 91_440  # shapes whose tops differ by less (a tenth of an inch, in EMU) stand side by side


def open_pptx(source: Source, limits: ReadLimits) -> Contents:
    """Reads a presentation."""
    open_package(source, limits).close()
    part: Any = Package.open(str(source.path)).main_document_part
    if "presentationml" not in part.content_type and "powerpoint" not in part.content_type:
        raise damaged(source.name, "pptx", "its main part is another kind of document")
    if not isinstance(part, PresentationPart):
        part = PresentationPart.load(part.partname, part.content_type, part.package, part.blob)
    drawings = Drawings()
    slides = [_Slide(slide, number, drawings) for number, slide in enumerate(part.presentation.slides, 1)]
    sections = [one for slide in slides for one in in_sections(slide.blocks, limits.section, slide.name)]
    lost = [*drawings.lost, "Positions, colours, animations and what the master slides show are not in the text."]
    if any(slide.is_merged for slide in slides):
        lost.append("Some table cells are merged: their text stands in the first of them, the others are empty.")
    hidden = [str(slide.number) for slide in slides if slide.is_hidden]
    if hidden:
        lost.insert(0, f"Hidden in the show, but read like the others: slide {', '.join(hidden)}.")
    titles = [f"{slide.number} {slide.title or '(no title)'}" for slide in slides]
    summary = f"Presentation of {len(slides)} slides{f', {len(hidden)} of them hidden' if hidden else ''}."
    summary += f"\nSlides: {first_of(titles, 20, '; ')}"
    return TextContents("pptx", summary, sections, lost=lost, data=drawings.pictures)


class _Slide:
    """One slide as blocks of text."""

    def __init__(self, slide: Any, number: int, drawings: Drawings) -> None:
        self._part, self._drawings, self.number = slide.part, drawings, number
        self.is_merged = False
        self.is_hidden = slide.element.get("show", "1") in ("0", "false")
        title = slide.shapes.title
        self._title_id = title.shape_id if title is not None else None
        self.title = one_line(_text(title.text_frame), 200) if title else ""
        self.name = f"slide {number}{' (hidden)' if self.is_hidden else ''}"
        self.blocks = [f"## {self.title}"] if self.title else []
        self.blocks += [*self._shapes(slide.shapes), *self._comments()]
        frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if frame is not None and (notes := _text(frame).strip()):
            self.blocks.append(f"[speaker notes] {notes}")
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
        elif (blip := element.find(f".//{_A}blip")) is not None:
            for name, what in (("videoFile", "a film"), ("audioFile", "a sound")):
                self._drawings.others += [what] if element.find(f".//{_A}{name}") is not None else []
            yield self._drawings.picture(part, blip.get(f"{_R}embed", ""), alt, f"slide-{self.number}-picture")
            return
        elif next(element.iter("{*}oleObj"), None) is not None:
            self._drawings.others.append("an embedded object")
        if alt:
            yield f"[alt text: {alt}]"

    def _comments(self) -> Iterator[str]:
        """Comments of both formats, old and threaded, and replies to them."""
        for relation in self._part.rels.values():
            if not relation.is_external and relation.reltype.endswith("/comments"):
                for one in parse_xml(relation.target_part.blob).iter("{*}text", "{*}txBody"):
                    yield f"[comment] {''.join(one.itertext()).strip()}"


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
