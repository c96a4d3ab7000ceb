"""Office Open XML packages (docx, pptx, xlsx): finds their parts, in the variants that different programs write."""

from __future__ import annotations

import io
import posixpath
import re
import zlib
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from agent.files.contents import ReadLimits, Source, first_of
from agent.files.documents.package import open_package, parse_xml
from mcp_tools.text import one_line

_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")
_FEW = 5
_HEAD_BYTES = 4096
_MAX_PROPERTIES_CHARS = 1000
_SILENT = re.compile(
    r"\[content_types\]\.xml|.*\.rels|.*/|.*/(theme|printersettings|fonts|_rels)/.*|docprops/(app\.xml|thumbnail\..*)"
    r"|.*/(styles|styleswitheffects|settings|fonttable|websettings|numbering|presprops|viewprops|tablestyles|people"
    r"|commentsextended|commentsids|commentsextensible|calcchain|metadata|revisioninfo|persons?\d*|sharedstrings"
    r"|(layout|quickstyle|colors|drawing|style)\d*)\.xml|.*/(authors|commentauthors|changesinfos/.*)\.xml"
    r"|customxml/itemprops\d*\.xml|ppt/(notes|handout)masters/.*|ppt/slide(layouts|masters)/.*"
)
"""Names of parts without text, such as themes."""
_WORDS = (
    (r".*/glossary/.*", "building blocks"),
    (r".*vbaproject.*|.*vbadata.*|.*/macrosheets/.*", "macros"),
    (r"customxml/.*", "custom XML data"),
    (r".*/activex/.*|.*/ctrlprops/.*", "form controls"),
    (r".*/embeddings/.*", "embedded files"),
    (r".*/media/.*\.(png|jpe?g|gif|bmp|emf|wmf|tiff?|svg|webp|wdp)", "pictures"),
    (r".*/media/.*", "audio and video"),
    (r".*/ink/.*", "handwriting"),
    (r".*/charts/.*", "charts"),
    (r".*/diagrams/.*", "diagrams"),
    (r".*/pivot(cache|tables)/.*", "pivot tables and their data"),
    (r".*/externallinks/.*", "links to other workbooks"),
    (r".*/(slicers|slicercaches|timelines|timelinecaches)/.*", "slicers"),
    (r".*/(connections|querytables/.*)\.xml", "connections to data"),
    (r".*/revisions/.*", "records of changes"),
    (r".*/comments\d*\.bin", "comments"),
    (r"ppt/tags/.*", "tags of add-ins"),
    (r"_xmlsignatures/.*", "signatures"),
)
"""Patterns of the names of unread parts, each with the word for them in the note."""


class Relation(NamedTuple):
    """A relation from a part to another part or to an external address."""

    kind: str
    """The last segment of its type: `comments`, `image`."""
    target: str
    """An address, or a path as the relation states it."""
    part: Part | None
    """The target; None if it is an external address or is missing."""


class Part:
    """One part of a package."""

    def __init__(self, package: Package, name: str) -> None:
        self._package, self.name = package, name

    @cached_property
    def content(self) -> bytes:
        """The bytes of the part."""
        return self._package.member(self.name)

    @cached_property
    def root(self) -> Any:
        """The root of its XML, with transitional namespaces. It is empty for a broken part other than the main one."""
        from lxml import etree  # type: ignore[import-untyped]  # it has no stubs

        try:
            return transitional(self.content)
        except (etree.XMLSyntaxError, BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            if self.name == self._package.main_name:
                raise
            self._package.broken.append(
                f"The part {self.name} is corrupt and was not read: {one_line(str(error), 150)}."
            )
            return etree.Element("broken")

    @cached_property
    def relations(self) -> dict[str, Relation]:
        """The relations of the part by id."""
        return self._package.relations(self.name)

    def related(self, relation: str | None) -> Part | None:
        """Return the target of a relation; None if it is external or missing."""
        found = self.relations.get(relation or "")
        return found.part if found else None

    def address(self, relation: str | None) -> str:
        """Return the external address of a relation, or an empty string."""
        found = self.relations.get(relation or "")
        return found.target if found and found.part is None else ""

    def parts(self, kind: str) -> list[Part]:
        """Return the targets of all relations of this kind."""
        return [one.part for one in self.relations.values() if one.kind == kind and one.part is not None]


class Package:
    """The parts of a document.

    As in Office, names are compared ignoring case, and a backslash counts as `/`.
    """

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        self._archive = open_package(source, limits)
        self._members: dict[str, str] = {}
        for name in self._archive.namelist():
            self._members.setdefault(_normal(name), name)
        self._parts: dict[str, Part] = {}
        self._read: set[str] = set()
        self.broken: list[str] = []
        """A sentence about each damaged part."""
        self.main_name = ""

    def __enter__(self) -> Package:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def main(self, usual: str) -> Part:
        """Return the main part: the one that the package names, else the one at the usual path.

        Raises:
            KeyError: There is no such part.
        """
        named = [one.part for one in self.relations("").values() if one.kind == "officeDocument" and one.part]
        part = named[0] if named else self.part(usual)
        if part is None:
            raise KeyError(f"it has no {usual}")
        self.main_name = part.name
        return part

    def part(self, name: str) -> Part | None:
        """Return the part with this name, or None."""
        found = self._members.get(_normal(name))
        if found is None:
            return None
        normal = found.replace("\\", "/").lstrip("/")
        return self._parts.setdefault(normal, Part(self, normal))

    def names(self) -> list[str]:
        """Return the names of all members, in lower case and separated by `/`."""
        return list(self._members)

    def member(self, name: str) -> bytes:
        """Return the bytes of a member, and mark it as read."""
        self._read.add(_normal(name))
        return self._archive.read(self._members[_normal(name)])

    def size(self, name: str) -> int:
        """Return the unpacked size of a member in bytes."""
        return self._archive.getinfo(self._members[_normal(name)]).file_size

    def relations(self, name: str) -> dict[str, Relation]:
        """Return the relations of a part; an empty name means the package."""
        folder, base = posixpath.split(name)
        place = posixpath.join(folder, "_rels", f"{base}.rels")
        if _normal(place) not in self._members:
            return {}
        found = {}
        for one in transitional(self.member(place)).iterfind("{*}Relationship"):
            target, outside = one.get("Target", ""), one.get("TargetMode", "").lower() == "external"
            path = posixpath.normpath(posixpath.join(folder, target.replace("\\", "/").partition("#")[0]))
            inside = None if outside else self.part(path) or self.part(unquote(path))
            kind = one.get("Type", "").rpartition("/")[2]
            found[one.get("Id", "")] = Relation(kind, target, inside)
        return found

    def properties(self) -> dict[str, str]:
        """Return the title, author and other properties, including those that users added, by name."""
        found: dict[str, str] = {}
        for path, kept in (("docProps/core.xml", None), ("docProps/app.xml", ("Manager", "Company"))):
            part = self.part(path) or next(iter(self._related(path)), None)
            for one in part.root if part else ():
                name = str(one.tag).rpartition("}")[2]
                if (text := one_line("".join(one.itertext()), 300)) and (kept is None or name in kept):
                    found[name] = text
        if custom := self.part("docProps/custom.xml"):
            found |= {one.get("name", ""): one_line("".join(one.itertext()), 300) for one in custom.root}
        return found

    def described(self) -> str:
        """Return a line with all properties except the title; empty if there are none."""
        left_out = ("title", "revision", "lastPrinted", "version")
        listed = "; ".join(f"{name} {text}" for name, text in self.properties().items() if name not in left_out)
        return f"\nProperties: {one_line(listed, _MAX_PROPERTIES_CHARS)}." if listed else ""

    def unread(self, *silent: str) -> list[str]:
        """Return a sentence that names the unread parts, except parts without text and those under `silent`."""
        kinds: dict[str, list[str]] = {}
        for name in self._members:
            if name in self._read or _SILENT.fullmatch(name) or name.startswith(silent):
                continue
            if re.fullmatch(r"customxml/item\d*\.xml", name) and not "".join(self._xml(name).itertext()).strip():
                continue
            what = next((words for pattern, words in _WORDS if re.fullmatch(pattern, name)), "other parts")
            kinds.setdefault(what, []).append(self._members[name].replace("\\", "/"))
        listed = "; ".join(f"{what} ({first_of(names, _FEW)})" for what, names in kinds.items())
        return [*dict.fromkeys(self.broken), *([f"Not read: {listed}."] if listed else [])]

    def normalised(self) -> io.BytesIO:
        """Return the package in the form that libraries expect: transitional namespaces, `/` in names."""
        out = io.BytesIO()
        with ZipFile(out, "w") as archive:
            for name in self._members.values():
                content, target = self._archive.read(name), name.replace("\\", "/").lstrip("/")
                if target.lower().endswith((".xml", ".rels")):
                    content = _as_transitional(content)
                archive.writestr(target, content)
        return out

    def is_odd(self) -> bool:
        """Return True if libraries need the `normalised` package."""
        return any("\\" in name or name.startswith("/") for name in self._members.values()) or any(
            _STRICT.search(self._head(name))
            for normal, name in self._members.items()
            if normal in ("_rels/.rels", "xl/workbook.xml", "xl/worksheets/sheet1.xml")
        )

    def _head(self, name: str) -> bytes:
        """Return the beginning of a member, which declares its namespaces. The zero bytes of UTF-16 are removed."""
        with self._archive.open(name) as file:
            return file.read(_HEAD_BYTES).replace(b"\0", b"")

    def _related(self, path: str) -> list[Part]:
        kind = {"core": "core-properties", "app": "extended-properties"}[posixpath.basename(path).split(".")[0]]
        return [one.part for one in self.relations("").values() if one.kind == kind and one.part]

    def _xml(self, name: str) -> Any:
        return Part(self, name).root


def transitional(content: bytes) -> Any:
    """Return the root of an XML text, with strict namespaces replaced by transitional ones."""
    root = parse_xml(content)
    if b"purl.oclc.org" not in content and b"p\0u\0r\0l\0.\0o\0c\0l\0c" not in content:
        return root
    return parse_xml(_as_transitional(content))


def _as_transitional(content: bytes) -> bytes:
    return _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", _as_utf8(content)).replace(
        b"/2006/extendedProperties", b"/2006/extended-properties"
    )


def _as_utf8(content: bytes) -> bytes:
    if not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content
    from lxml import etree

    written: bytes = etree.tostring(parse_xml(content))
    return written


def _normal(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()
