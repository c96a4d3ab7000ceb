"""Reader of OpenDocument texts and slides; also reads comments and objects of spreadsheets."""

from __future__ import annotations

import posixpath
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from agent.files.contents import (
    Contents,
    ReadLimits,
    Section,
    Source,
    TextContents,
    damaged,
    first_of,
    in_sections,
    locked,
    table,
)
from agent.files.documents.elements import author_of, children, count_in, dates_in, get, name_of, spaced, within
from agent.files.documents.numbering import spelt
from agent.files.documents.package import Drawings, open_package, parse_xml
from mcp_tools.text import one_line

_MOST_REPEATED = 100
_SILENT = re.compile(
    r"mimetype|META-INF/manifest\.xml|manifest\.rdf|(.*/)?(settings\.xml|layout-cache)|.*/"
    r"|(.*/)?(Thumbnails|Configurations2|ObjectReplacements|Fonts)/.*|.*/(meta|styles)\.xml"
)
"""Names of members without text."""
_WORDS = (
    (r"(Basic|Scripts|Dialogs)/.*", "macros"),
    (r"META-INF/.*", "signatures and keys"),
    (r"(.*/)?Pictures/.*", "pictures"),
    (r"(Media|.*\.(mp3|mp4|wav|ogg|avi)).*", "audio and video"),
)
_NUMBERS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_WITHOUT_TEXT = frozenset(
    {
        *("text:tracked-changes", "office:annotation-end", "svg-compatible:title", "svg-compatible:desc"),
        *("office:event-listeners", "text:script", "presentation:notes", "office:forms", "text:note-citation"),
    }
)
"""Elements whose text does not belong where they occur."""


def open_odt(source: Source, limits: ReadLimits) -> Contents:
    """Read a text document."""
    with open_package(source, limits) as archive:
        reading = DocumentReading(source, archive)
        body = reading.body("text")
        blocks = list(reading.blocks(body))
        if margins := reading.margins():
            blocks += ["## Headers and footers", *margins]
        if reading.changes:
            blocks += ["## Tracked changes", "\n".join(reading.changes)]
            reading.remarks.append("The text shows all tracked changes as accepted; the changes are listed at the end.")
        words = sum(len(block.split()) for block in blocks)
        summary = f"OpenDocument text{reading.title()} of {words:,} words.{reading.described()}"
        lost = [*reading.lost(), "Fonts, colours and page breaks are not shown."]
        sections = in_sections(blocks, limits.section)
        return TextContents("odt", summary, sections, lost=lost, data=reading.drawings.pictures)


def open_odp(source: Source, limits: ReadLimits) -> Contents:
    """Read slides, or the pages of a drawing."""
    with open_package(source, limits) as archive:
        reading = DocumentReading(source, archive)
        body = reading.body("presentation", "drawing")
        sections, count = list[Section](), 0
        for count, page in enumerate(children(body, "draw:page"), 1):
            name = f"slide {count}{' (hidden)' if get(page, 'style-name') in reading.hidden else ''}"
            sections += in_sections(reading.slide(page) or ["(an empty slide)"], limits.section, name)
        declared = [
            f"[{kind}] {text}"
            for kind in ("header", "footer", "date-time")
            for one in children(body, f"presentation:{kind}-decl")
            if (text := "".join(one.itertext()).strip())
        ]
        shared = [*reading.margins(), *declared]
        if shared:
            sections.append(Section("master slides", "[on slides, by their master]\n" + "\n".join(shared)))
        summary = f"OpenDocument slides{reading.title()}: {count}.{reading.described()}"
        lost = [*reading.lost(), "Positions, colours and animations are not in the text."]
        return TextContents(source.kind, summary, sections, lost=lost, data=reading.drawings.pictures)


class DocumentReading:
    """The state of reading a document."""

    def __init__(self, source: Source, archive: ZipFile) -> None:
        self._source, self._archive = source, archive
        self._names, self._read = frozenset(archive.namelist()), set[str]()
        self.drawings, self.changes, self.remarks = Drawings(), list[str](), list[str]()
        if "META-INF/manifest.xml" in self._names and b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise locked(source.name)
        self._folder = ""
        self.content = parse_xml(self._member("content.xml"))
        self._styles = self._part("styles.xml")
        self._meta = self._part("meta.xml")
        self._counts = Counter[str]()
        self._after: list[str] = []
        """Text boxes, notes and comments to be shown after the current paragraph."""
        self._inserted: dict[str, list[str]] = {}
        """The text of the open insertions, by id."""
        self._numbered: dict[tuple[str, int], Any] = {}
        self.hidden, self._struck, self._titles = set[str](), set[str](), {"Title"}
        for root in (self.content, self._styles):
            self._learn(root)

    def _learn(self, root: Any) -> None:
        """Collect the styles of hidden text, struck-through text, titles and lists."""
        for style in root.iter("{*}style"):
            name = get(style, "name")
            if any(get(one, "display") == "none" or get(one, "visibility") == "hidden" for one in style):
                self.hidden.add(name)
            if any(get(one, "text-line-through-style") not in ("", "none") for one in style):
                self._struck.add(name)
            if get(style, "parent-style-name") in self._titles:
                self._titles.add(name)
        for style in root.iter("{*}list-style"):
            for level in style:
                self._numbered[get(style, "name"), count_in(level, "level")] = level

    def body(self, *names: str) -> Any:
        """Return the element with the content of the document.

        Raises:
            FileProblem: The document is of another kind.
        """
        for one in self.content.iterfind("{*}body/*"):
            if name_of(one) in [f"office:{name}" for name in names]:
                return one
        raise damaged(self._source.name, self._source.kind, "its content has another type")

    def lost(self) -> list[str]:
        """Return sentences about content that the text leaves out."""
        kinds: dict[str, list[str]] = {}
        for name in sorted(self._names - self._read):
            if not _SILENT.fullmatch(name):
                what = next((words for pattern, words in _WORDS if re.fullmatch(pattern, name)), "other parts")
                kinds.setdefault(what, []).append(name)
        listed = "; ".join(f"{what} ({first_of(names, 5)})" for what, names in kinds.items())
        return [*self.drawings.lost, *dict.fromkeys(self.remarks), *([f"Not read: {listed}."] if listed else [])]

    def title(self) -> str:
        """Return the title in quotes, for the summary."""
        found = next(self._meta.iter("{*}title"), None)
        return f" “{one_line(found.text, 300)}”" if found is not None and found.text else ""

    def described(self) -> str:
        """Return a line with the author, the subject and other properties, including those that users added."""
        named = ((get(one, "name") or name_of(one).rpartition(":")[2], one.text) for one in self._meta.iterfind("*/*"))
        left_out = ("title", "generator", "editing-cycles", "editing-duration", "document-statistic")
        listed = "; ".join(f"{name} {text}" for name, text in named if text and name not in left_out)
        return f"\nProperties: {one_line(listed, 1000)}." if listed else ""

    def margins(self) -> list[str]:
        """Return the texts of headers, footers and master slides, each once."""
        found = []
        for page in self._styles.iter("{*}master-page"):
            for one in page:
                what = name_of(one)
                if what.startswith("style:"):
                    kind = "header" if "header" in what else "footer"
                    found += [f"[{kind}] {text}" for text in [self.line(one)] if text]
                elif what.startswith("draw:") and get(one, "placeholder") != "true" and not get(one, "class"):
                    found += self.drawn(one)
                elif what == "presentation:notes":
                    found += [f"[notes] {text}" for text in [self.line(one)] if text]
        return list(dict.fromkeys(found))

    def slide(self, page: Any) -> list[str]:
        """Yield the blocks of a slide: title, shapes, comments, notes."""
        shapes = [one for one in page if get(one, "class") == "title"]
        titles = [self.line(one) for one in shapes]
        blocks = [f"## {one_line(text, 300)}" for text in titles if text]
        rest = [one for one in page if one not in shapes]
        blocks += self.blocks(rest)
        for notes in children(page, "presentation:notes"):
            if text := "\n".join(self.blocks(one for one in notes if name_of(one) != "draw:page-thumbnail")).strip():
                blocks.append(f"[speaker notes] {text}")
        return blocks

    def blocks(self, parent: Iterable[Any]) -> Iterator[str]:
        """Yield paragraphs, list items, tables and drawings, each followed by the boxes and notes anchored in it."""
        for child in parent:
            name = name_of(child)
            if name in ("text:p", "text:h", "table:table"):
                text = table(self._rows(child)) if name == "table:table" else self._paragraph(child, name)
                after, self._after = self._after, []
                yield from (block for block in (text, *after) if block.strip())
            elif name == "text:list":
                yield from self._list(child)
            elif name == "office:forms":
                yield from self._controls(child)
            elif name == "text:tracked-changes":
                self._deletions(child)
            elif name == "office:annotation":
                yield f"[comment] {self.note(child)}"
            elif name.startswith(("draw:", "dr3d:")):
                yield from self.drawn(child)
            elif name not in _WITHOUT_TEXT:
                if get(child, "display") in ("none", "condition"):
                    self.remarks.append("Hidden text is shown like the rest.")
                yield from self.blocks(child)

    def line(self, parent: Iterable[Any]) -> str:
        """Return all blocks, one per line, for a note or a cell."""
        after, self._after = self._after, []
        text = "\n".join(self.blocks(parent))
        self._after = after
        return text.strip()

    def _paragraph(self, node: Any, name: str) -> str:
        text = self._styled(node, self._inside(node)).strip(" ")
        for kept in self._inserted.values():
            kept.append("\n")
        if text.strip() and (name == "text:h" or get(node, "style-name") in self._titles):
            level = min(count_in(node, "outline-level"), 6)
            return f"{'#' * level} {' '.join(text.split())}"
        return text

    def _styled(self, node: Any, text: str) -> str:
        """Return the text with marks for its style, such as a heading."""
        if not text.strip():
            return text
        if get(node, "style-name") in self.hidden:
            self.remarks.append("Hidden text is shown like the rest.")
        return f"~~{text}~~" if get(node, "style-name") in self._struck else text

    def _list(self, node: Any, outer: tuple[str, ...] = (), style: str = "") -> Iterator[str]:
        style = get(node, "style-name") or style
        depth = len(outer)
        level = self._numbered.get((style, depth + 1))
        key = f"{depth} {style}"
        if not (get(node, "continue-numbering") == "true" or get(node, "continue-list")):
            self._counts[key] = (count_in(level, "start-value") if level is not None else 1) - 1
        for item in node:
            number, mark = "", ""
            if name_of(item) == "text:list-item":
                self._counts[key] += 1
                if get(item, "start-value"):
                    self._counts[key] = count_in(item, "start-value")
                form = get(level, "num-format") if level is not None else ""
                number = spelt(self._counts[key], _NUMBERS.get(form, "decimal"))
                mark = "- "
                if form:
                    shown = [*outer, number][-count_in(level, "display-levels") :]
                    mark = f"{get(level, 'num-prefix')}{'.'.join(shown)}{get(level, 'num-suffix')} "
            for child in item:
                if name_of(child) == "text:list":
                    yield from self._list(child, (*outer, number), style)
                    continue
                for block in self.blocks([child]):
                    yield f"{'  ' * depth}{mark}{block}"
                    mark = ""

    def _rows(self, node: Any) -> list[list[str]]:
        rows = []
        for row in within(node, "table:table-row"):
            cells: list[str] = []
            for cell in row:
                count = min(count_in(cell, "number-columns-repeated"), _MOST_REPEATED)
                cells += [self.line(cell)] * count
                if any(get(cell, f"number-{way}-spanned") not in ("", "1") for way in ("rows", "columns")):
                    self.remarks.append("Some table cells are merged: their text is in the first cell.")
            rows += [cells] * min(count_in(row, "number-rows-repeated"), _MOST_REPEATED)
        while rows and not any(rows[-1]):
            rows.pop()
        width = max((n for row in rows for n, cell in enumerate(row, 1) if cell), default=0)
        return [row[:width] for row in rows]

    def _say(self, text: str | None) -> str:
        for kept in self._inserted.values():
            kept.append(text or "")
        return text or ""

    def _inside(self, node: Any) -> str:
        """Return the text in an element. White space collapses as in HTML."""
        text = self._say(spaced(node.text))
        for child in node:
            text += self._inline(child) + self._say(spaced(child.tail))
        return text

    def _inline(self, node: Any) -> str:
        name = name_of(node)
        if name in ("text:s", "text:tab", "text:line-break"):
            count = min(count_in(node, "c"), 1000)
            return self._say({"text:s": " " * count, "text:tab": "\t"}.get(name, "\n"))
        if name == "text:note":
            return self._noted(node)
        if name == "office:annotation":
            self._counts["comment"] += 1
            mark = f"[comment {self._counts['comment']}]"
            self._after.append(f"{mark}: {self.note(node)}")
            return mark
        if name.startswith("text:change"):
            return self._changed(name, get(node, "change-id"))
        if name.startswith(("draw:", "dr3d:")) and name != "draw:a":
            blocks = list(self.drawn(node))
            pictures = [block for block in blocks if block.startswith("[picture") and "\n" not in block]
            self._after += [block for block in blocks if block not in pictures]
            return " ".join(pictures)
        if not name or name in _WITHOUT_TEXT:
            return ""
        return self._field(node, name)

    def _field(self, node: Any, name: str) -> str:
        """Return the text of a link, field or span."""
        text = self._inside(node)
        if name in ("text:a", "draw:a"):
            target = get(node, "href")
            return f"[{text}]({target})" if target and target != text else text
        if name == "text:ruby-text":
            return f"({text})"
        if name in ("text:hidden-text", "text:hidden-paragraph"):
            self.remarks.append("Hidden text is shown like the rest.")
            return text or get(node, "string-value")
        if name == "text:conditional-text":
            versions = [get(node, f"string-value-if-{state}") for state in ("true", "false")]
            self._not_shown("Another version of a conditional text", [one for one in versions if one != text])
        if name == "text:drop-down":
            entries = [get(one, "value") for one in node.iter("{*}label")]
            self._not_shown("Not chosen in a list", [one for one in entries if one != text])
        if name.endswith("-mark") or name.endswith("-mark-start"):
            self._not_shown("An entry of an index", [get(node, "string-value")])
        return self._styled(node, text)

    def _not_shown(self, what: str, texts: list[str]) -> None:
        if named := ", ".join(filter(None, texts)):
            self.remarks.append(f"{what}: {named}.")

    def _noted(self, node: Any) -> str:
        kind = "e" if get(node, "note-class") == "endnote" else ""
        self._counts[f"^{kind}"] += 1
        mark = f"[^{kind}{self._counts[f'^{kind}']}]"
        body = next(node.iter("{*}note-body"), ())
        self._after.append(f"{mark}: {self.line(body)}")
        return mark

    def note(self, node: Any) -> str:
        """Return a comment with its author and date."""
        text = self.line(one for one in node if name_of(one) not in ("creator", "date"))
        details = [*(("".join(one.itertext())) for one in node.iter("{*}creator")), *dates_in(node)]
        return f"{', '.join(details)}: {text}" if details else text

    def _changed(self, name: str, identifier: str) -> str:
        if name == "text:change-start":
            self._inserted[identifier] = []
        elif name == "text:change-end" and identifier in self._inserted:
            text = "".join(self._inserted.pop(identifier)).strip()
            region = next((one for one in self.content.iter("{*}changed-region") if identifier in one.values()), None)
            if text and region is not None and next(region.iter("{*}insertion"), None) is not None:
                self.changes.append(f"[inserted by {author_of(region)}: {text}]")
        return ""

    def _deletions(self, node: Any) -> None:
        for one in node.iter("{*}deletion"):
            if text := self.line(child for child in one if name_of(child) != "office:change-info"):
                self.changes.append(f"[deleted by {author_of(one)}: {text}]")

    def _controls(self, node: Any) -> Iterator[str]:
        """Return form controls with their labels and values."""
        for one in node.iter():
            texts = [get(one, key) for key in ("label", "current-value", "value", "title")]
            texts += [self.line(one)] if name_of(one) == "form:textarea" else []
            if name_of(one).startswith("form:") and any(texts):
                yield f"[form control {get(one, 'name')}: {', '.join(dict.fromkeys(filter(None, texts)))}]"

    def drawn(self, node: Any) -> Iterator[str]:
        """Return the text, pictures, charts and alt text of a frame, shape or group."""
        name = name_of(node)
        alts = [
            one.text for one in node if name_of(one) in ("svg-compatible:title", "svg-compatible:desc") and one.text
        ]
        alt, shown = one_line(": ".join(alts), 1000), list[str]()
        held = {name_of(one): one for one in reversed(node)} if name == "draw:frame" else {}
        if name == "draw:page-thumbnail":
            return
        if "draw:object" in held or "draw:object-ole" in held:
            shown.append(self._object(held.get("draw:object", held.get("draw:object-ole"))))
            if "draw:image" in held:
                self._read.add(self._place(held["draw:image"]))
        elif "draw:image" in held:
            place = self._place(held["draw:image"])
            content, suffix = self._picture(held["draw:image"], place)
            shown.append(self.drawings.kept(content, suffix, alt, "picture", "" if content else place))
        elif "draw:plugin" in held:
            self._read.add(self._place(held["draw:plugin"]))
            self.drawings.others.append(f"a sound or film, {self._place(held['draw:plugin'])}")
        elif "draw:floating-frame" in held or "draw:applet" in held:
            self.drawings.others.append("a frame with a page or program")
        if "table:table" in held or name in ("draw:g", "draw:a"):
            shown += self.blocks(one for one in node if name_of(one) != "draw:image")
        elif text := self.line(one for one in node if name_of(one) not in ("draw:image", "draw:object")):
            is_box = name_of(node.getparent()) not in ("draw:page", "draw:g", "presentation:notes", "style:master-page")
            shown.append(f"[text box] {text}" if is_box and name != "draw:text-box" else text)
        yield from shown
        if alt and not any(alt in one for one in shown):
            yield f"[alt text: {alt}]"

    def _picture(self, image: Any, place: str) -> tuple[bytes, str]:
        import base64

        held = next(image.iter("{*}binary-data"), None)
        if held is not None:
            return base64.b64decode(held.text or ""), "png"
        return (self._member(place), posixpath.splitext(place)[1][1:].lower()) if place in self._names else (b"", "")

    def _object(self, node: Any) -> str:
        """Return the text for a chart, a formula, or an embedded document or file."""
        place, inline = self._place(node), next((one for one in node if isinstance(one.tag, str)), None)
        if inline is None and f"{place}/content.xml" not in self._names:
            if place not in self._names:
                return f"[linked object: {place}]"
            return self.drawings.file(self._member(place), "bin", "of an unknown kind", "file")
        root = self._part(f"{place}/content.xml") if inline is None else inline
        if "math" in str(root.tag).lower():
            notes = [one.text for one in root.iter("{*}annotation") if one.text]
            return f"[formula: {notes[0] if notes else ' '.join(''.join(root.itertext()).split())}]"
        if charts := [one for one in root.iter("{*}chart") if name_of(one) == "chart:chart"]:
            return self._chart(charts[0])
        outer, self._folder = self._folder, f"{place}/"
        text = self.line(one for one in root.iterfind("{*}body/*/*") if name_of(one) != "office:forms")
        self._folder = outer
        return f"[embedded document]\n{text}"

    def _chart(self, chart: Any) -> str:
        kind = get(chart, "class").rpartition(":")[2]
        title = next((self.line(one) for one in children(chart, "chart:title")), "")
        labels = [self.line(one) for one in chart.iter("{*}title", "{*}subtitle", "{*}footer")]
        more = "".join(f"\n[in the chart: {text}]" for text in dict.fromkeys(labels) if text not in ("", title))
        rows = [row for one in children(chart, "table:table") for row in self._rows(one)]
        return f"[{kind} chart{f': {title}' if title else ''}]\n{table(rows)}{more}"

    def _place(self, node: Any) -> str:
        """Return the member or the address that an element refers to."""
        target = get(node, "href")
        if re.match(r"\w+:", target):
            return target
        place = posixpath.normpath(posixpath.join(self._folder, unquote(target)))
        return place if place in self._names or f"{place}/content.xml" in self._names else target

    def _member(self, name: str) -> bytes:
        self._read.add(name)
        return self._archive.read(name)

    def _part(self, name: str) -> Any:
        """Return the root of a part. If the part is broken, report it and return an empty root."""
        from lxml import etree  # type: ignore[import-untyped]  # it has no stubs

        if name not in self._names:
            return etree.Element("missing")
        try:
            return parse_xml(self._member(name))
        except (etree.XMLSyntaxError, BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            self.remarks.append(f"The part {name} is corrupt and was not read: {one_line(str(error), 150)}.")
            return etree.Element("broken")
