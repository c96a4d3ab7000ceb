"""Slides in the order of the show: texts, tables, charts' data, alt texts, speaker notes and comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from agent.files.contents import (
    Contents,
    ReadLimits,
    Source,
    TextContents,
    damaged,
    in_sections,
    table,
    without_package,
)
from agent.files.documents.package import Drawn, damage_told, open_package
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from pptx.presentation import Presentation
    from pptx.slide import Slide

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_ROW = 91_440
"""Shapes whose tops differ by less (a tenth of an inch, in EMU) stand side by side."""


def open_pptx(source: Source, limits: ReadLimits) -> Contents:
    """Reads a presentation.

    Raises:
        FileProblem: It is empty, damaged, cut off, encrypted, a bomb, or no presentation.
    """
    open_package(source, limits, "[Content_Types].xml").close()
    try:
        from pptx.exc import PythonPptxError
    except ImportError:
        raise without_package("python-pptx", "files", "presentations cannot be read") from None
    try:
        with damage_told(source, "a presentation"):
            from pptx.package import Package  # with macros, or a show: the same parts by other names
            from pptx.parts.presentation import PresentationPart

            part: Any = Package.open(str(source.path)).main_document_part
            if "presentationml" not in part.content_type and "powerpoint" not in part.content_type:
                raise damaged(source, "a presentation", "its main part is another kind of document")
            if not isinstance(part, PresentationPart):
                part = PresentationPart.load(part.partname, part.content_type, part.package, part.blob)
            return _contents(part.presentation, limits)
    except PythonPptxError as error:
        raise damaged(source, "a presentation", error) from None


def _contents(show: Presentation, limits: ReadLimits) -> Contents:
    drawn = Drawn()
    slides = [_Slide(slide, number, drawn) for number, slide in enumerate(show.slides, 1)]
    sections = [part for slide in slides for part in in_sections(slide.blocks, limits.section, slide.name)]
    hidden = [slide.number for slide in slides if slide.hidden]
    facts: dict[str, Json] = {
        "slides": len(slides),
        "hidden_slides": list(hidden),
        "titles": [slide.title for slide in slides],
        "slides_with_notes": [slide.number for slide in slides if slide.notes],
        "charts": drawn.charts,
        "pictures": len(drawn.pictures),
        **{
            name: one_line(value, 300) for name in ("title", "author") if (value := getattr(show.core_properties, name))
        },
    }
    lost = [*drawn.lost, "Positions, colours, animations and what the master slides show are not in the text."]
    if any(slide.merged for slide in slides):
        lost.append("Some table cells are merged: their text stands in the first of them, the others are empty.")
    if hidden:
        numbers = ", ".join(map(str, hidden))
        lost.insert(0, f"Hidden in the show, but read like the others: slide {numbers}.")
    titles = "; ".join(f"{slide.number} {slide.title or '(no title)'}" for slide in slides[:20])
    more = f"; and {len(slides) - 20} more" if len(slides) > 20 else ""
    summary = f"Presentation of {len(slides)} slides{f', {len(hidden)} of them hidden' if hidden else ''}."
    summary += f"\nSlides: {titles}{more}"
    return TextContents("pptx", summary, sections, facts, lost, drawn.pictures)


class _Slide:
    """One slide as blocks of text."""

    def __init__(self, slide: Slide, number: int, drawn: Drawn) -> None:
        self._slide, self._drawn, self.number = slide, drawn, number
        self.merged = False
        self.hidden = slide.element.get("show", "1") in ("0", "false")
        title = slide.shapes.title
        self._title_id = title.shape_id if title is not None else None
        self.title = one_line(_text(title.text_frame), 200) if title else ""
        self.notes = self._notes()
        self.name = f"slide {number}{' (hidden)' if self.hidden else ''}"
        heading = [f"## {self.title}"] if self.title else []
        self.blocks = [*heading, *self._shapes(slide.shapes), *self._comments()]
        if self.notes:
            self.blocks.append(f"[speaker notes] {self.notes}")
        if not self.blocks:
            self.blocks = ["(an empty slide)"]

    def _shapes(self, shapes: Iterable[Any]) -> Iterator[str]:
        """From the top down and from the left, as people read."""
        others = (shape for shape in shapes if shape.shape_id != self._title_id)
        for shape in sorted(others, key=lambda one: ((one.top or 0) // _ROW, one.left or 0)):
            yield from (block for block in self._shape(shape) if block.strip())

    def _shape(self, shape: Any) -> Iterator[str]:
        if hasattr(shape, "shapes"):
            yield from self._shapes(shape.shapes)
            return
        alt = shape.element.xpath("string(./*[1]/p:cNvPr/@descr)")
        part = self._slide.part
        if getattr(shape, "has_text_frame", False) and shape.text_frame.text.strip():
            yield _text(shape.text_frame)
        elif getattr(shape, "has_table", False):
            self.merged |= any(cell.is_merge_origin for cell in shape.table.iter_cells())
            yield table([[_text(cell.text_frame) for cell in row.cells] for row in shape.table.rows])
        elif getattr(shape, "has_chart", False):
            chart = shape.element.find(".//{http://schemas.openxmlformats.org/drawingml/2006/chart}chart")
            yield self._drawn.chart(part, chart.get(_relation("id"), ""))
        elif shape.element.find(".//{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds") is not None:
            yield self._drawn.diagram(part, shape.element)
        elif (blip := shape.element.find(f".//{_A}blip")) is not None:
            for name, what in (("videoFile", "a film"), ("audioFile", "a sound")):
                self._drawn.others += [what] if shape.element.find(f".//{_A}{name}") is not None else []
            yield self._drawn.picture(part, blip.get(_relation("embed"), ""), alt, f"slide-{self.number}-picture")
            return
        elif shape.element.find(".//{http://schemas.openxmlformats.org/presentationml/2006/main}oleObj") is not None:
            self._drawn.others.append("an embedded object")
        if alt:
            yield f"[alt text: {alt}]"

    def _notes(self) -> str:
        if not self._slide.has_notes_slide:
            return ""
        frame = self._slide.notes_slide.notes_text_frame
        return _text(frame).strip() if frame is not None else ""

    def _comments(self) -> Iterator[str]:
        """Comments of both formats, old and threaded, and replies to them."""
        from lxml import etree  # type: ignore[import-untyped]  # it has no stubs

        parser = etree.XMLParser(resolve_entities=False, no_network=True)
        texts: dict[Any, list[str]] = {}
        for relation in self._slide.part.rels.values():
            if relation.is_external or not relation.reltype.endswith("/comments"):
                continue
            root = etree.fromstring(relation.target_part.blob, parser)
            for one in root.iter("{*}cm", "{*}reply", "{*}text", "{*}t"):
                if etree.QName(one).localname in ("cm", "reply"):
                    texts[one] = []
                else:
                    texts[next(one.iterancestors("{*}cm", "{*}reply"))].append(one.text or "")
        return (f"[comment] {' '.join(said).strip()}" for said in texts.values())


def _text(frame: Any) -> str:
    """The paragraphs of a frame, deeper ones indented as a list; with where links lead."""
    lines = []
    for paragraph in frame.paragraphs:
        text = "".join(_run(one, frame.part) for one in paragraph._p)
        properties = paragraph._p.pPr  # `paragraph.level` would make those that are not there
        level = properties.lvl if properties is not None else 0
        lines.append(f"{'  ' * (level - 1)}- {text}" if level and text.strip() else text)
    return "\n".join(line for line in lines if line.strip())


def _run(element: Any, part: Any) -> str:
    name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    if name == "br":
        return "\n"
    if name not in ("r", "fld"):
        return "".join(one.text or "" for one in element.iter() if str(one.tag).endswith("/math}t"))
    text = "".join(one.text or "" for one in element.iter(f"{_A}t"))
    link = element.find(f"{_A}rPr/{_A}hlinkClick")
    relation = part.rels.get(link.get(_relation("id"), "")) if link is not None else None
    return f"[{text}]({relation.target_ref})" if relation is not None and relation.is_external else text


def _relation(name: str) -> str:
    return f"{{http://schemas.openxmlformats.org/officeDocument/2006/relationships}}{name}"
