# ruff: noqa: E501 - XML is easier to read on one line
"""OpenDocument files: no part vanishes; the text shows it, or a note names it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from agent.files.contents import Contents, FileProblem
from agent.files.detection import kind_of
from support.contents import Open, text_of
from support.odf_bytes import MIME, NS, PAGE, frame, odf

BY = "<dc:creator>Ann</dc:creator><dc:date>2026-01-02T10:00:00</dc:date>"
CHANGE = f"<office:change-info>{BY}</office:change-info>"


def shown(contents: Contents) -> str:
    return "\n".join([contents.summary, text_of(contents), *contents.lost])


def p(inner: str) -> str:
    return f"<text:p>{inner}</text:p>"


CHART = f'<office:document-content {NS}><office:body><office:chart><chart:chart chart:class="chart:bar"><chart:title>{p("MARKER")}</chart:title><table:table><table:table-row><table:table-cell>{p("MARKERcell")}</table:table-cell></table:table-row></table:table></chart:chart></office:chart></office:body></office:document-content>'
INNER = f"<office:document-content {NS}><office:body><office:text>{p('MARKER')}</office:text></office:body></office:document-content>"
FORMULA = '<math:math xmlns:math="http://www.w3.org/1998/Math/MathML"><math:semantics><math:mi>x</math:mi><math:annotation>MARKER over 2</math:annotation></math:semantics></math:math>'
OBJECT = '<draw:object xlink:href="./Object 1"/><draw:image xlink:href="./ObjectReplacements/Object 1"/>'
HIDDEN = '<style:style style:name="H"><style:text-properties text:display="none"/></style:style>'

# body, and further arguments of `odf`
COMMON: dict[str, tuple[str, dict[str, str]]] = {
    "a text box": (frame(f"<draw:text-box>{p('MARKER')}</draw:text-box>"), {}),
    "a shape": (f"<draw:custom-shape>{p('MARKER')}</draw:custom-shape>", {}),
    "a group": (f"<draw:g><draw:rect>{p('MARKER')}</draw:rect></draw:g>", {}),
    "alt text": (frame('<draw:image xlink:href="Pictures/a.png"/><svg:desc>MARKER</svg:desc>'), {"Pictures__a_0png": "png"}),
    "alt text of a group": ("<draw:g><svg:title>MARKER</svg:title></draw:g>", {}),
    "a linked picture": (frame('<draw:image xlink:href="https://example.org/MARKER.png"/>'), {}),
    "a chart": (frame(OBJECT), {"Object 1__content_0xml": CHART, "ObjectReplacements__Object 1": "x"}),
    "a formula": (frame(OBJECT), {"Object 1__content_0xml": FORMULA}),
    "an embedded document": (frame(OBJECT), {"Object 1__content_0xml": INNER}),
    "an embedded file": (frame('<draw:object-ole xlink:href="./Object 1"/>'), {"Object 1": "MARKER"}),
    "a linked object": (frame('<draw:object xlink:href="file:///MARKER.odt"/>'), {}),
    "a film": (frame('<draw:plugin xlink:href="Media/MARKER.mp4"/>'), {"Media__MARKER_0mp4": "x"}),
    "a form control": ('<office:forms><form:form><form:text form:name="n" form:current-value="MARKER"/></form:form></office:forms>', {}),
    "a comment": (f"<office:annotation>{BY}{p('MARKER')}</office:annotation>", {}),
    "macros": ("", {"Basic__MARKER_0xml": "x"}),
    "an unknown part": ("", {"new__MARKER_0bin": "x"}),
    "a picture that nothing shows": ("", {"Pictures__MARKER_0png": "x"}),
    "a property": ("", {"meta_0xml": f"<office:document-meta {NS}><office:meta><meta:user-defined meta:name='k'>MARKER</meta:user-defined></office:meta></office:document-meta>"}),
    "a damaged part": (frame('<draw:object xlink:href="./MARKER"/>'), {"MARKER__content_0xml": "<a"}),
    "a container nobody knows": (f"<text:future>{p('MARKER')}</text:future>", {}),
}  # fmt: skip
TEXT: dict[str, tuple[str, dict[str, str]]] = {
    "a heading": ('<text:h text:outline-level="2">MARKER</text:h>', {}),
    "a section": (f'<text:section text:display="none">{p("MARKER")}</text:section>', {}),
    "an index": (f"<text:table-of-content><text:index-body>{p('MARKER')}</text:index-body></text:table-of-content>", {}),
    "a footnote": (p('x<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>MARKER</text:p></text:note-body></text:note>'), {}),
    "an endnote": (p('x<text:note text:note-class="endnote"><text:note-body><text:p>MARKER</text:p></text:note-body></text:note>'), {}),
    "a comment in a paragraph": (p(f"x<office:annotation>{BY}{p('MARKER')}</office:annotation>"), {}),
    "a picture in a paragraph": (p(frame('<draw:image xlink:href="Pictures/a.png"/><svg:title>MARKER</svg:title>')), {"Pictures__a_0png": "png"}),
    "a box in a paragraph": (p(frame(f"<draw:text-box>{p('MARKER')}</draw:text-box>")), {}),
    "hidden text": (p('<text:span text:style-name="H">MARKER</text:span>'), {"styles": HIDDEN}),
    "hidden text in a field": (p('<text:hidden-text text:string-value="MARKER"/>'), {}),
    "a version of a conditional text": (p('<text:conditional-text text:string-value-if-false="MARKER">a</text:conditional-text>'), {}),
    "another entry of a list": (p('<text:drop-down><text:label text:value="MARKER"/>a</text:drop-down>'), {}),
    "an entry of an index": (p('a<text:alphabetical-index-mark text:string-value="MARKER"/>'), {}),
    "the address of a link": (p('<text:a xlink:href="https://example.org/MARKER">here</text:a>'), {}),
    "a field": (p("<text:author-name>MARKER</text:author-name>"), {}),
    "ruby": (p("<text:ruby><text:ruby-base>a</text:ruby-base><text:ruby-text>MARKER</text:ruby-text></text:ruby>"), {}),
    "a header": (p("x"), {"masters": f'<style:master-page style:name="a"><style:header>{p("MARKER")}</style:header></style:master-page>'}),
    "a footer of the first page": (p("x"), {"masters": f'<style:master-page style:name="a"><style:footer-first>{p("MARKER")}</style:footer-first></style:master-page>'}),
    "a deletion": (f'<text:tracked-changes><text:changed-region><text:deletion>{CHANGE}{p("MARKER")}</text:deletion></text:changed-region></text:tracked-changes>', {}),
    "a nested table": (f"<table:table><table:table-row><table:table-cell><table:table><table:table-row><table:table-cell>{p('MARKER')}</table:table-cell></table:table-row></table:table></table:table-cell></table:table-row></table:table>", {}),
    "a paragraph with a number": (f"<text:numbered-paragraph>{p('MARKER')}</text:numbered-paragraph>", {}),
}  # fmt: skip
SLIDES: dict[str, tuple[str, dict[str, str]]] = {
    **{what: (PAGE.format(body), parts) for what, (body, parts) in COMMON.items()},
    "a title": (PAGE.format(f'<draw:frame presentation:class="title"><draw:text-box>{p("MARKER")}</draw:text-box></draw:frame>'), {}),
    "notes": (PAGE.format(f"<presentation:notes><draw:page-thumbnail/>{COMMON['a text box'][0]}</presentation:notes>"), {}),
    "a table": (PAGE.format(frame(f"<table:table><table:table-row><table:table-cell>{p('MARKER')}</table:table-cell></table:table-row></table:table>")), {}),
    "a footer": ('<presentation:footer-decl presentation:name="f">MARKER</presentation:footer-decl>' + PAGE.format(""), {}),
    "a shape of a master": (PAGE.format(""), {"masters": f'<style:master-page style:name="a"><draw:rect>{p("MARKER")}</draw:rect></style:master-page>'}),
}  # fmt: skip
SHEET = "<table:table table:name='S'><table:table-row><table:table-cell office:value-type='string'>{}</table:table-cell></table:table-row></table:table>"
SHEETS: dict[str, tuple[str, dict[str, str]]] = {
    **{what: (SHEET.format(p("x") + body), parts) for what, (body, parts) in COMMON.items() if what not in ("a form control", "a container nobody knows")},
    "a shape of a sheet": (f"<table:table table:name='S'><table:shapes><draw:rect>{p('MARKER')}</draw:rect></table:shapes></table:table>", {}),
    "a form control": (f"<table:table table:name='S'>{COMMON['a form control'][0]}</table:table>", {}),
    "a name": (SHEET.format("") + '<table:named-expressions><table:named-range table:name="MARKER" table:cell-range-address="S.A1"/></table:named-expressions>', {}),
    "a validation": ('<table:content-validations><table:content-validation table:condition="MARKER"/></table:content-validations>' + SHEET.format(""), {}),
    "a pivot table": (SHEET.format("") + '<table:data-pilot-tables><table:data-pilot-table table:name="MARKER"/></table:data-pilot-tables>', {}),
    "a link": (SHEET.format(p('<text:a xlink:href="https://example.org/MARKER">x</text:a>')), {}),
    "a change": (f"<table:tracked-changes><table:cell-content-change>{CHANGE}<table:previous>{p('MARKER')}</table:previous></table:cell-content-change></table:tracked-changes>" + SHEET.format(""), {}),
    "a header": (SHEET.format(""), {"masters": f'<style:master-page style:name="a"><style:header>{p("MARKER")}</style:header></style:master-page>'}),
}  # fmt: skip
CASES = [
    pytest.param(kind, body, parts, id=f"{kind}-{what}")
    for kind, cases in {"odt": COMMON | TEXT, "odp": SLIDES, "ods": SHEETS}.items()
    for what, (body, parts) in cases.items()
]


@pytest.mark.parametrize(("kind", "body", "parts"), CASES)
def test_no_part_of_an_open_document_vanishes(open_file: Open, kind: str, body: str, parts: dict[str, str]) -> None:
    contents = open_file(kind, odf(kind, body, **parts))
    saved = b" ".join(contents._data.values()).decode()
    assert "MARKER" in shown(contents) + saved
    assert "ObjectReplacements" not in shown(contents)


def test_a_text_is_written_as_markdown(open_file: Open) -> None:
    styles = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
        '<text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")"/></text:list-style>'
        '<style:style style:name="S"><style:text-properties style:text-line-through-style="solid"/></style:style>'
    )
    body = (
        f"<text:tracked-changes><text:changed-region text:id='c1'><text:insertion>{CHANGE}</text:insertion></text:changed-region></text:tracked-changes>"
        '<text:h text:outline-level="1">Tea</text:h><text:p>a<text:s text:c="2"/>b <text:span text:style-name="S">old</text:span> <text:change-start text:change-id="c1"/>new<text:change-end text:change-id="c1"/></text:p>'
        '<text:list text:style-name="L"><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item></text:list>'
        '<table:table><table:table-row><table:table-cell><text:p>h</text:p></table:table-cell><table:table-cell table:number-columns-repeated="1000"/></table:table-row></table:table>'
        f'<text:p>see<text:note text:note-class="footnote"><text:note-body><text:p>why</text:p></text:note-body></text:note> <office:annotation>{BY}<text:p>hm</text:p></office:annotation></text:p>'
    )
    contents = open_file("odt", odf("odt", body, styles))
    assert text_of(contents).split("\n\n") == [
        "# Tea",
        "a  b ~~old~~ new",
        "1. one",
        "  a) deep",
        "2. two",
        "| h |\n| --- |",
        "see[^1] [comment 1]",
        "[^1]: why",
        "[comment 1]: Ann, 2026-01-02: hm",
        "## Tracked changes",
        "[inserted by Ann, 2026-01-02: new]",
    ]


@pytest.mark.parametrize("kind", MIME)
def test_the_kind_is_detected_and_a_password_is_reported(open_file: Open, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(odf(kind, PAGE.format("") if kind in ("odp", "odg") else ""))
    assert kind_of(path) == kind
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("META-INF/manifest.xml", "<encryption-data/>")
    with pytest.raises(FileProblem) as caught:
        open_file(kind, path)
    assert caught.value.reason == "encrypted"
