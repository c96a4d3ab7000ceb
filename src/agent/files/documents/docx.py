"""Reader of Word documents: headings, numbered lists, tables, notes, comments, text boxes, headers and footers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent.files.contents import (
    Contents,
    FileProblem,
    ReadLimits,
    Source,
    TextContents,
    damaged,
    first_of,
    in_sections,
    table,
)
from agent.files.detection import kind_of
from agent.files.documents.numbering import Lists, W, list_of, name_of, outline_of, styles, value_of
from agent.files.documents.ooxml import Package, Part
from agent.files.documents.package import Drawings
from agent.files.documents.symbols import has_private, is_symbol_font, symbol, symbols
from agent.files.kinds import open_nested

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_SKIPPED = frozenset(
    {
        *("rPr", "pPr", "sectPr", "tblPr", "tblGrid", "trPr", "tcPr", "sdtPr", "sdtEndPr", "smartTagPr", "customXmlPr"),
        *("instrText", "delInstrText", "delText", "ctrlPr", "fldData", "rubyPr"),
        *(
            f"{name}Pr"
            for name in ("f", "rad", "nary", "d", "sSup", "sSub", "sSubSup", "acc", "bar", "m", "func", "limLow")
        ),
    }
)
"""Elements that contain no text of the document. The content of any other unknown element is read."""
_DELETED = ("del", "moveFrom")
_SIGNS = {"tab": "\t", "cr": "\n", "br": "\n", "noBreakHyphen": "-", "ptab": "\t"}
_OFF = ("0", "false", "off")
_LINK = re.compile(r'\s*HYPERLINK\s+(?:\\l\s+)?"([^"]+)"(?:.*\\o\s+"([^"]+)")?')
_ENTRY = re.compile(r"\s*(?:XE|TC|TA)\s+(.+)")
_SILENT_FIELD = re.compile(r"\s*(FORM|HYPERLINK|PAGE|NUMPAGES|TOC|SET|$)")
"""Codes of fields that show no result."""
_FORMULAS = {
    "f": "({num})/({den})",
    "sSup": "{e}^({sup})",
    "sSub": "{e}_({sub})",
    "sSubSup": "{e}_({sub})^({sup})",
    "rad": "√^({deg})({e})",
    "nary": "{n}_({sub})^({sup}) {e}",
    "d": "{open}{all}{close}",
}
_REFERENCES = {"footnoteReference": "^", "endnoteReference": "^e", "commentReference": "comment "}
_STRUCK_ON = re.compile(r"(?<=[^~])~~~~(?=[^~])")
"""The marks between two adjacent runs that are struck through."""


def open_docx(source: Source, limits: ReadLimits) -> Contents:
    """Read a Word document."""
    with Package(source, limits) as package:
        part = package.main("word/document.xml")
        body = part.root.find(f"{W}body")
        if body is None:
            raise damaged(source.name, "docx", "its main part is not a Word document")
        return _read(package, part, limits, source.depth)


def _read(package: Package, part: Part, limits: ReadLimits, depth: int) -> Contents:
    reading = _Reading(part, limits, depth)
    blocks = reading.blocks()
    counts = {
        "tables": sum(block.startswith("| ") for block in blocks),
        "footnotes": sum(mark.startswith("^") for mark in reading.notes),
        "comments": sum(mark.startswith("comment") for mark in reading.notes),
        "pictures": len(reading.drawings.pictures),
        "tracked changes": len(reading.changes),
    }
    title = f" “{given}”" if (given := package.properties().get("title")) else ""
    summary = f"Word document{title} of {sum(len(block.split()) for block in blocks):,} words."
    summary += package.described()
    if has := [f"{count} {name}" for name, count in counts.items() if count]:
        summary += f"\nIt has {', '.join(has)}."
    sections = in_sections(blocks, limits.section)
    return TextContents(
        "docx", summary, sections, lost=[*reading.lost(), *package.unread()], data=reading.drawings.pictures
    )


class _Reading:
    """The state of reading a document, shared by its parts."""

    def __init__(self, part: Any, limits: ReadLimits, depth: int) -> None:
        self._part, self.limits, self.depth = part, limits, depth
        self.drawings = Drawings()
        self.lists = Lists([one for _, root in self._roots("numbering") for one in root])
        self.levels, self.numbered = styles([one for _, root in self._roots("styles") for one in root])
        """The heading level of each style, and the number and level of its list."""
        self.notes: dict[str, str] = {}
        """Text of notes and comments by mark, such as `^1`."""
        self.called: set[str] = set()
        """Marks of notes and comments that the text refers to."""
        self.changes: list[str] = []
        self.remarks: list[str] = []
        self.listed = defaultdict[str, list[str]](list)
        """Texts that are listed in notes about the reading, by topic."""

    def blocks(self) -> list[str]:
        """Return all paragraphs and tables, then headers and footers, then tracked changes."""
        for name, mark in (("comments", "comment "), ("footnotes", "^"), ("endnotes", "^e")):
            for part, root in self._roots(name):
                for note in root:
                    if note.get(f"{W}type", "normal") == "normal":
                        details = [note.get(f"{W}author", ""), note.get(f"{W}date", "")[:10]]
                        by = f"{', '.join(filter(None, details))}: " if any(details) else ""
                        self.notes[f"{mark}{note.get(f'{W}id', '')}"] = by + _Part(part, self).line(note).strip()
        blocks = list(_Part(self._part, self).blocks(self._part.root.find(f"{W}body")))
        if left := [f"[{mark}]: {text}" for mark, text in self.notes.items() if mark not in self.called and text]:
            blocks += ["## Notes and comments without a place in the text", *left]
        margins = dict.fromkeys(
            f"[{kind}] {text}"
            for kind in ("header", "footer")
            for part, root in self._roots(kind)
            if (text := _Part(part, self).line(root).strip())
        )
        blocks += ["## Headers and footers", *margins] if margins else []
        return [*blocks, "## Tracked changes", "\n".join(self.changes)] if self.changes else blocks

    def lost(self) -> list[str]:
        """Sentences about content that the text leaves out."""
        changes = ["The text shows all tracked changes as accepted; the changes are listed at the end."]
        return [
            *self.drawings.lost,
            *(changes if self.changes else []),
            *dict.fromkeys(self.remarks),
            *(f"{what}: {first_of(list(dict.fromkeys(texts)), 20)}." for what, texts in self.listed.items()),
            "Fonts, colours, macros, page breaks, changes of format, separators of notes, names of bookmarks, "
            "form fields and controls, codes of fields, tags and settings are not shown.",
        ]

    def _roots(self, name: str) -> list[tuple[Any, Any]]:
        """Return the parts of a kind, such as `footnotes`, each with the root of its XML."""
        return [(part, part.root) for part in self._part.parts(name)]


@dataclass(slots=True)
class _Field:
    code: str = ""
    is_separated: bool = False
    has_result: bool = False


class _Part:
    """Walks through the XML of one part of a document, such as the body, a note or a header."""

    def __init__(self, part: Any, reading: _Reading) -> None:
        self._part, self._reading = part, reading
        self._called: list[str] = []
        self._boxes: list[str] = []
        self._fields: list[_Field] = []
        """The stack of open fields."""

    def blocks(self, parent: Any) -> Iterator[str]:
        """Yield paragraphs and tables in order, each followed by its text boxes and the notes that it refers to."""
        joined = ""
        for child in parent:
            name = name_of(child)
            if name in ("p", "tbl"):
                text = joined + (table(self._rows(child)) if name == "tbl" else self._paragraph(child))
                joined = ""
                if name == "p" and child.find(f"{W}pPr/{W}rPr/{W}del") is not None:
                    joined = text  # the paragraph mark is deleted, so the next paragraph continues this one
                    continue
                boxes, self._boxes = self._boxes, []
                called, self._called = self._called, []
                if text.strip():
                    yield text
                yield from boxes
                self._reading.called.update(called)
                for mark in dict.fromkeys(called):
                    yield f"[{mark}]: {self._reading.notes.get(mark, '(missing)')}"
            elif name in _DELETED:
                self._changed("deleted", child, _all_text(child))
            elif name == "AlternateContent":
                yield from next((shown for version in child if (shown := list(self.blocks(version)))), [])
            elif name == "altChunk":
                yield from self._chunk(child.get(f"{_R}id"))
            elif name == "subDoc":
                self._reading.remarks.append(f"The subdocument {self._part.address(child.get(f'{_R}id'))} is not read.")
            elif name not in _SKIPPED:
                yield from self.blocks(child)
        if joined.strip():
            yield joined

    def _chunk(self, relation: str | None) -> Iterator[str]:
        """Return an embedded text in another format, such as HTML. If it cannot be read, save it as a file."""
        related, reading = self._part.related(relation), self._reading
        if related is not None and reading.depth < reading.limits.depth:
            with TemporaryDirectory() as folder:
                path = Path(folder) / related.name.rpartition("/")[2]
                path.write_bytes(related.content)
                try:
                    source = Source(path, kind_of(path), depth=reading.depth + 1)
                    with open_nested(source, reading.limits, reading.remarks) as opened:
                        texts = [section.text for section in opened.sections()]
                        for saved in opened.save_data(Path(folder)):
                            kept = reading.drawings.named(saved.read_bytes(), saved.suffix[1:], "part")
                            texts = [text.replace(f"[picture {saved.name}", f"[picture {kept}") for text in texts]
                    yield from texts
                    return
                except FileProblem as problem:
                    reading.remarks.append(problem.message)
        yield reading.drawings.embedded(self._part, relation, "a part of the text", "text")

    def _rows(self, child: Any) -> list[list[str]]:
        """Return the rows of a table with all changes accepted, then its title and description."""
        texts = [value_of(child.find(f"{W}tblPr"), name) for name in ("tblCaption", "tblDescription")]
        self._boxes += [f"[alt text: {text}]" for text in texts if text]
        rows = []
        for row in _below(child, "tr"):
            gone, added = (row.find(f"{W}trPr/{W}{mark}") for mark in ("del", "ins"))
            if gone is not None:
                cells = [" ".join(_all_text(cell).split()) for cell in _below(row, "tc")]
                self._changed("row deleted", gone, " | ".join(cells))
                continue
            rows.append(list(self._cells(row)))
            if added is not None:
                self._changed("row inserted", added, " | ".join(filter(None, rows[-1])))
        return [row for row in rows if row]

    def _changed(self, what: str, node: Any, text: str) -> None:
        if text.strip():
            self._reading.changes.append(f"[{what} by {node.get(f'{W}author')}: {text.strip()}]")

    def line(self, parent: Any) -> str:
        """Return all paragraphs, one per line, for a note or a cell."""
        return "\n".join(block for block in self.blocks(parent) if block.strip())

    def _paragraph(self, paragraph: Any) -> str:
        text = "".join(self._inline(child) for child in paragraph)
        text = _STRUCK_ON.sub("", text).strip(" ")
        if not text.strip():
            return ""
        properties = paragraph.find(f"{W}pPr")
        style = value_of(properties, "pStyle")
        number, depth = list_of(properties, *self._reading.numbered.get(style, ("", 0)))
        mark = self._reading.lists.mark(number, depth) if number else ""
        if level := self._reading.levels.get(style) or outline_of(properties):
            return f"{'#' * min(level, 6)} {f'{mark} ' if mark.strip('-') else ''}{' '.join(text.split())}"
        return f"{'  ' * depth}{mark} {text}" if mark else text

    def _inline(self, node: Any) -> str:
        name, reading = name_of(node), self._reading
        if name == "t":
            return self._text(node)
        if name in _DELETED:
            self._changed("deleted" if name == "del" else "moved from here", node, _all_text(node))
            return ""
        if name in _REFERENCES:
            self._called.append(_REFERENCES[name] + node.get(f"{W}id", ""))
            return f"[{self._called[-1]}]"
        if name in ("drawing", "pict", "object"):
            return self._drawing(node)
        if name == "sym":
            return symbol(int(node.get(f"{W}char") or "0", 16), node.get(f"{W}font") or "")
        if name in ("fldChar", "instrText"):
            return self._field(node, name)
        if name == "AlternateContent":
            return self._chosen_content(node)
        if name == "oMath":
            reading.remarks.append(
                "Formulas are shown on one line, with fractions, powers and roots as `(a)/(b)`, `x^(2)`."
            )
        if name in _SIGNS or name in _SKIPPED:
            return _SIGNS.get(name, "")
        return self._formula(node, name) or self._container(node, name)

    def _chosen_content(self, node: Any) -> str:
        """Return the first of several alternative versions that has text or a picture."""
        boxes = len(self._boxes)
        for version in node:
            if (text := self._inside(version)) or len(self._boxes) > boxes:
                return text
        return ""

    def _inside(self, node: Any) -> str:
        return "".join(self._inline(child) for child in node)

    def _text(self, node: Any) -> str:
        text, run = node.text or "", node.getparent()
        for field in self._fields:
            field.has_result |= field.is_separated and bool(text)
        fonts = run.find(f"{W}rPr/{W}rFonts")
        font = fonts.get(f"{W}ascii") or fonts.get(f"{W}hAnsi") if fonts is not None else ""
        if is_symbol_font(font) or has_private(text):
            text = symbols(text, font or "")
        return text

    def _field(self, node: Any, name: str) -> str:
        """Return the state of a form field, the address of a link, or the code of a field without a saved result."""
        kind = node.get(f"{W}fldCharType")
        if kind == "begin":
            self._fields.append(_Field())
            return self._form(node)
        if not self._fields:
            return ""
        field = self._fields[-1]
        if name == "instrText":
            field.code += node.text or ""
        elif kind == "separate":
            field.is_separated = True
        elif kind == "end":
            self._fields.pop()
            return self._ended(field.code, field.has_result)
        return ""

    def _ended(self, code: str, has_result: bool) -> str:
        if link := _LINK.match(code):
            targets = [one for one in link.groups() if one and not one.startswith("_")]
            return f" ({', '.join(targets)})" if targets else ""
        if entry := _ENTRY.match(code):
            self._reading.listed["Entries of an index"].append(entry[1].strip())
            return ""
        return "" if has_result or _SILENT_FIELD.match(code) else f"[field {' '.join(code.split())}]"

    def _form(self, node: Any) -> str:
        box, choice = node.find(f".//{W}checkBox"), node.find(f".//{W}ddList")
        if box is not None:
            states = [box.find(f"{W}{state}") for state in ("checked", "default")]
            state = next((one for one in states if one is not None), None)
            return "☒" if state is not None and state.get(f"{W}val", "1") not in _OFF else "☐"
        if choice is not None:
            entries = [one.get(f"{W}val", "") for one in choice.iterfind(f"{W}listEntry")]
            chosen = value_of(choice, "result") or value_of(choice, "default") or "0"
            return self._chosen(entries, entries[int(chosen)] if int(chosen) < len(entries) else "")
        return ""

    def _chosen(self, entries: list[str], chosen: str) -> str:
        if others := [entry for entry in entries if entry != chosen]:
            self._reading.remarks.append(
                f"Not chosen in a list{f' with {chosen}' if chosen else ''}: {', '.join(others)}."
            )
        return chosen

    def _formula(self, node: Any, name: str) -> str:
        """Return fractions, powers and roots of a formula in linear form."""
        parts = {name_of(child): self._inside(child) for child in node} if name in _FORMULAS else {}
        if not parts:
            return ""
        sign = node.find("{*}naryPr/{*}chr")
        shown = "∫" if sign is None else next((v for k, v in sign.items() if k.endswith("val")), "")
        ends = {name_of(one): next(iter(one.values()), "") for one in node.iterfind("{*}dPr/*")}
        fields = defaultdict(str, parts, n=shown, open=ends.get("begChr", "("), close=ends.get("endChr", ")"))
        inner = self._inside(node)
        fields["all"] = inner
        return _FORMULAS[name].format_map(fields).replace("^()", "").replace("_()", "")

    def _container(self, node: Any, name: str) -> str:
        if name == "ruby":
            return "{rubyBase}({rt})".format(
                **({"rubyBase": "", "rt": ""} | {name_of(one): self._inside(one) for one in node})
            )
        text = self._inside(node)
        if name == "p":  # a paragraph inside an unknown element
            text += "\n"
        if name == "sdt":
            listed = node.iterfind(f"{W}sdtPr/*/{W}listItem")
            entries = [one.get(f"{W}displayText") or one.get(f"{W}value", "") for one in listed]
            self._chosen(entries, text.strip())
            if text.strip() and node.find(f"{W}sdtPr/{W}showingPlcHdr") is not None:
                self._reading.listed["Placeholders of controls that nobody filled in"].append(text.strip())
        if name == "fldSimple" and not text:
            return self._ended(node.get(f"{W}instr", ""), has_result=False)
        if name == "hyperlink":
            anchor, tip = (node.get(f"{W}{key}", "") for key in ("anchor", "tooltip"))
            target = self._part.address(node.get(f"{_R}id", "")) or (f"#{anchor}" if not anchor.startswith("_") else "")
            target = " ".join(one for one in (target.removesuffix("#"), f'"{tip}"' if tip else "") if one)
            return f"[{text}]({target})" if target and target != text else text
        if name in ("ins", "moveTo") and text.strip():
            self._changed("inserted" if name == "ins" else "moved to here", node, text)
        if name == "r" and text.strip() and node.find(f"{W}rPr/{W}vanish") is not None:
            self._reading.remarks.append("Hidden text is shown like the rest.")
        if name == "r" and text.strip():
            marks = [node.find(f"{W}rPr/{W}{mark}") for mark in ("strike", "dstrike")]
            if any(mark is not None and mark.get(f"{W}val") not in _OFF for mark in marks):
                return f"~~{text}~~"
        return text

    def _drawing(self, node: Any) -> str:
        """Return the names of pictures. Text boxes, charts and diagrams are stored until the paragraph ends."""
        drawings, words = self._reading.drawings, []
        alt = ": ".join(text for one in node.iter("{*}docPr") for key in ("title", "descr") if (text := one.get(key)))
        for one in node.iter():
            name, relation = name_of(one), one.get(f"{_R}id", "")
            if name in ("txbxContent", "imagedata") and _is_repeated(one):
                continue
            if name == "txbxContent" and (inner := _Part(self._part, self._reading).line(one)):
                self._boxes.append(f"[text box] {inner}")
            elif name == "blip":
                words.append(drawings.picture(self._part, one.get(f"{_R}embed", ""), alt, "picture"))
            elif name == "imagedata":
                words.append(drawings.picture(self._part, relation, one.get("title") or alt, "picture"))
            elif name == "chart" and (relation or one.get("id")):
                self._boxes.append(drawings.chart(self._part, relation))
            elif name == "relIds":
                self._boxes.append(drawings.diagram(self._part, one.getparent()))
            elif name == "textpath" and one.get("string"):
                self._boxes.append(f"[text box] {one.get('string')}")
            elif name == "OLEObject":
                words.append(drawings.embedded(self._part, relation, one.get("ProgID") or "of an unknown kind", "file"))
            elif name == "hlinkClick":
                details = (self._part.address(relation), one.get("tooltip", ""))
                words.append(f"[link: {' '.join(filter(None, details))}]" if any(details) else "")
            elif name == "control":
                drawings.others.append(f"a form control, {one.get(f'{W}name') or 'without a name'}")
        alts = dict.fromkeys([alt, *(one.get("alt", "") for one in node.iter("{urn:schemas-microsoft-com:vml}*"))])
        words += [f"[alt text: {alt}]" for alt in alts if alt and not any(alt in one for one in words)]
        return " ".join(filter(None, words))

    def _cells(self, row: Any) -> Iterator[str]:
        for cell in _below(row, "tc"):
            properties = cell.find(f"{W}tcPr")
            merge = properties.find(f"{W}vMerge") if properties is not None else None
            gone = properties.find(f"{W}cellDel") if properties is not None else None
            if gone is not None:
                self._changed("cell deleted", gone, _all_text(cell))
                continue
            added = properties.find(f"{W}cellIns") if properties is not None else None
            if added is not None:
                self._changed("cell inserted", added, _all_text(cell))
            span = int(value_of(properties, "gridSpan") or 1)
            if merge is not None or span > 1:
                self._reading.remarks.append("Some table cells are merged: their text is in the first cell.")
            covered = merge is not None and merge.get(f"{W}val") != "restart"
            yield "" if covered else _Part(self._part, self._reading).line(cell)
            yield from [""] * min(span - 1, 100)


def _below(parent: Any, name: str) -> Iterator[Any]:
    """Yield the rows of a table or the cells of a row, including those in content controls and insertions."""
    for child in parent:
        if name_of(child) == name:
            yield child
        elif name_of(child) not in _SKIPPED and name_of(child) != "tbl":
            yield from _below(child, name)


def _all_text(node: Any) -> str:
    """Return the text of all paragraphs, including deleted ones, one per line."""
    lines = ("".join(t.text or "" for t in one.iter(f"{W}t", f"{W}delText")) for one in _paragraphs_of(node))
    return "\n".join(line for line in dict.fromkeys(lines) if line.strip())


def _is_repeated(node: Any) -> bool:
    """Return True if a node is in the older version of a drawing, and the newer version has text or a picture."""
    older = next((one for one in node.iterancestors() if name_of(one) == "Fallback"), None)
    newer = older.getprevious() if older is not None else None
    return newer is not None and next(newer.iter("{*}txbxContent", "{*}blip"), None) is not None


def _paragraphs_of(node: Any) -> list[Any]:
    return list(node.iter(f"{W}p")) or [node]
