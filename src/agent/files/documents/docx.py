"""Word documents: headings, lists with their numbers, tables, notes, comments, text boxes, headers and footers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from agent.files.contents import Contents, ReadLimits, Source, TextContents
from agent.files.documents.docx_text import DocxText, Found, Lists, W
from agent.files.documents.drawings import Drawn
from agent.files.documents.markdown import in_sections
from agent.files.documents.package import damage_told, open_package, read_member
from agent.files.problem import damaged, without_package
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from docx.document import Document

_MACROS = "application/vnd.ms-word.document.macroEnabled.main+xml"
_TEMPLATE = "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml"


class DocxReader:
    """Reads docx."""

    kinds = frozenset({"docx"})

    def open(self, source: Source, limits: ReadLimits) -> Contents:
        """Reads a document.

        Raises:
            FileProblem: It is empty, damaged, cut off, encrypted, a bomb, or no Word document.
        """
        with open_package(source, limits, "[Content_Types].xml") as archive, damage_told(source, "a Word document"):
            document = _opened(source)
            return _Reading(document, _application(archive, source)).contents(limits)


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
