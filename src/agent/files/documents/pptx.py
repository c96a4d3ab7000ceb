"""Reader of presentations: text, tables, chart data, alt texts, speaker notes and comments of each slide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pptx.package import Package  # also opens variants: with macros, or as a slide show
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
_SAME_ROW_EMU = 91_440  # a tenth of an inch; shapes with closer tops are in one row


def open_pptx(source: Source, limits: ReadLimits) -> Contents:
    """Read a presentation."""
    with Parts(source, limits) as parts:
        return _read(source, limits, parts)


def _read(source: Source, limits: ReadLimits, parts: Parts) -> Contents:
    root = parts.main("ppt/presentation.xml").root
    part: Any = Package.open(parts.normalised() if parts.is_odd() else str(source.path)).main_document_part
    if "presentationml" not in part.content_type and "powerpoint" not in part.content_type:
        raise damaged(source.name, "pptx", "its main part is not a presentation")
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
        "Positions, colours, animations, pictures of masters, prompts of placeholders, layouts that no slide uses, and "
        "masters of notes and handouts are not in the text.",
    ]
    if any(slide.is_merged for slide in slides):
        lost.append("Some table cells are merged: their text is in the first cell, the others are empty.")
    hidden = [str(slide.number) for slide in slides if slide.is_hidden]
    if hidden:
        lost.insert(0, f"Hidden in the slide show, but read here: slide {', '.join(hidden)}.")
    titles = [f"{slide.number} {slide.title or '(no title)'}" for slide in slides]
    title = f" “{given}”" if (given := parts.properties().get("title")) else ""
    summary = f"Presentation{title} of {len(slides)} slides{f', {len(hidden)} of them hidden' if hidden else ''}."
    summary += properties
    for what, tag in (("Sections", "section"), ("Custom shows", "custShow")):
        if names := [one.get("name", "") for one in root.iter(f"{{*}}{tag}")]:
            summary += f"\n{what}: {first_of(names, 20)}"
    summary += f"\nSlides: {first_of(titles, 20, '; ')}"
    return TextContents("pptx", summary, sections, lost=lost, data=drawings.pictures)


class _Slide:
    """One slide as blocks of text."""

    def __init__(self, slide: Any, number: int, drawings: Drawings, parts: Parts) -> None:
        part = parts.part(str(slide.part.partname)) or Part(parts, str(slide.part.partname))
        part.content  # noqa: B018 - this marks the part as read
        self._part, self._drawings, self.number = part, drawings, number
        for related in part.parts("notesSlide"):
            related.content  # noqa: B018 - the same
        lists = filter(None, (parts.part(f"ppt/{name}.xml") for name in ("commentAuthors", "authors")))
        self._authors = {one.get("id"): one.get("name", "") for listed in lists for one in listed.root}
        self.is_merged = False
        self.is_hidden = slide.element.get("show", "1") in ("0", "false")
        title = slide.shapes.title
        self._title_id = title.shape_id if title is not None else None
        self.title = one_line(_frame_text(title.text_frame), 200) if title else ""
        self.name = f"slide {number}{' (hidden)' if self.is_hidden else ''}"
        self.blocks = [f"## {self.title}"] if self.title else []
        self.blocks += [*self._shapes(slide.shapes), *self._alternatives(slide.element), *self._comments()]
        self.masters = _text_of_masters(slide)
        notes = slide.notes_slide.notes_placeholder if slide.has_notes_slide else None
        if notes is not None and (text := _frame_text(notes.text_frame).strip()):
            self.blocks.append(f"[speaker notes] {text}")
        for one in slide.notes_slide.shapes if slide.has_notes_slide else ():
            if one.shape_id != getattr(notes, "shape_id", None) and not one.element.xpath(".//p:ph[@type='sldNum']"):
                self.blocks += [f"[on the notes page] {line}" for line in _lines(one.element)]
        self.blocks += self._attributes(slide.element, "\n".join(self.blocks))
        self.blocks = self.blocks or ["(an empty slide)"]

    def _attributes(self, element: Any, shown: str) -> Iterator[str]:
        """Return texts in attributes that are not in `shown`: links of shapes with their tips, alt texts, names."""
        if (name := element.find("{*}cSld").get("name", "")) and name not in shown:
            yield f"[name of the slide: {name}]"
        for one in element.iter("{*}cNvPr"):
            yield from (
                f"[alt text: {alt}]" for key in ("title", "descr") if (alt := one.get(key)) and alt not in shown
            )
        for one in element.iter("{*}hlinkClick", "{*}hlinkMouseOver", "{*}hlinkHover"):
            texts = [self._part.address(one.get(f"{_R}id")), one.get("tooltip", "")]
            if texts := [text for text in texts if text and text not in shown]:
                yield f"[link: {', '.join(texts)}]"
        names = [one.get("name") for one in element.iter("{*}snd") if one.get("name")]
        self._drawings.others += [f"a sound, {name}" for name in names]

    def _shapes(self, shapes: Iterable[Any]) -> Iterator[str]:
        """Yield the blocks of shapes, from top to bottom and left to right."""
        others = (shape for shape in shapes if shape.shape_id != self._title_id)
        for shape in sorted(others, key=lambda one: ((one.top or 0) // _SAME_ROW_EMU, one.left or 0)):
            yield from (block for block in self._shape(shape) if block.strip())

    def _shape(self, shape: Any) -> Iterator[str]:
        if hasattr(shape, "shapes"):
            yield from self._shapes(shape.shapes)
            return
        element, part = shape.element, self._part
        alt = element.xpath("string(./*[1]/p:cNvPr/@descr)")
        if getattr(shape, "has_text_frame", False) and (text := _frame_text(shape.text_frame)):
            yield text
        elif getattr(shape, "has_table", False):
            self.is_merged |= any(cell.is_merge_origin for cell in shape.table.iter_cells())
            yield table([[_frame_text(cell.text_frame) for cell in row.cells] for row in shape.table.rows])
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
                    names = [shape.name, *([found.target.rpartition("/")[2]] if found else [])]
                    self._drawings.others.append(f"{what}, {' in '.join(filter(None, names))}")
            yield self._drawings.picture(part, blip.get(f"{_R}embed", ""), alt, f"slide-{self.number}-picture")
            return
        if alt:
            yield f"[alt text: {alt}]"

    def _alternatives(self, element: Any) -> Iterator[str]:
        """Yield texts of shapes that are stored in several versions, such as formulas and handwriting."""
        for one in element.iter("{*}AlternateContent"):
            if str(one.getparent().tag).endswith(("}spTree", "}grpSp")):
                versions = ("\n".join(_lines(version)) for version in one)
                yield next((text for text in versions if text), "[a shape without text]")
                for name in [str(x.tag).rpartition("}")[2] for x in one.iter("{*}contentPart", "{*}model3d")]:
                    self._drawings.others.append({"contentPart": "handwriting", "model3d": "a 3D model"}[name])

    def _comments(self) -> Iterator[str]:
        """Yield comments of both formats, old and threaded, with their replies."""
        for part in self._part.parts("comments"):
            for one in part.root.iter("{*}text", "{*}txBody"):
                by = self._authors.get(one.getparent().get("authorId"))
                yield f"[comment{f' by {by}' if by else ''}] {''.join(one.itertext()).strip()}"


def _lines(element: Any) -> list[str]:
    """Return the paragraphs with text below an element."""
    texts = ("".join(t.text or "" for t in one.iter("{*}t")) for one in element.iter(f"{_A}p"))
    return [text for text in texts if text.strip()]


def _text_of_masters(slide: Any) -> list[str]:
    layout = slide.slide_layout
    shapes = [shape for one in (layout.slide_master, layout) for shape in one.shapes if not shape.is_placeholder]
    return [line for shape in shapes for line in _lines(shape.element)]


def _frame_text(frame: Any) -> str:
    """Return the paragraphs of a frame with link targets. Deeper levels are indented as a list."""
    lines = []
    for paragraph in frame.paragraphs:
        text = "".join(_run(one, frame.part) for one in paragraph._p)
        properties = paragraph._p.pPr  # unlike `paragraph.level`, this does not create properties
        level = properties.lvl if properties is not None else 0
        lines.append(f"{'  ' * (level - 1)}- {text}" if level and text.strip() else text)
    return "\n".join(line for line in lines if line.strip())


def _run(element: Any, part: Any) -> str:
    if element.tag == f"{_A}br":
        return "\n"
    if element.tag.endswith("}AlternateContent"):
        return next((text for version in element if (text := _run(version, part))), "")
    text = "".join(one.text or "" for one in element.iter("{*}t"))
    link = element.find(f"{_A}rPr/{_A}hlinkClick")
    relation = part.rels.get(link.get(f"{_R}id", "")) if link is not None else None
    return f"[{text}]({relation.target_ref})" if relation is not None and relation.is_external else text
