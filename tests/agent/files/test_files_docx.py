"""Word documents: what is in them comes out, the parts that other readers leave out among it."""

from __future__ import annotations

from pathlib import Path

import docx
import pytest
from PIL import Image

from agent.files.contents import ReadLimits
from support.contents import Open, named, text_of
from support.docx_bytes import R, W, docx_bytes, paragraph

STYLES = f"""<w:styles {W}>
<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="Chapter of mine"/><w:basedOn w:val="H1"/></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
</w:styles>"""


def level(number: int, style: str, text: str, start: int = 1) -> str:
    counts = f'<w:start w:val="{start}"/><w:numFmt w:val="{style}"/>'
    return f'<w:lvl w:ilvl="{number}">{counts}<w:lvlText w:val="{text}"/></w:lvl>'


NUMBERING = f"""<w:numbering {W}>
<w:abstractNum w:abstractNumId="7">{level(0, "decimal", "%1.")}{level(1, "lowerLetter", "%1.%2)")}</w:abstractNum>
<w:abstractNum w:abstractNumId="8">{level(0, "upperRoman", "%1", 4)}</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="7"/>
<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>
</w:numbering>"""


def listed(text: str, number: int, depth: int = 0) -> str:
    return paragraph(text, properties=f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>')


def run(inner: str) -> str:
    return f"<w:r>{inner}</w:r>"


def test_a_document_of_python_docx(open_file: Open, tmp_path: Path) -> None:
    document = docx.Document()
    document.core_properties.title = "Yearly report"
    document.add_heading("Costs", 1)
    text = document.add_paragraph("Costs rose ").add_run("sharply")
    document.add_comment(text, "By how much?", author="Ann")
    table = document.add_table(2, 2)
    for number, cell in enumerate(("item", "price", "a|b", "4.50")):
        table.cell(number // 2, number % 2).text = cell
    document.sections[0].header.paragraphs[0].text = "Confidential"
    document.sections[0].footer.paragraphs[0].text = "Ann's office"
    Image.new("RGB", (9, 9), "red").save(tmp_path / "red.png")
    document.add_picture(str(tmp_path / "red.png"))
    document.save(str(tmp_path / "a.docx"))

    contents = open_file("docx", tmp_path / "a.docx")
    text = text_of(contents)
    assert text.startswith("# Costs\n\nCosts rose sharply[comment 0]\n\n[comment 0]: Ann, ")
    assert "By how much?" in text
    assert "| item | price |\n| --- | --- |\n| a\\|b | 4.50 |" in text
    assert text.endswith("[header] Confidential\n\n[footer] Ann's office")
    assert contents.summary.startswith("Word document “Yearly report” of ")
    assert contents.summary.endswith("\nIt has 1 tables, 1 comments, 1 pictures.")
    assert "1 picture is named in the text" in contents.lost[0]
    (saved,) = contents.save_data(tmp_path)
    assert (saved.name, saved.read_bytes()) == ("picture-1.png", (tmp_path / "red.png").read_bytes())


def test_lists_have_the_numbers_that_word_shows(open_file: Open) -> None:
    body = "".join(
        (listed("a", 1), listed("b", 1), listed("c", 1, 1), listed("d", 1, 1), listed("e", 1), listed("f", 1, 1))
    ) + "".join((listed("g", 2), listed("h", 2), listed("i", 3), listed("j", 3)))
    lines = text_of(open_file("docx", docx_bytes(body, numbering=NUMBERING))).split("\n\n")
    assert lines == ["1. a", "2. b", "  2.a) c", "  2.b) d", "3. e", "  3.a) f", "IV g", "V h", "1. i", "2. j"]


def test_footnotes_and_endnotes_follow_what_refers_to_them(open_file: Open) -> None:
    notes = (
        f'<w:footnotes {W}><w:footnote w:type="separator" w:id="0">{paragraph("---")}</w:footnote>'
        f'<w:footnote w:id="1">{paragraph("From the archive.")}</w:footnote></w:footnotes>'
    )
    ends = f'<w:endnotes {W}><w:endnote w:id="1">{paragraph("See the annex.")}</w:endnote></w:endnotes>'
    body = paragraph(
        run("<w:t>It is old</w:t>")
        + run('<w:footnoteReference w:id="1"/>')
        + run('<w:endnoteReference w:id="1"/>')
        + run("<w:t>.</w:t>")
    )
    text = text_of(open_file("docx", docx_bytes(body, footnotes=notes, endnotes=ends)))
    assert text == "It is old[^1][^e1].\n\n[^1]: From the archive.\n\n[^e1]: See the annex."


def test_tracked_changes_are_shown_as_accepted_and_told(open_file: Open) -> None:
    body = paragraph(
        run("<w:t xml:space='preserve'>The price is </w:t>")
        + f'<w:del w:author="Bob">{run("<w:delText>10</w:delText>")}</w:del>'
        + f'<w:ins w:author="Ann">{run("<w:t>12</w:t>")}</w:ins>'
    )
    contents = open_file("docx", docx_bytes(body))
    assert text_of(contents) == ("The price is 12\n\n## Tracked changes\n\n[deleted by Bob: 10]\n[inserted by Ann: 12]")
    assert "2 tracked changes" in contents.summary
    assert "all tracked changes as accepted" in contents.lost[0]


def test_text_boxes_links_breaks_and_content_controls(open_file: Open) -> None:
    box = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><mc:Choice>'
        f"<w:drawing><w:txbxContent>{paragraph('in the box')}</w:txbxContent></w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict><w:txbxContent>{paragraph('in the box')}</w:txbxContent></w:pict></mc:Fallback>"
        "</mc:AlternateContent>"
    )
    body = (
        paragraph(run(box))
        + paragraph(f'<w:hyperlink {R} r:id="link">{run("<w:t>here</w:t>")}</w:hyperlink>')
        + paragraph(run("<w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t>"))
        + f"<w:sdt><w:sdtContent>{paragraph('controlled')}</w:sdtContent></w:sdt>"
    )
    text = text_of(open_file("docx", docx_bytes(body)))
    assert text.split("\n\n") == [
        "[text box] in the box",
        "[here](https://example.org/a)",
        "a\tb\nc-d",
        "controlled",
    ]


def test_merged_and_nested_cells(open_file: Open) -> None:
    def cell(inner: str, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"

    nested = f"<w:tbl><w:tr>{cell(paragraph('x'))}{cell(paragraph('y'))}</w:tr></w:tbl>"
    body = "<w:tbl><w:tr>" + cell(paragraph("wide"), '<w:gridSpan w:val="2"/>') + "</w:tr>"
    body += "<w:tr>" + cell(paragraph("tall"), '<w:vMerge w:val="restart"/>') + cell(paragraph("1")) + "</w:tr>"
    body += "<w:tr>" + cell(paragraph(""), "<w:vMerge/>") + cell(nested) + "</w:tr></w:tbl>"
    contents = open_file("docx", docx_bytes(body))
    rows = text_of(contents).splitlines()
    assert rows[0] == "| wide |  |"
    assert rows[2:] == ["| tall | 1 |", "|  | \\| x \\| y \\|<br>\\| --- \\| --- \\| |"]
    assert any("merged" in sentence for sentence in contents.lost)


def test_a_long_document_is_divided_at_headings(open_file: Open) -> None:
    body = "".join(
        paragraph(f"Chapter {n}", style="H1") + "".join(paragraph(f"sentence {n} " * 20) for _ in range(10))
        for n in range(1, 7)
    )
    contents = open_file("docx", docx_bytes(body, styles=STYLES), limits=ReadLimits(section=6000))
    assert contents.count == len(named(contents)) > 2
    assert named(contents)[1].startswith("part 2: Chapter")
    assert all(len(section.text) <= 6000 for section in contents.sections())
    assert all(text_of(contents).count(f"sentence {n}") == 200 for n in range(1, 7))


@pytest.mark.parametrize(
    "kind",
    [
        "application/vnd.ms-word.document.macroEnabled.main+xml",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
    ],
    ids=["with macros", "template"],
)
def test_other_kinds_of_documents(open_file: Open, kind: str) -> None:
    assert text_of(open_file("docx", docx_bytes(paragraph("hello"), main=kind))) == "hello"


@pytest.mark.parametrize("entity", ['SYSTEM "file:///etc/passwd"', '"x"'], ids=["a file", "a word"])
def test_entities_are_not_opened(open_file: Open, entity: str) -> None:
    """Neither an entity bomb nor a local file gets into the text."""
    body = paragraph(run("<w:t>before &it; after</w:t>"))
    evil = docx_bytes(body, doctype=f"<!DOCTYPE d [<!ENTITY it {entity}>]>")
    assert "root" not in text_of(open_file("docx", evil))
