# ruff: noqa: E501 - XML is easier to read on one line
"""A Word document with a marker in each place that may hold text. A marker is `MARKER` and the name of the place."""

from __future__ import annotations

import io
import zipfile

from support.docx_bytes import R, W, docx_bytes, paragraph

_MORE = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    'xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _run(inner: str) -> str:
    return f"<w:r>{inner if inner.startswith('<') else f'<w:t>{inner}</w:t>'}</w:r>"


def _field(code: str, result: str = "", data: str = "") -> str:
    marks = [f'<w:fldChar w:fldCharType="{kind}"/>' for kind in ("begin", "separate", "end")]
    begin = f'<w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar>' if data else marks[0]
    return "".join(
        map(_run, [begin, f"<w:instrText>{code}</w:instrText>", marks[1], *([result] if result else []), marks[2]])
    )


def _control(properties: str, inner: str) -> str:
    return paragraph(f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{_run(inner)}</w:sdtContent></w:sdt>")


def _drawing(inner: str, alt: str = "") -> str:
    return f'<w:drawing><wp:inline><wp:docPr id="1" name="n" {alt}/><a:graphic><a:graphicData>{inner}</a:graphicData></a:graphic></wp:inline></w:drawing>'


_BOX = (
    '<mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:anchor><a:graphic><a:graphicData><wps:wsp><wps:txbx><w:txbxContent>{0}</w:txbxContent></wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:anchor></w:drawing></mc:Choice>'
    "<mc:Fallback><w:pict><v:shape><v:textbox><w:txbxContent>{0}</w:txbxContent></v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent>"
)
_BODY = "".join(
    [
        paragraph("MARKERbody"),
        paragraph(_run(_BOX.format(paragraph("MARKERboxonce")))),
        paragraph(_run("<mc:AlternateContent><mc:Choice Requires='x'/><mc:Fallback><w:pict><v:shape><v:textbox><w:txbxContent>" + paragraph("MARKERfallbackbox") + "</w:txbxContent></v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent>")),
        paragraph(_run(_drawing('<c:chart r:id="chart"/>', 'descr="MARKERchartalt" title="MARKERcharttitlealt"'))),
        paragraph(_run(_drawing('<dgm:relIds r:dm="diagram"/>'))),
        paragraph(_run(_drawing('<a:blip r:embed="none"/>', 'descr="MARKERpicturealt"').replace("<wp:docPr", "<wp:ignored").replace("<wp:ignored", "<wp:docPr"))),
        paragraph(_run('<w:drawing><wp:inline><wp:docPr id="2" name="l"><a:hlinkClick r:id="link" tooltip="MARKERshapetip"/></wp:docPr></wp:inline></w:drawing>')),
        paragraph(_run('<w:object><v:shape alt="MARKERolealt"/><o:OLEObject ProgID="MARKERprogram" r:id="ole"/></w:object>')),
        '<w:altChunk r:id="html"/><w:altChunk r:id="rtf"/><w:altChunk r:id="inner"/><w:altChunk r:id="mht"/>',
        paragraph(_field(" DOCPROPERTY MARKERfield ")),
        paragraph(_field(' MERGEFIELD "MARKERmerge" ')),
        paragraph('<w:fldSimple w:instr=" AUTHOR MARKERsimple "/>'),
        paragraph(_field(" IF 1 = 1 MARKERthen MARKERelse ", "MARKERresult")),
        paragraph(_field(' HYPERLINK "https://example.org/MARKERaddress" \\o "MARKERtip" ', "here")),
        paragraph(_field(' HYPERLINK \\l "MARKERbookmark" ', "here")),
        paragraph('<w:hyperlink r:id="link" w:tooltip="MARKERlinktip"><w:r><w:t>here</w:t></w:r></w:hyperlink>'),
        paragraph('<w:hyperlink w:anchor="MARKERanchor"><w:r><w:t>there</w:t></w:r></w:hyperlink>'),
        paragraph(_field(' XE "MARKERindexentry" ')), paragraph(_field(' TC "MARKERcontents" ')),
        paragraph(_field(" FORMTEXT ", "typed", '<w:name w:val="MARKERformname"/><w:helpText w:val="MARKERhelp"/><w:statusText w:val="MARKERstatus"/><w:textInput><w:default w:val="MARKERdefault"/></w:textInput>')),
        _control('<w:alias w:val="MARKERalias"/><w:tag w:val="MARKERcontroltag"/><w:placeholder><w:docPart w:val="MARKERplaceholder"/></w:placeholder><w:showingPlcHdr/>', "MARKERplaceholdertext"),
        _control('<w:dropDownList><w:listItem w:displayText="MARKERentry" w:value="MARKERentryvalue"/></w:dropDownList>', "MARKERchosen"),
        _control('<w:date w:fullDate="2026-01-02"/>', "MARKERdate"), _control("<w14:checkbox><w14:checked w14:val='1'/></w14:checkbox>", "☒"),
        paragraph(f'<w:del w:id="1" w:author="MARKERdeleter">{_run("<w:delText>MARKERdeleted</w:delText>")}</w:del><w:ins w:id="2" w:author="B">{_run("MARKERinserted")}</w:ins>'),
        paragraph(f'<w:moveFrom w:id="3" w:author="B">{_run("MARKERmovedfrom")}</w:moveFrom><w:moveTo w:id="4" w:author="B">{_run("MARKERmovedto")}</w:moveTo>'),
        paragraph(f'<w:ins w:id="5" w:author="B"><w:del w:id="6" w:author="C">{_run("<w:delText>MARKERinsertedanddeleted</w:delText>")}</w:del></w:ins>'),
        paragraph(f'<w:del w:id="7" w:author="B">{_run(_BOX.format(paragraph("MARKERdeletedbox")))}</w:del>'),
        paragraph(_run('<w:footnoteReference w:id="2"/>') + _run('<w:endnoteReference w:id="2"/>') + _run('<w:commentReference w:id="0"/>') + _run('<w:commentReference w:id="1"/>')),
        paragraph(_run("<w:rPr><w:vanish/></w:rPr><w:t>MARKERvanished</w:t>")),
        paragraph("<w:smartTag w:element='MARKERsmarttag'><w:smartTagPr><w:attr w:name='n' w:val='MARKERsmartvalue'/></w:smartTagPr>" + _run("MARKERinsmarttag") + "</w:smartTag>"),
        paragraph('<w:customXml w:element="MARKERelement">' + _run("MARKERincustom") + "</w:customXml>"),
        f"<w:tbl><w:tblPr><w:tblCaption w:val='MARKERtablecaption'/><w:tblDescription w:val='MARKERtablealt'/></w:tblPr><w:tr><w:tc>{paragraph('MARKERcell')}<w:tbl><w:tr><w:tc>{paragraph('MARKERnested')}</w:tc></w:tr></w:tbl>{paragraph('')}</w:tc></w:tr></w:tbl>",
        paragraph("<w:bookmarkStart w:id='9' w:name='MARKERbookmarkname'/>" + _run("x") + "<w:bookmarkEnd w:id='9'/>"),
        paragraph(_run("<w:ruby><w:rt><w:r><w:t>MARKERruby</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>b</w:t></w:r></w:rubyBase></w:ruby>")),
        '<w:p><w:pPr><w:pPrChange w:author="MARKERformatter"><w:pPr/></w:pPrChange></w:pPr><w:r><w:t>x</w:t></w:r></w:p>',
        *(f'<w:sectPr>{"".join(f"<w:{kind}Reference w:type={chr(39)}{page}{chr(39)} r:id={chr(39)}p{kind}{number}{chr(39)}/>" for kind in ("header", "footer") for number, page in enumerate(("default", "first", "even"), 1))}<w:titlePg/></w:sectPr>',),
    ]
)  # fmt: skip
_CHART = (
    '<c:chartSpace {0}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>MARKERcharttitle</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:pieChart><c:ser><c:tx><c:v>MARKERseries</c:v></c:tx>'
    '<c:cat><c:strLit><c:pt idx="0"><c:v>MARKERcategory</c:v></c:pt></c:strLit></c:cat><c:val><c:numLit><c:pt idx="0"><c:v>1</c:v></c:pt></c:numLit></c:val></c:ser></c:pieChart></c:plotArea></c:chart></c:chartSpace>'
)  # fmt: skip


def _comment(number: int, text: str) -> str:
    return f'<w:comment w:id="{number}" w:author="MARKERcommenter" w:initials="M"><w:p w14:paraId="0000000{number}"><w:r><w:t>{text}</w:t></w:r></w:p></w:comment>'


def full_docx() -> bytes:
    spaces = f"{W} {R} {_MORE}"
    edges = {f"{kind}{number}": f"<w:{'hdr' if kind == 'header' else 'ftr'} {spaces}>{paragraph(f'MARKER{kind}{number}')}</w:{'hdr' if kind == 'header' else 'ftr'}>"
             for kind in ("header", "footer") for number in (1, 2, 3)}  # fmt: skip
    content = docx_bytes(
        _BODY,
        **edges,
        footnotes=f'<w:footnotes {spaces}><w:footnote w:id="0" w:type="separator">{paragraph("MARKERseparator")}</w:footnote><w:footnote w:id="2">{paragraph("MARKERfootnote")}{paragraph(_run(_BOX.format(paragraph("MARKERboxinnote"))))}</w:footnote></w:footnotes>',
        endnotes=f'<w:endnotes {spaces}><w:endnote w:id="2">{paragraph("MARKERendnote")}</w:endnote></w:endnotes>',
        comments=f"<w:comments {spaces}>{_comment(0, 'MARKERcomment')}{_comment(1, 'MARKERreply')}</w:comments>",
        settings=f'<w:settings {spaces}><w:docVars><w:docVar w:name="MARKERvariable" w:val="MARKERvariablevalue"/></w:docVars><w:mailMerge><w:query w:val="MARKERquery"/></w:mailMerge></w:settings>',
    )
    inner = docx_bytes(paragraph("MARKERinner"))
    out = io.BytesIO()
    related = [
        ("chart", "chart", "charts/chart1.xml"), ("diagram", "diagramData", "diagrams/data1.xml"), ("ole", "oleObject", "embeddings/oleObject1.bin"), ("html", "aFChunk", "chunk.html"),
        ("rtf", "aFChunk", "chunk.rtf"), ("mht", "aFChunk", "chunk.mht"), ("inner", "aFChunk", "chunk.docx"), ("gloss", "glossaryDocument", "glossary/document.xml"), ("bib", "customXml", "../customXml/item1.xml"),
    ]  # fmt: skip
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name).decode()
            if name == "word/document.xml":
                text = text.replace(f"<w:document {W} {R}", f"<w:document {spaces}")
            if name == "word/_rels/document.xml.rels":
                text = text.replace(
                    "</Relationships>",
                    "".join(
                        f'<Relationship Id="{key}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
                        for key, kind, target in related
                    )
                    + "</Relationships>",
                )
            new.writestr(name, text)
        new.writestr("word/charts/chart1.xml", _CHART.format(spaces))
        new.writestr(
            "word/diagrams/data1.xml",
            f"<dgm:dataModel {spaces}><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>MARKERdiagram</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>",
        )
        new.writestr("word/embeddings/oleObject1.bin", b"MARKERobject")
        new.writestr("word/chunk.html", "<p>MARKERhtml</p>")
        new.writestr("word/chunk.rtf", r"{\rtf1 MARKERrtf}")
        new.writestr("word/chunk.docx", inner)
        new.writestr(
            "word/chunk.mht",
            "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>MARKERmht</p>\n--b--\n",
        )
        new.writestr(
            "word/glossary/document.xml",
            f"<w:glossaryDocument {spaces}><w:docParts>{paragraph('MARKERglossary')}</w:docParts></w:glossaryDocument>",
        )
        new.writestr(
            "customXml/item1.xml",
            '<b:Sources xmlns:b="http://schemas.openxmlformats.org/officeDocument/2006/bibliography"><b:Source><b:Title>MARKERsource</b:Title></b:Source></b:Sources>',
        )
        new.writestr(
            "docProps/core.xml",
            '<cp:coreProperties xmlns:cp="x" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>MARKERproperty</dc:title><dc:subject>MARKERsubject</dc:subject></cp:coreProperties>',
        )
        new.writestr(
            "docProps/custom.xml",
            '<Properties xmlns:v="v"><property name="MARKERcustomname"><v:lpwstr>MARKERcustomvalue</v:lpwstr></property></Properties>',
        )
        new.writestr("docProps/app.xml", "<Properties xmlns='x'><Company>MARKERcompany</Company></Properties>")
    return out.getvalue()
