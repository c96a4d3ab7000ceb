"""Word documents: headings, lists with their numbers, tables, notes, comments, text boxes, headers and footers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from agent.files.contents import Contents, ReadLimits, Source, TextContents, in_sections, table
from agent.files.documents.package import Drawn, damage_told, open_package, read_member
from agent.files.problem import damaged, without_package
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from docx.document import Document

_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc")),
    *((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_INSIDE = frozenset(
    {
        *("sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "fldSimple", "ruby", "rubyBase", "rt"),
        *("dir", "bdo", "r", "Choice", "AlternateContent", "oMathPara", "txbxContent"),
    }
)
"""Elements that are nothing but what is in them."""
_SIGNS = {"tab": "\t", "cr": "\n", "noBreakHyphen": "-", "ptab": "\t"}


class Lists:
    """Counts the lists of a document while its paragraphs go by.

    Args:
        numbering: The root of the numbering part; None where there is none.
    """

    def __init__(self, numbering: Any) -> None:
        self._levels: dict[str, dict[int, Any]] = {}
        self._lists: dict[str, tuple[str, dict[int, int]]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[str] = set()
        if numbering is None:
            return
        for abstract in numbering.iter(f"{W}abstractNum"):
            levels = {int(level.get(f"{W}ilvl", 0)): level for level in abstract.iter(f"{W}lvl")}
            self._levels[abstract.get(f"{W}abstractNumId", "")] = levels
        for number in numbering.iter(f"{W}num"):
            starts = {
                int(one.get(f"{W}ilvl", 0)): int(_value(one, "startOverride") or 1)
                for one in number.iter(f"{W}lvlOverride")
                if _value(one, "startOverride")
            }
            self._lists[number.get(f"{W}numId", "")] = (_value(number, "abstractNumId"), starts)

    def mark(self, number: str, level: int) -> str:
        """What stands before the next paragraph of this list: `2.1.`, `b)`, `-`; empty where it is none."""
        abstract, starts = self._lists.get(number, ("", {}))
        levels = self._levels.get(abstract, {})
        if level not in levels:
            return "-" if number not in ("", "0") else ""
        counts = self._counts.setdefault(abstract, {})
        if starts and number not in self._begun:
            counts.update({at: start - 1 for at, start in starts.items()})
        self._begun.add(number)
        counts[level] = counts.get(level, _start(levels[level]) - 1) + 1
        for deeper in [at for at in counts if at > level]:
            del counts[deeper]
        style = _value(levels[level], "numFmt")
        if style in ("bullet", "none"):
            return "-" if style == "bullet" else ""
        text = _value(levels[level], "lvlText")
        for at in range(level + 1):
            value = counts.get(at, _start(levels[at]) if at in levels else 1)
            text = text.replace(f"%{at + 1}", _spelt(value, _value(levels.get(at), "numFmt")))
        return text.strip()


def _start(level: Any) -> int:
    return int(_value(level, "start") or 1)


def _spelt(number: int, style: str) -> str:
    if style in ("lowerLetter", "upperLetter") and number > 0:
        text = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    elif style in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        text = _roman(number)
    else:
        return f"{number:02}" if style == "decimalZero" else str(number)
    return text.upper() if style.startswith("upper") else text


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        text += letters * (number // value)
        number %= value
    return text


@dataclass(slots=True)
class Found:
    """What was found on the way, for the end of the document and for what is told as lost."""

    deleted: list[str] = field(default_factory=list)
    inserted: list[str] = field(default_factory=list)
    hidden: int = 0
    merged: int = 0
    parts: int = 0
    """Other documents that are put in by reference."""


class DocxText:
    """Walks the XML of one part of a document.

    Args:
        part: The part, for its relations.
        levels: Heading levels by style.
        lists: Counts the lists.
        notes: The text of notes by mark: `^1`.
        drawn: Takes what is drawn.
        found: Takes what is found on the way.
        numbered: Lists by style: number and level.
    """

    def __init__(
        self,
        part: Any,
        levels: dict[str, int],
        lists: Lists,
        notes: dict[str, str],
        drawn: Drawn,
        found: Found,
        numbered: dict[str, tuple[str, int]],
    ) -> None:
        self._part, self._levels, self._lists, self._numbered = part, levels, lists, numbered
        self._notes, self._drawn, self._found = notes, drawn, found
        self._called: list[str] = []
        self._boxes: list[str] = []

    def blocks(self, parent: Any) -> Iterator[str]:
        """Paragraphs and tables in order, each followed by the notes and text boxes that it refers to."""
        for child in parent:
            name = _name(child)
            if name == "p":
                yield from self._with_notes(self._paragraph(child))
            elif name == "tbl":
                yield from self._with_notes(self._table(child))
            elif name in _INSIDE:
                yield from self.blocks(child)
            elif name == "altChunk":
                self._found.parts += 1

    def line(self, parent: Any) -> str:
        """All paragraphs in one line, for a note or a cell."""
        return "\n".join(block for block in self.blocks(parent) if block.strip())

    def _with_notes(self, text: str) -> Iterator[str]:
        boxes, self._boxes = self._boxes, []
        called, self._called = self._called, []
        if text.strip():
            yield text
        yield from boxes
        for mark in dict.fromkeys(called):
            yield f"[{mark}]: {self._notes.get(mark, '(missing)')}"

    def _paragraph(self, paragraph: Any) -> str:
        text = "".join(self._inline(child) for child in paragraph).strip(" ")
        properties = paragraph.find(f"{W}pPr")
        style = _value(properties, "pStyle")
        if not text.strip():
            return ""
        mark, depth = self._mark(properties, style)
        level = self._levels.get(style) or _outline(properties)
        if level:
            return f"{'#' * min(level, 6)} {f'{mark} ' if mark.strip('-') else ''}{' '.join(text.split())}"
        return f"{'  ' * depth}{mark} {text}" if mark else text

    def _mark(self, properties: Any, style: str) -> tuple[str, int]:
        listed = properties.find(f"{W}numPr") if properties is not None else None
        number, level = self._numbered.get(style, ("", 0))
        if listed is not None:
            number, level = _value(listed, "numId") or number, int(_value(listed, "ilvl") or level)
        return (self._lists.mark(number, level), level) if number else ("", 0)

    def _inline(self, node: Any) -> str:
        name = _name(node)
        if name in ("del", "moveFrom"):
            self._found.deleted.append(_change(node, "".join(t.text or "" for t in node.iter(f"{W}delText", f"{W}t"))))
            return ""
        if name == "Fallback":
            return ""
        if name in _INSIDE:
            return self._container(node, name)
        if name == "t":
            return node.text or ""
        if name == "hyperlink":
            return self._link(node)
        if name == "br":
            return "\n"
        if name in ("footnoteReference", "endnoteReference", "commentReference"):
            return self._reference(node, name)
        if name in ("drawing", "pict", "object"):
            return self._drawing(node)
        if name == "oMath":
            return _formula(node)
        if name == "sym":
            return _symbol(node)
        return _SIGNS.get(name, "")

    def _container(self, node: Any, name: str) -> str:
        text = "".join(self._inline(child) for child in node)
        if name in ("ins", "moveTo") and text.strip():
            self._found.inserted.append(_change(node, text))
        if name == "r" and text.strip() and _is_hidden(node):
            self._found.hidden += 1
        return f"({text})" if name == "rt" else text

    def _link(self, node: Any) -> str:
        text = "".join(self._inline(child) for child in node)
        relation = self._part.rels.get(node.get(f"{_R}id", ""))
        target = relation.target_ref if relation is not None and relation.is_external else ""
        return f"[{text}]({target})" if target and target != text else text

    def _reference(self, node: Any, name: str) -> str:
        mark = {"footnoteReference": "^", "endnoteReference": "^e", "commentReference": "comment "}[name]
        mark += node.get(f"{W}id", "")
        self._called.append(mark)
        return f"[{mark}]"

    def _drawing(self, node: Any) -> str:
        for content in node.iter(f"{W}txbxContent"):
            if any(_name(above) == "Fallback" for above in content.iterancestors()):
                continue
            inner = self._same().line(content)
            if inner:
                self._boxes.append(f"[text box] {inner}")
        return " ".join(filter(None, self._pictured(node)))

    def _pictured(self, node: Any) -> Iterator[str]:
        described = next((one for one in node.iter() if _name(one) == "docPr"), None)
        alt = (described.get("descr") or described.get("title") or "") if described is not None else ""
        for one in node.iter():
            name = _name(one)
            if name == "blip":
                yield self._drawn.picture(self._part, one.get(f"{_R}embed", ""), alt, "picture")
            elif name == "imagedata" and "Fallback" not in {_name(above) for above in one.iterancestors()}:
                yield self._drawn.picture(self._part, one.get(f"{_R}id", ""), one.get("title") or alt, "picture")
            elif name == "chart" and one.get(f"{_R}id"):
                self._boxes.append(self._drawn.chart(self._part, one.get(f"{_R}id")))
            elif name == "relIds":
                self._boxes.append(self._drawn.diagram(self._part, one.getparent()))
            elif name == "OLEObject":
                self._drawn.others.append(f"an embedded object, {one.get('ProgID', 'of an unknown kind')}")

    def _table(self, node: Any) -> str:
        return table([list(self._cells(row)) for row in _below(node, "tr")])

    def _cells(self, row: Any) -> Iterator[str]:
        for cell in _below(row, "tc"):
            properties = cell.find(f"{W}tcPr")
            merge = properties.find(f"{W}vMerge") if properties is not None else None
            span = int(_value(properties, "gridSpan") or 1)
            if merge is not None or span > 1:
                self._found.merged += 1
            covered = merge is not None and merge.get(f"{W}val") != "restart"
            yield "" if covered else self._cell(cell)
            yield from [""] * min(span - 1, 100)

    def _cell(self, cell: Any) -> str:
        return "\n".join(block for block in self._same().blocks(cell) if block.strip())

    def _same(self) -> DocxText:
        return DocxText(self._part, self._levels, self._lists, self._notes, self._drawn, self._found, self._numbered)


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
    found = parent.find(f"{W}{name}") if parent is not None else None
    return str(found.get(f"{W}val", "")) if found is not None else ""


def _outline(properties: Any) -> int:
    level = _value(properties, "outlineLvl")
    return int(level) + 1 if level.isdigit() and int(level) < 9 else 0


def _is_hidden(run: Any) -> bool:
    properties = run.find(f"{W}rPr")
    vanish = properties.find(f"{W}vanish") if properties is not None else None
    return vanish is not None and vanish.get(f"{W}val", "true") not in ("0", "false")


def _change(node: Any, text: str) -> str:
    return f"{node.get(f'{W}author', 'somebody')}: {text}"


def _symbol(node: Any) -> str:
    code = int(node.get(f"{W}char", "0"), 16)
    return chr(code) if 0x20 <= code < 0xE000 else "•"


def _formula(node: Any) -> str:
    """A formula on one line: fractions as `a/b`, powers as `a^b`."""
    name = _name(node)
    if name == "t":
        return node.text or ""
    parts = {_name(child): _formula(child) for child in node}
    if name == "f":
        return f"({parts.get('num', '')})/({parts.get('den', '')})"
    if name in ("sSup", "sSub", "sSubSup"):
        sub = f"_{{{parts['sub']}}}" if "sub" in parts else ""
        sup = f"^{{{parts['sup']}}}" if "sup" in parts else ""
        return f"{parts.get('e', '')}{sub}{sup}"
    if name == "rad":
        degree = f"[{parts['deg']}]" if parts.get("deg") else ""
        return f"root{degree}({parts.get('e', '')})"
    if name == "nary":
        sign = next((c.get(f"{_MATH}val") for c in node.iter(f"{_MATH}chr")), "∫")
        return f"{sign}_{{{parts.get('sub', '')}}}^{{{parts.get('sup', '')}}} {parts.get('e', '')}"
    if name == "d":
        return f"({', '.join(_formula(child) for child in node if _name(child) == 'e')})"
    return "".join(_formula(child) for child in node)


_MACROS = "application/vnd.ms-word.document.macroEnabled.main+xml"
_TEMPLATE = "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml"


def open_docx(source: Source, limits: ReadLimits) -> Contents:
    """Reads a Word document.

    Raises:
        FileProblem: It is empty, damaged, cut off, encrypted, a bomb, or no Word document.
    """
    with open_package(source, limits, "[Content_Types].xml") as archive, damage_told(source, "a Word document"):
        return _Reading(_opened(source), _application(archive, source)).contents(limits)


def _opened(source: Source) -> Document:
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
    document: Document = part.document
    return document


def _application(archive: ZipFile, source: Source) -> dict[str, Json]:
    """What the program that saved it counted."""
    from lxml import etree  # type: ignore[import-untyped]  # it has no stubs

    if "docProps/app.xml" not in archive.namelist():
        return {}
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(read_member(archive, source, "docProps/app.xml"), parser)
    found = (
        {etree.QName(one).localname: one.text for one in root if isinstance(one.tag, str)} if root is not None else {}
    )
    counted = {"Pages": "pages_when_saved", "Words": "words_when_saved"}
    return {name: int(found[key]) for key, name in counted.items() if str(found.get(key)).isdigit()}


class _Reading:
    """One document on its way to text."""

    def __init__(self, document: Document, counted: dict[str, Json]) -> None:
        self._document, self._counted = document, counted
        self._part: Any = document.part
        self._drawn, self._found = Drawn(), Found()
        self._lists = Lists(self._root("numbering"))
        self._levels, self._numbered = _styles(self._root("styles"))
        self._notes: dict[str, str] = {}

    def contents(self, limits: ReadLimits) -> Contents:
        comments = self._comments()
        for name, mark in (("footnotes", "^"), ("endnotes", "^e")):
            self._notes.update(self._noted(name, mark))
        self._notes.update(comments)
        blocks = list(self._text(self._part).blocks(self._document.element.body))
        headings = [block.split("\n")[0] for block in blocks if block.startswith("#")]
        tables = sum(block.startswith("| ") for block in blocks)
        blocks += [*self._margins(), *self._changes()]
        facts: dict[str, Json] = {
            **_properties(self._document),
            **self._counted,
            "headings": list(headings[:100]),
            "tables": tables,
            "footnotes": sum(mark.startswith("^") for mark in self._notes),
            "comments": len(comments),
            "pictures": len(self._drawn.pictures),
            "tracked_changes": len(self._found.inserted) + len(self._found.deleted),
        }
        sections = in_sections(blocks, limits.section)
        return TextContents("docx", _summary(facts, blocks), sections, facts, self._lost(), self._drawn.pictures)

    def _text(self, part: Any) -> DocxText:
        return DocxText(part, self._levels, self._lists, self._notes, self._drawn, self._found, self._numbered)

    def _related(self, name: str) -> list[Any]:
        """The parts of a kind: `footnotes`, `header`."""
        relations = self._part.rels.values()
        return [r.target_part for r in relations if not r.is_external and r.reltype.endswith(f"/{name}")]

    def _root(self, name: str) -> Any:
        from docx.oxml import parse_xml

        parts = self._related(name)
        return parse_xml(parts[0].blob) if parts else None

    def _noted(self, name: str, mark: str) -> dict[str, str]:
        root, parts = self._root(name), self._related(name)
        if root is None:
            return {}
        walk = self._text(parts[0])
        real = (note for note in root if note.get(f"{W}type", "normal") == "normal")
        return {f"{mark}{note.get(f'{W}id', '')}": walk.line(note).strip() for note in real}

    def _comments(self) -> dict[str, str]:
        root, parts = self._root("comments"), self._related("comments")
        if root is None:
            return {}
        walk = self._text(parts[0])
        found = {}
        for comment in root:
            day = comment.get(f"{W}date", "")[:10]
            said = f"{comment.get(f'{W}author', 'somebody')}{f', {day}' if day else ''}: {walk.line(comment)}"
            found[f"comment {comment.get(f'{W}id', '')}"] = said
        return found

    def _margins(self) -> list[str]:
        """Headers and footers, each text once."""
        from docx.oxml import parse_xml

        lines = []
        for kind in ("header", "footer"):
            texts = [self._text(part).line(parse_xml(part.blob)).strip() for part in self._related(kind)]
            lines += [f"[{kind}] {text}" for text in dict.fromkeys(texts) if text]
        return ["## Headers and footers", *lines] if lines else []

    def _changes(self) -> list[str]:
        deleted = [f"[deleted by {text}]" for text in self._found.deleted if text.partition(": ")[2].strip()]
        inserted = [f"[inserted by {text}]" for text in self._found.inserted]
        return ["## Tracked changes", "\n".join([*deleted, *inserted])] if deleted or inserted else []

    def _lost(self) -> list[str]:
        lost = self._drawn.lost
        if self._found.deleted or self._found.inserted:
            lost.append("The text has tracked changes as if all were accepted; they are listed at its end.")
        if self._found.hidden:
            lost.append("Hidden text is shown like the rest.")
        if self._found.merged:
            lost.append("Some table cells are merged: their text stands in the first of them, the others are empty.")
        if self._found.parts:
            lost.append(f"Not read: {self._found.parts} other document(s) put in by reference.")
        if "application/vnd.ms-office.vbaProject" in {part.content_type for part in self._part.package.iter_parts()}:
            lost.append("Macros are not shown.")
        lost.append("Fonts, colours and page breaks are not shown.")
        return lost


def _styles(root: Any) -> tuple[dict[str, int], dict[str, tuple[str, int]]]:
    """Heading levels and lists by style, inherited ones included."""
    styles = {one.get(f"{W}styleId", ""): one for one in root.iter(f"{W}style")} if root is not None else {}
    levels, numbered = {}, {}
    for name, style in styles.items():
        for one in _ancestry(style, styles):
            level = _level(one)
            if level and name not in levels:
                levels[name] = level
            number = one.find(f"{W}pPr/{W}numPr/{W}numId")
            if number is not None and name not in numbered:
                depth = one.find(f"{W}pPr/{W}numPr/{W}ilvl")
                numbered[name] = (number.get(f"{W}val", ""), int(depth.get(f"{W}val", 0)) if depth is not None else 0)
    return levels, numbered


def _ancestry(style: Any, styles: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    while style is not None and style not in found:
        found.append(style)
        based = style.find(f"{W}basedOn")
        style = styles.get(based.get(f"{W}val", "")) if based is not None else None
    return found


def _level(style: Any) -> int:
    named = style.find(f"{W}name")
    name = named.get(f"{W}val", "").lower() if named is not None else ""
    if name == "title":
        return 1
    if name.startswith("heading ") and name[8:].isdigit():
        return int(name[8:])
    outline = style.find(f"{W}pPr/{W}outlineLvl")
    level = int(outline.get(f"{W}val", 9)) if outline is not None else 9
    return level + 1 if level < 9 else 0


def _properties(document: Document) -> dict[str, Json]:
    known = document.core_properties
    found = {"title": known.title, "author": known.author, "subject": known.subject, "keywords": known.keywords}
    facts: dict[str, Json] = {name: one_line(value, 300) for name, value in found.items() if value}
    for name, moment in (("created", known.created), ("modified", known.modified)):
        if moment:
            facts[name] = moment.isoformat()
    return facts


def _summary(facts: dict[str, Json], blocks: list[str]) -> str:
    words = sum(len(block.split()) for block in blocks)
    title = f" “{facts['title']}”" if facts.get("title") else ""
    counts = ("tables", "footnotes", "comments", "pictures", "tracked_changes")
    has = ", ".join(f"{facts[name]} {name.replace('_', ' ')}" for name in counts if facts.get(name))
    pages = f", {facts['pages_when_saved']} pages when it was saved" if facts.get("pages_when_saved") else ""
    lines = [f"Word document{title} of {words:,} words{pages}.", f"It has {has}." if has else ""]
    return "\n".join(filter(None, lines))
