"""Word documents: headings, lists with their numbers, tables, notes, comments, text boxes, headers and footers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from agent.files.contents import Contents, ReadLimits, Source, TextContents, damaged, in_sections, table
from agent.files.documents.package import Drawings, open_package, parse_xml
from mcp_tools.text import one_line

_MACROS = "application/vnd.ms-word.document.macroEnabled.main+xml"
_TEMPLATE = "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_INSIDE = frozenset(
    {
        *("sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "fldSimple", "ruby", "rubyBase", "rt", "r"),
        *("dir", "bdo", "Choice", "AlternateContent", "oMathPara", "txbxContent", "hyperlink"),
    }
)
"""Elements that only contain others."""
_SIGNS = {"tab": "\t", "cr": "\n", "br": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_REFERENCES = {"footnoteReference": "^", "endnoteReference": "^e", "commentReference": "comment "}
_STRUCK_ON = re.compile(r"(?<=[^~])~~~~(?=[^~])")
"""Between two parts of a text that is struck through."""


def open_docx(source: Source, limits: ReadLimits) -> Contents:
    """Reads a Word document."""
    open_package(source, limits).close()
    from docx.opc.part import PartFactory
    from docx.package import Package
    from docx.parts.document import DocumentPart

    for like_a_document in (_MACROS, _TEMPLATE):
        PartFactory.part_type_for.setdefault(like_a_document, DocumentPart)
    part = Package.open(str(source.path)).main_document_part
    if not isinstance(part, DocumentPart):
        raise damaged(source.name, "docx", "its main part is another kind of document")
    reading = _Reading(part)
    blocks = reading.blocks()
    counts = {
        "tables": sum(block.startswith("| ") for block in blocks),
        "footnotes": sum(mark.startswith("^") for mark in reading.notes),
        "comments": sum(mark.startswith("comment") for mark in reading.notes),
        "pictures": len(reading.drawings.pictures),
        "tracked changes": len(reading.changes),
    }
    title = f" “{one_line(part.core_properties.title, 300)}”" if part.core_properties.title else ""
    summary = f"Word document{title} of {sum(len(block.split()) for block in blocks):,} words."
    if has := [f"{count} {name}" for name, count in counts.items() if count]:
        summary += f"\nIt has {', '.join(has)}."
    sections = in_sections(blocks, limits.section)
    return TextContents("docx", summary, sections, lost=reading.lost(), data=reading.drawings.pictures)


class _Reading:
    """A document while it is read: what its parts share."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self.drawings = Drawings()
        self.lists = _Lists([one for _, root in self._roots("numbering") for one in root])
        self.levels, self.numbered = _styles([one for _, root in self._roots("styles") for one in root])
        """By style: levels of headings; numbers of lists with the level."""
        self.notes: dict[str, str] = {}
        """The text of notes and comments by mark: `^1`."""
        self.changes: list[str] = []
        self.told: list[str] = []

    def blocks(self) -> list[str]:
        """All paragraphs and tables, then headers and footers, then tracked changes."""
        for name, mark in (("comments", "comment "), ("footnotes", "^"), ("endnotes", "^e")):
            for part, root in self._roots(name):
                for note in root:
                    if note.get(f"{_W}type", "normal") == "normal":
                        said = [note.get(f"{_W}author", ""), note.get(f"{_W}date", "")[:10]]
                        by = f"{', '.join(filter(None, said))}: " if any(said) else ""
                        self.notes[f"{mark}{note.get(f'{_W}id', '')}"] = by + _Part(part, self).line(note).strip()
        blocks = list(_Part(self._part, self).blocks(self._part.element.body))
        margins = dict.fromkeys(
            f"[{kind}] {text}"
            for kind in ("header", "footer")
            for part, root in self._roots(kind)
            if (text := _Part(part, self).line(root).strip())
        )
        blocks += ["## Headers and footers", *margins] if margins else []
        return [*blocks, "## Tracked changes", "\n".join(self.changes)] if self.changes else blocks

    def lost(self) -> list[str]:
        """What the text does not show."""
        changes = ["The text has tracked changes as if all were accepted; they are listed at its end."]
        return [
            *self.drawings.lost,
            *(changes if self.changes else []),
            *dict.fromkeys(self.told),
            "Fonts, colours, macros and page breaks are not shown.",
        ]

    def _roots(self, name: str) -> list[tuple[Any, Any]]:
        """The parts of a kind, such as `footnotes`, each with its XML."""
        relations = self._part.rels.values()
        parts = [r.target_part for r in relations if not r.is_external and r.reltype.endswith(f"/{name}")]
        return [(part, parse_xml(part.blob)) for part in parts]


def _styles(root: list[Any]) -> tuple[dict[str, int], dict[str, tuple[str, int]]]:
    """Heading levels and lists by style, inherited ones included."""
    styles = {one.get(f"{_W}styleId", ""): one for one in root if _name(one) == "style"}
    levels: dict[str, int] = {}
    numbered: dict[str, tuple[str, int]] = {}
    for name in styles:
        one, seen = styles[name], set[str]()
        while one is not None and one.get(f"{_W}styleId") not in seen:
            seen.add(one.get(f"{_W}styleId"))
            called = _value(one, "name").lower()
            properties = one.find(f"{_W}pPr")
            digit = called.removeprefix("heading ")
            level = 1 if called == "title" else int(digit) if digit.isdecimal() else _outline(properties)
            if level:
                levels.setdefault(name, level)
            if (number := _listed(properties))[0]:
                numbered.setdefault(name, number)
            one = styles.get(_value(one, "basedOn"))
    return levels, numbered


class _Lists:
    """Numbers the list items of a document, paragraph by paragraph."""

    def __init__(self, numbering: list[Any]) -> None:
        abstract = {
            one.get(f"{_W}abstractNumId"): {
                int(level.get(f"{_W}ilvl", 0)): (
                    int(_value(level, "start") or 1),
                    _value(level, "numFmt"),
                    _value(level, "lvlText"),
                )
                for level in one.iter(f"{_W}lvl")
            }
            for one in numbering
            if _name(one) == "abstractNum"
        }
        self._levels = {one.get(f"{_W}numId"): abstract.get(_value(one, "abstractNumId"), {}) for one in numbering}
        self._counts = defaultdict[str, Counter[int]](Counter)

    def mark(self, number: str, level: int) -> str:
        """The number or bullet of the next paragraph in this list: `2.1.`, `b)`, `-`; empty if it has none."""
        levels = self._levels.get(number, {})
        if level not in levels:
            return "-" if number not in ("", "0") else ""
        counts = self._counts[number]
        counts[level] += 1
        for deeper in [at for at in counts if at > level]:
            del counts[deeper]
        _, style, text = levels[level]
        if style in ("bullet", "none"):
            return "-" if style == "bullet" else ""
        for at in range(level + 1):
            start, style, _ = levels.get(at, (1, "", ""))
            count = start - 1 + max(counts[at], 1)
            letter = chr(ord("a") + (count - 1) % 26)
            spelt = {"lowerLetter": letter, "upperLetter": letter.upper()}.get(style, str(count))
            text = text.replace(f"%{at + 1}", spelt)
        return text.strip()


class _Part:
    """Walks the XML of one part of a document: its body, a note, a header."""

    def __init__(self, part: Any, reading: _Reading) -> None:
        self._part, self._reading = part, reading
        self._called: list[str] = []
        self._boxes: list[str] = []

    def blocks(self, parent: Any) -> Iterator[str]:
        """Paragraphs and tables in order, each followed by the text boxes in it and the notes that it refers to."""
        for child in parent:
            name = _name(child)
            if name in ("p", "tbl"):
                rows = [list(self._cells(row)) for row in _below(child, "tr")] if name == "tbl" else []
                text = table(rows) if name == "tbl" else self._paragraph(child)
                boxes, self._boxes = self._boxes, []
                called, self._called = self._called, []
                if text.strip():
                    yield text
                yield from boxes
                for mark in dict.fromkeys(called):
                    yield f"[{mark}]: {self._reading.notes.get(mark, '(missing)')}"
            elif name in _INSIDE:
                yield from self.blocks(child)

    def line(self, parent: Any) -> str:
        """All paragraphs, each on a line, for a note or a cell."""
        return "\n".join(block for block in self.blocks(parent) if block.strip())

    def _paragraph(self, paragraph: Any) -> str:
        text = "".join(self._inline(child) for child in paragraph)
        text = _STRUCK_ON.sub("", text).strip(" ")
        if not text.strip():
            return ""
        properties = paragraph.find(f"{_W}pPr")
        style = _value(properties, "pStyle")
        number, depth = _listed(properties, *self._reading.numbered.get(style, ("", 0)))
        mark = self._reading.lists.mark(number, depth) if number else ""
        if level := self._reading.levels.get(style) or _outline(properties):
            return f"{'#' * min(level, 6)} {f'{mark} ' if mark.strip('-') else ''}{' '.join(text.split())}"
        return f"{'  ' * depth}{mark} {text}" if mark else text

    def _inline(self, node: Any) -> str:
        name, reading = _name(node), self._reading
        if name == "t":
            return node.text or ""
        if name in ("del", "moveFrom"):
            deleted = "".join(t.text or "" for t in node.iter(f"{_W}delText", f"{_W}t"))
            reading.changes += [f"[deleted by {node.get(f'{_W}author')}: {deleted}]"] if deleted.strip() else []
            return ""
        if name in _INSIDE:
            return self._container(node, name)
        if name in _REFERENCES:
            self._called.append(_REFERENCES[name] + node.get(f"{_W}id", ""))
            return f"[{self._called[-1]}]"
        if name in ("drawing", "pict", "object"):
            return self._drawing(node)
        if name == "oMath":
            reading.told.append("Of formulas only the letters are shown, not fractions and powers.")
            return "".join(one.text or "" for one in node.iter("{*}t"))
        return _SIGNS.get(name, "")

    def _container(self, node: Any, name: str) -> str:
        text = "".join(self._inline(child) for child in node)
        if name == "hyperlink":
            relation = self._part.rels.get(node.get(f"{_R}id", ""))
            target = relation.target_ref if relation is not None and relation.is_external else ""
            return f"[{text}]({target})" if target and target != text else text
        if name in ("ins", "moveTo") and text.strip():
            self._reading.changes.append(f"[inserted by {node.get(f'{_W}author')}: {text}]")
        if name == "r" and text.strip() and node.find(f"{_W}rPr/{_W}vanish") is not None:
            self._reading.told.append("Hidden text is shown like the rest.")
        if name == "r" and text.strip():
            marks = [node.find(f"{_W}rPr/{_W}{mark}") for mark in ("strike", "dstrike")]
            if any(mark is not None and mark.get(f"{_W}val") not in ("0", "false", "off") for mark in marks):
                return f"~~{text}~~"
        return f"({text})" if name == "rt" else text

    def _drawing(self, node: Any) -> str:
        """The names of pictures; text boxes, charts and diagrams are kept for after the paragraph."""
        drawings, words = self._reading.drawings, []
        described = next(node.iter("{*}docPr"), None)
        alt = (described.get("descr") or described.get("title") or "") if described is not None else ""
        for one in node.iter():
            name, relation = _name(one), one.get(f"{_R}id", "")
            if name in ("txbxContent", "imagedata") and any(
                _name(above) == "Fallback" for above in one.iterancestors()
            ):
                continue
            if name == "txbxContent" and (inner := _Part(self._part, self._reading).line(one)):
                self._boxes.append(f"[text box] {inner}")
            elif name == "blip":
                words.append(drawings.picture(self._part, one.get(f"{_R}embed", ""), alt, "picture"))
            elif name == "imagedata":
                words.append(drawings.picture(self._part, relation, one.get("title") or alt, "picture"))
            elif name == "chart" and relation:
                self._boxes.append(drawings.chart(self._part, relation))
            elif name == "relIds":
                self._boxes.append(drawings.diagram(self._part, one.getparent()))
            elif name == "OLEObject":
                drawings.others.append(f"an embedded object, {one.get('ProgID', 'of an unknown kind')}")
        return " ".join(filter(None, words))

    def _cells(self, row: Any) -> Iterator[str]:
        for cell in _below(row, "tc"):
            properties = cell.find(f"{_W}tcPr")
            merge = properties.find(f"{_W}vMerge") if properties is not None else None
            span = int(_value(properties, "gridSpan") or 1)
            if merge is not None or span > 1:
                self._reading.told.append("Some table cells are merged: their text stands in the first of them.")
            covered = merge is not None and merge.get(f"{_W}val") != "restart"
            yield "" if covered else _Part(self._part, self._reading).line(cell)
            yield from [""] * min(span - 1, 100)


def _below(parent: Any, name: str) -> Iterator[Any]:
    """The rows of a table or the cells of a row, including those in content controls and tracked insertions."""
    for child in parent:
        if _name(child) == name:
            yield child
        elif _name(child) in _INSIDE:
            yield from _below(child, name)


def _name(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def _value(parent: Any, name: str) -> str:
    found = parent.find(f"{_W}{name}") if parent is not None else None
    return str(found.get(f"{_W}val", "")) if found is not None else ""


def _outline(properties: Any) -> int:
    level = _value(properties, "outlineLvl")
    return int(level) + 1 if level.isdigit() and int(level) < 9 else 0


def _listed(properties: Any, number: str = "", depth: int = 0) -> tuple[str, int]:
    """The list that a paragraph belongs to, by its properties, and its level there."""
    listed = properties.find(f"{_W}numPr") if properties is not None else None
    return (_value(listed, "numId") or number), int(_value(listed, "ilvl") or depth)
