"""Word documents: headings, lists with their numbers, tables, notes, comments, text boxes, headers and footers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

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
    from docx.document import Document

_MACROS = "application/vnd.ms-word.document.macroEnabled.main+xml"
_TEMPLATE = "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_INSIDE = frozenset(
    {
        *("sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "fldSimple", "ruby", "rubyBase", "rt"),
        *("dir", "bdo", "r", "Choice", "AlternateContent", "oMathPara", "txbxContent"),
    }
)
"""Elements that are nothing but what is in them."""
_SIGNS = {"tab": "\t", "cr": "\n", "br": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_REFERENCES = {"footnoteReference": "^", "endnoteReference": "^e", "commentReference": "comment "}
_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix", 5: "v"}
_COUNTED = ("tables", "footnotes", "comments", "pictures", "tracked_changes")


def open_docx(source: Source, limits: ReadLimits) -> Contents:
    """Reads a Word document.

    Raises:
        FileProblem: It is empty, damaged, cut off, encrypted, a bomb, or no Word document.
    """
    with open_package(source, limits, "[Content_Types].xml") as archive, damage_told(source, "a Word document"):
        try:
            from docx.opc.part import PartFactory
            from docx.package import Package
            from docx.parts.document import DocumentPart
        except ImportError:
            raise without_package("python-docx", "files", "Word documents cannot be read") from None
        for like_a_document in (_MACROS, _TEMPLATE):
            PartFactory.part_type_for.setdefault(like_a_document, DocumentPart)
        part = Package.open(str(source.path)).main_document_part
        if not isinstance(part, DocumentPart):
            raise damaged(source, "a Word document", "its main part is another kind of document")
        return _Reading(part.document).contents(_properties(part.document, archive), limits)


def _properties(document: Document, archive: ZipFile) -> dict[str, Json]:
    """What the document says of itself, and what the program that saved it counted."""
    known = document.core_properties
    found = {"title": known.title, "author": known.author, "subject": known.subject, "keywords": known.keywords}
    facts: dict[str, Json] = {name: one_line(value, 300) for name, value in found.items() if value}
    for name, moment in (("created", known.created), ("modified", known.modified)):
        if moment:
            facts[name] = moment.isoformat()
    if "docProps/app.xml" in archive.namelist():
        counts = re.findall(rb"<(?:\w+:)?(Pages|Words)>(\d{1,9})<", archive.read("docProps/app.xml"))
        facts.update({f"{name.decode().lower()}_when_saved": int(count) for name, count in counts})
    return facts


class _Reading:
    """One document on its way to text: what its parts share."""

    def __init__(self, document: Document) -> None:
        self._body: Any = document.element.body
        self._part: Any = document.part
        self.drawn = Drawn()
        self.lists = _Lists(self._root("numbering"))
        self.levels, self.numbered = _styles(self._root("styles"))
        """By style: levels of headings; numbers of lists with the level."""
        self.notes: dict[str, str] = {}
        """The text of notes and comments by mark: `^1`."""
        self.deleted: list[str] = []
        self.inserted: list[str] = []
        self.hidden = self.merged = self.others = 0

    def contents(self, facts: dict[str, Json], limits: ReadLimits) -> Contents:
        comments = self._noted("comments", "comment ")
        for name, mark in (("footnotes", "^"), ("endnotes", "^e")):
            self.notes.update(self._noted(name, mark))
        footnotes = len(self.notes)
        self.notes.update(comments)
        blocks = list(_Part(self._part, self).blocks(self._body))
        headings = [block.split("\n")[0] for block in blocks if block.startswith("#")]
        tables = sum(block.startswith("| ") for block in blocks)
        margins = [*self._margins("header"), *self._margins("footer")]
        blocks += ["## Headers and footers", *margins] if margins else []
        deleted = [f"[deleted by {text}]" for text in self.deleted if text.partition(": ")[2].strip()]
        changes = [*deleted, *(f"[inserted by {text}]" for text in self.inserted)]
        blocks += ["## Tracked changes", "\n".join(changes)] if changes else []
        facts |= {
            "headings": list(headings[:100]),
            "tables": tables,
            "footnotes": footnotes,
            "comments": len(comments),
            "pictures": len(self.drawn.pictures),
            "tracked_changes": len(self.inserted) + len(self.deleted),
        }
        title = f" “{facts['title']}”" if facts.get("title") else ""
        pages = f", {facts['pages_when_saved']} pages when it was saved" if facts.get("pages_when_saved") else ""
        summary = f"Word document{title} of {sum(len(block.split()) for block in blocks):,} words{pages}."
        if has := [f"{facts[name]} {name.replace('_', ' ')}" for name in _COUNTED if facts[name]]:
            summary += f"\nIt has {', '.join(has)}."
        sections = in_sections(blocks, limits.section)
        return TextContents("docx", summary, sections, facts, self._lost(), self.drawn.pictures)

    def _related(self, name: str) -> list[Any]:
        """The parts of a kind: `footnotes`, `header`."""
        relations = self._part.rels.values()
        return [r.target_part for r in relations if not r.is_external and r.reltype.endswith(f"/{name}")]

    def _root(self, name: str) -> Any:
        """The XML of the part of a kind; empty where there is none."""
        from docx.oxml import parse_xml

        parts = self._related(name)
        return parse_xml(parts[0].blob) if parts else ()

    def _noted(self, name: str, mark: str) -> dict[str, str]:
        """Notes or comments by mark."""
        found = {}
        for note in self._root(name):
            if note.get(f"{_W}type", "normal") != "normal":
                continue
            text = _Part(self._related(name)[0], self).line(note).strip()
            if name == "comments":
                day = note.get(f"{_W}date", "")[:10]
                text = f"{note.get(f'{_W}author', 'somebody')}{f', {day}' if day else ''}: {text}"
            found[f"{mark}{note.get(f'{_W}id', '')}"] = text
        return found

    def _margins(self, kind: str) -> list[str]:
        """Headers or footers, each text once."""
        from docx.oxml import parse_xml

        texts = [_Part(part, self).line(parse_xml(part.blob)).strip() for part in self._related(kind)]
        return [f"[{kind}] {text}" for text in dict.fromkeys(texts) if text]

    def _lost(self) -> list[str]:
        lost = self.drawn.lost
        if self.deleted or self.inserted:
            lost.append("The text has tracked changes as if all were accepted; they are listed at its end.")
        if self.hidden:
            lost.append("Hidden text is shown like the rest.")
        if self.merged:
            lost.append("Some table cells are merged: their text stands in the first of them, the others are empty.")
        if self.others:
            lost.append(f"Not read: {self.others} other document(s) put in by reference.")
        if "application/vnd.ms-office.vbaProject" in {part.content_type for part in self._part.package.iter_parts()}:
            lost.append("Macros are not shown.")
        lost.append("Fonts, colours and page breaks are not shown.")
        return lost


def _styles(root: Any) -> tuple[dict[str, int], dict[str, tuple[str, int]]]:
    """Heading levels and lists by style, inherited ones included."""
    styles = {one.get(f"{_W}styleId", ""): one for one in root if _name(one) == "style"}
    levels: dict[str, int] = {}
    numbered: dict[str, tuple[str, int]] = {}
    for name in styles:
        ancestry: list[Any] = []
        style = styles[name]
        while style is not None and style not in ancestry:
            ancestry.append(style)
            style = styles.get(_value(style, "basedOn"))
        for one in ancestry:
            called = _value(one, "name").lower()
            level = 1 if called == "title" else int(called[8:]) if re.fullmatch(r"heading \d", called) else 0
            properties = one.find(f"{_W}pPr")
            if level := level or _outline(properties):
                levels.setdefault(name, level)
            listed = properties.find(f"{_W}numPr") if properties is not None else None
            if number := _value(listed, "numId"):
                numbered.setdefault(name, (number, int(_value(listed, "ilvl") or 0)))
    return levels, numbered


class _Lists:
    """Counts the lists of a document while its paragraphs go by.

    Args:
        numbering: The root of the numbering part.
    """

    def __init__(self, numbering: Any) -> None:
        self._levels: dict[str, dict[int, Any]] = {}
        self._lists: dict[str, tuple[str, dict[int, int]]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[str] = set()
        for one in numbering:
            if _name(one) == "abstractNum":
                levels = {int(level.get(f"{_W}ilvl", 0)): level for level in one.iter(f"{_W}lvl")}
                self._levels[one.get(f"{_W}abstractNumId", "")] = levels
            elif _name(one) == "num":
                starts = {
                    int(level.get(f"{_W}ilvl", 0)): int(start)
                    for level in one.iter(f"{_W}lvlOverride")
                    if (start := _value(level, "startOverride"))
                }
                self._lists[one.get(f"{_W}numId", "")] = (_value(one, "abstractNumId"), starts)

    def mark(self, number: str, level: int) -> str:
        """What stands before the next paragraph of this list: `2.1.`, `b)`, `-`; empty where it is none."""
        abstract, starts = self._lists.get(number, ("", {}))
        levels = self._levels.get(abstract, {})
        if level not in levels:
            return "-" if number not in ("", "0") else ""
        first = {at: int(_value(one, "start") or 1) for at, one in levels.items()}
        counts = self._counts.setdefault(abstract, {})
        if starts and number not in self._begun:
            counts.update({at: start - 1 for at, start in starts.items()})
        self._begun.add(number)
        counts[level] = counts.get(level, first[level] - 1) + 1
        for deeper in [at for at in counts if at > level]:
            del counts[deeper]
        style = _value(levels[level], "numFmt")
        if style in ("bullet", "none"):
            return "-" if style == "bullet" else ""
        text = _value(levels[level], "lvlText")
        for at in range(level + 1):
            spelt = _spelt(counts.get(at, first.get(at, 1)), _value(levels.get(at), "numFmt"))
            text = text.replace(f"%{at + 1}", spelt)
        return text.strip()


def _spelt(number: int, style: str) -> str:
    if style in ("lowerLetter", "upperLetter") and number > 0:
        text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif style in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        text = ""
        for value, letters in {**_ROMAN, 4: "iv", 1: "i"}.items():
            text += letters * (number // value)
            number %= value
    else:
        return f"{number:02}" if style == "decimalZero" else str(number)
    return text.upper() if style.startswith("upper") else text


class _Part:
    """Walks the XML of one part of a document: its body, a note, a header.

    Args:
        part: The part, for its relations.
        reading: The document.
    """

    def __init__(self, part: Any, reading: _Reading) -> None:
        self._part, self._reading = part, reading
        self._called: list[str] = []
        self._boxes: list[str] = []

    def blocks(self, parent: Any) -> Iterator[str]:
        """Paragraphs and tables in order, each followed by the text boxes in it and the notes that it refers to."""
        for child in parent:
            name = _name(child)
            if name in ("p", "tbl"):
                text = (
                    self._paragraph(child)
                    if name == "p"
                    else table([list(self._cells(r)) for r in _below(child, "tr")])
                )
                boxes, self._boxes = self._boxes, []
                called, self._called = self._called, []
                if text.strip():
                    yield text
                yield from boxes
                for mark in dict.fromkeys(called):
                    yield f"[{mark}]: {self._reading.notes.get(mark, '(missing)')}"
            elif name in _INSIDE:
                yield from self.blocks(child)
            elif name == "altChunk":
                self._reading.others += 1

    def line(self, parent: Any) -> str:
        """All paragraphs, each on a line, for a note or a cell."""
        return "\n".join(block for block in self.blocks(parent) if block.strip())

    def _paragraph(self, paragraph: Any) -> str:
        text = "".join(self._inline(child) for child in paragraph).strip(" ")
        if not text.strip():
            return ""
        properties = paragraph.find(f"{_W}pPr")
        style = _value(properties, "pStyle")
        number, depth = self._reading.numbered.get(style, ("", 0))
        if properties is not None and (listed := properties.find(f"{_W}numPr")) is not None:
            number, depth = _value(listed, "numId") or number, int(_value(listed, "ilvl") or depth)
        mark = self._reading.lists.mark(number, depth) if number else ""
        if level := self._reading.levels.get(style) or _outline(properties):
            return f"{'#' * min(level, 6)} {f'{mark} ' if mark.strip('-') else ''}{' '.join(text.split())}"
        return f"{'  ' * depth}{mark} {text}" if mark else text

    def _inline(self, node: Any) -> str:
        name = _name(node)
        if name == "t":
            return node.text or ""
        if name in ("del", "moveFrom"):
            deleted = "".join(t.text or "" for t in node.iter(f"{_W}delText", f"{_W}t"))
            self._reading.deleted.append(f"{node.get(f'{_W}author', 'somebody')}: {deleted}")
            return ""
        if name in _INSIDE or name == "hyperlink":
            return self._container(node, name)
        if name in _REFERENCES:
            self._called.append(_REFERENCES[name] + node.get(f"{_W}id", ""))
            return f"[{self._called[-1]}]"
        if name in ("drawing", "pict", "object"):
            return self._drawing(node)
        if name == "oMath":
            return _formula(node)
        if name == "sym":
            code = int(node.get(f"{_W}char", "0"), 16)
            return chr(code) if 0x20 <= code < 0xE000 else "•"
        return _SIGNS.get(name, "")

    def _container(self, node: Any, name: str) -> str:
        text = "".join(self._inline(child) for child in node)
        if name == "hyperlink":
            relation = self._part.rels.get(node.get(f"{_R}id", ""))
            target = relation.target_ref if relation is not None and relation.is_external else ""
            return f"[{text}]({target})" if target and target != text else text
        if name in ("ins", "moveTo") and text.strip():
            self._reading.inserted.append(f"{node.get(f'{_W}author', 'somebody')}: {text}")
        if name == "r" and text.strip():
            vanish = node.find(f"{_W}rPr/{_W}vanish")
            self._reading.hidden += vanish is not None and vanish.get(f"{_W}val", "true") not in ("0", "false")
        return f"({text})" if name == "rt" else text

    def _drawing(self, node: Any) -> str:
        """What is drawn: the names of pictures; text boxes, charts and diagrams follow the paragraph."""
        drawn, words = self._reading.drawn, []
        described = next((one for one in node.iter() if _name(one) == "docPr"), None)
        alt = (described.get("descr") or described.get("title") or "") if described is not None else ""
        for one in node.iter():
            name, relation = _name(one), one.get(f"{_R}id", "")
            if name in ("txbxContent", "imagedata") and "Fallback" in {_name(above) for above in one.iterancestors()}:
                continue
            if name == "txbxContent" and (inner := _Part(self._part, self._reading).line(one)):
                self._boxes.append(f"[text box] {inner}")
            elif name == "blip":
                words.append(drawn.picture(self._part, one.get(f"{_R}embed", ""), alt, "picture"))
            elif name == "imagedata":
                words.append(drawn.picture(self._part, relation, one.get("title") or alt, "picture"))
            elif name == "chart" and relation:
                self._boxes.append(drawn.chart(self._part, relation))
            elif name == "relIds":
                self._boxes.append(drawn.diagram(self._part, one.getparent()))
            elif name == "OLEObject":
                drawn.others.append(f"an embedded object, {one.get('ProgID', 'of an unknown kind')}")
        return " ".join(filter(None, words))

    def _cells(self, row: Any) -> Iterator[str]:
        for cell in _below(row, "tc"):
            properties = cell.find(f"{_W}tcPr")
            merge = properties.find(f"{_W}vMerge") if properties is not None else None
            span = int(_value(properties, "gridSpan") or 1)
            self._reading.merged += merge is not None or span > 1
            covered = merge is not None and merge.get(f"{_W}val") != "restart"
            yield "" if covered else _Part(self._part, self._reading).line(cell)
            yield from [""] * min(span - 1, 100)


def _below(parent: Any, name: str) -> Iterator[Any]:
    """The rows of a table or the cells of a row, past content controls and tracked insertions."""
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


def _formula(node: Any) -> str:
    """A formula on one line: fractions as `(a)/(b)`, powers as `a^{b}`."""
    name = _name(node)
    if name == "t":
        return node.text or ""
    parts = {_name(child): _formula(child) for child in node}
    inner = parts.get("e", "")
    if name == "f":
        return f"({parts.get('num', '')})/({parts.get('den', '')})"
    if name in ("sSup", "sSub", "sSubSup"):
        sub = f"_{{{parts['sub']}}}" if "sub" in parts else ""
        sup = f"^{{{parts['sup']}}}" if "sup" in parts else ""
        return f"{inner}{sub}{sup}"
    if name == "rad":
        degree = f"[{parts['deg']}]" if parts.get("deg") else ""
        return f"root{degree}({inner})"
    if name == "nary":
        sign = next((c.get(f"{_MATH}val") for c in node.iter(f"{_MATH}chr")), "∫")
        return f"{sign}_{{{parts.get('sub', '')}}}^{{{parts.get('sup', '')}}} {inner}"
    if name == "d":
        return f"({', '.join(_formula(child) for child in node if _name(child) == 'e')})"
    return "".join(_formula(child) for child in node)
