# ruff: noqa: E501 - XML is easier to read on one line
"""A workbook with a marker in each place that may hold text. A marker is `MARKER` and the name of the place."""

from __future__ import annotations

import io
import zipfile

_S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_D = (
    'xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MICROSOFT = "http://schemas.microsoft.com/office"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_MAIN, _SHEET, _DRAWING = "xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/drawings/drawing1.xml"


def _cell(place: str, inner: str, kind: str = "") -> str:
    return f'<c r="{place}"{f" t={kind!r}" if kind else ""}>{inner}</c>'


def _shape(inner: str, attributes: str = "") -> str:
    return f'<xdr:twoCellAnchor><xdr:sp {attributes}><xdr:nvSpPr><xdr:cNvPr id="2" name="s" descr="MARKERshapealt"><a:hlinkClick r:id="link" tooltip="MARKERshapetip"/></xdr:cNvPr></xdr:nvSpPr><xdr:txBody><a:p><a:r><a:t>{inner}</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:twoCellAnchor>'


def _chart(prefix: str) -> str:
    label = (
        f"<c:dLbl><c:idx val='0'/><c:tx><c:rich><a:p><a:r><a:t>{prefix}label</a:t></a:r></a:p></c:rich></c:tx></c:dLbl>"
    )
    series = f"<c:ser><c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>{prefix}series</c:v></c:pt></c:strCache></c:strRef></c:tx><c:dLbls>{label}</c:dLbls><c:cat><c:strRef><c:strCache><c:pt idx='0'><c:v>{prefix}category</c:v></c:pt></c:strCache></c:strRef></c:cat><c:val><c:numLit><c:pt idx='0'><c:v>1</c:v></c:pt></c:numLit></c:val></c:ser>"
    return f"<c:chartSpace {_D}><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>{prefix}title</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea><c:barChart>{series}</c:barChart></c:plotArea></c:chart></c:chartSpace>"


_ROWS = "".join(
    [
        '<row r="1">', _cell("A1", "<v>0</v>", "s"), _cell("B1", "<is><t>MARKERinline</t></is>", "inlineStr"), _cell("C1", "<v>1</v>", "s"), "</row>",
        '<row r="2">', _cell("A2", '<f>CONCAT("MARKERformula")</f>'), _cell("B2", '<f>1/0</f><v>#DIV/0!</v>', "e"), _cell("C2", "<f>A1</f><v>MARKERcached</v>", "str"), "</row>",
        '<row r="3" hidden="1">', _cell("A3", "<is><t>MARKERhiddenrow</t></is>", "inlineStr"), _cell("D3", "<is><t>MARKERhiddencolumn</t></is>", "inlineStr"), "</row>",
        '<row r="4">', _cell("A4", "<is><r><t>MARKERrich</t></r><rPh sb='0' eb='1'><t>MARKERphonetic</t></rPh></is>", "inlineStr"), "</row>",
    ]
)  # fmt: skip
_RULES = (
    '<conditionalFormatting sqref="A1"><cfRule type="containsText" dxfId="0" priority="1" operator="containsText" text="MARKERcondition"><formula>NOT(ISERROR(SEARCH("MARKERcondition",A1)))</formula></cfRule></conditionalFormatting>'
    '<dataValidations count="1"><dataValidation type="list" sqref="B9" promptTitle="MARKERprompttitle" prompt="MARKERprompt" errorTitle="MARKERerrortitle" error="MARKERerror"><formula1>"MARKERchoice,b"</formula1></dataValidation></dataValidations>'
)
_SHEET_XML = (
    f'<worksheet {_S}><sheetPr codeName="Sheet1"/><cols><col min="4" max="4" width="9" hidden="1"/></cols><sheetData>{_ROWS}</sheetData>'
    '<protectedRanges><protectedRange name="MARKERprotected" sqref="A1"/></protectedRanges><scenarios><scenario name="MARKERscenario" count="1" user="MARKERscenariouser" comment="MARKERscenariocomment"><inputCells r="A1" val="MARKERscenariovalue"/></scenario></scenarios>'
    f'<autoFilter ref="A1:C4"><filterColumn colId="0"><filters><filter val="MARKERfilter"/></filters></filterColumn></autoFilter>{_RULES}'
    '<hyperlinks><hyperlink ref="A1" r:id="link" tooltip="MARKERtip"/><hyperlink ref="B1" location="MARKERlocation!A1" display="MARKERdisplay"/></hyperlinks>'
    '<headerFooter differentFirst="1" differentOddEven="1"><oddHeader>&amp;CMARKERheader</oddHeader><oddFooter>MARKERfooter</oddFooter><evenHeader>MARKEReven</evenHeader><firstFooter>MARKERfirst</firstFooter></headerFooter>'
    '<drawing r:id="drawing"/><legacyDrawing r:id="vml"/><legacyDrawingHF r:id="vmlhf"/><tableParts count="1"><tablePart r:id="table"/></tableParts>'
    '<extLst><ext uri="x"><x14:dataValidations xmlns:x14="y"><x14:dataValidation type="list"><x14:formula1><xm:f xmlns:xm="z">MARKERother!A1</xm:f></x14:formula1><xm:sqref xmlns:xm="z">C9</xm:sqref></x14:dataValidation></x14:dataValidations></ext></extLst></worksheet>'
)  # fmt: skip


def _parts() -> dict[str, str | bytes]:
    """Return the members by name."""
    vml = '<xml xmlns:v="urn:schemas-microsoft-com:vml" xmlns:o="urn:schemas-microsoft-com:office:office" xmlns:x="urn:schemas-microsoft-com:office:excel">{}</xml>'
    drawn = (
        f"<xdr:wsDr {_D}>{_shape('MARKERbox')}{_shape('MARKERlinked', 'textlink=' + chr(34) + 'MARKERtextlink' + chr(34))}"
        '<xdr:twoCellAnchor><xdr:grpSp><xdr:nvGrpSpPr><xdr:cNvPr id="3" name="g" descr="MARKERgroupalt"/></xdr:nvGrpSpPr><xdr:sp><xdr:nvSpPr><xdr:cNvPr id="9" name="i"/></xdr:nvSpPr><xdr:txBody><a:p><a:r><a:t>MARKERgrouped</a:t></a:r></a:p></xdr:txBody></xdr:sp></xdr:grpSp></xdr:twoCellAnchor>'
        '<xdr:twoCellAnchor><xdr:pic><xdr:nvPicPr><xdr:cNvPr id="4" name="p" title="MARKERpicturetitle" descr="MARKERpicturealt"/></xdr:nvPicPr><xdr:blipFill><a:blip r:embed="picture"/></xdr:blipFill></xdr:pic></xdr:twoCellAnchor>'
        '<xdr:twoCellAnchor><xdr:graphicFrame><xdr:nvGraphicFramePr><xdr:cNvPr id="5" name="c" descr="MARKERchartalt"/></xdr:nvGraphicFramePr><a:graphic><a:graphicData><c:chart r:id="chart"/></a:graphicData></a:graphic></xdr:graphicFrame></xdr:twoCellAnchor>'
        '<xdr:twoCellAnchor><xdr:graphicFrame><xdr:nvGraphicFramePr><xdr:cNvPr id="6" name="d"/></xdr:nvGraphicFramePr><a:graphic><a:graphicData><dgm:relIds r:dm="diagram"/></a:graphicData></a:graphic></xdr:graphicFrame></xdr:twoCellAnchor>'
        "<mc:AlternateContent><mc:Choice Requires='sle'><xdr:twoCellAnchor><xdr:graphicFrame><xdr:nvGraphicFramePr><xdr:cNvPr id='7' name='MARKERslicershape'/></xdr:nvGraphicFramePr></xdr:graphicFrame></xdr:twoCellAnchor></mc:Choice><mc:Fallback><xdr:sp><xdr:txBody><a:p><a:r><a:t>This shape represents a slicer. MARKERfallback</a:t></a:r></a:p></xdr:txBody></xdr:sp></mc:Fallback></mc:AlternateContent></xdr:wsDr>"
    )
    data = f"<dgm:dataModel {_D}><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>MARKERdiagram</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>"
    return {
        _MAIN: f'<workbook {_S}><sheets><sheet name="MARKERsheet" sheetId="1" r:id="s1"/><sheet name="MARKERhiddensheet" sheetId="2" state="hidden" r:id="s2"/><sheet name="MARKERveryhidden" sheetId="3" state="veryHidden" r:id="s3"/><sheet name="MARKERchartsheet" sheetId="4" r:id="cs"/><sheet name="MARKERdialog" sheetId="5" r:id="ds"/><sheet name="MARKERmacrosheet" sheetId="6" r:id="ms"/></sheets><definedNames><definedName name="MARKERname" comment="MARKERnamecomment">MARKERvalue</definedName></definedNames></workbook>',
        "xl/sharedStrings.xml": f"<sst {_S}><si><t>MARKERshared</t></si><si><r><t>MARKER</t></r><r><rPr><b/></rPr><t>parts</t></r></si></sst>",
        "xl/styles.xml": f'<styleSheet {_S}><fonts><font/></fonts><fills><fill><patternFill/></fill></fills><borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs><cellXfs><xf/></cellXfs><cellStyles><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles><dxfs><dxf/></dxfs></styleSheet>',
        _SHEET: _SHEET_XML,
        "xl/worksheets/sheet2.xml": f'<worksheet {_S}><sheetData><row r="1">{_cell("A1", "<is><t>MARKERinhidden</t></is>", "inlineStr")}</row></sheetData></worksheet>',
        "xl/worksheets/sheet3.xml": f'<worksheet {_S}><sheetData><row r="1">{_cell("A1", "<is><t>MARKERinveryhidden</t></is>", "inlineStr")}</row></sheetData></worksheet>',
        "xl/chartsheets/sheet1.xml": f'<chartsheet {_S}><headerFooter><oddHeader>MARKERchartheader</oddHeader></headerFooter><drawing r:id="drawing"/></chartsheet>',
        "xl/dialogsheets/sheet1.xml": f'<dialogsheet {_S}><drawing r:id="drawing"/></dialogsheet>',
        "xl/macrosheets/sheet1.xml": f'<worksheet {_S}><sheetData><row r="1">{_cell("A1", "<is><t>MARKERinmacrosheet</t></is>", "inlineStr")}</row></sheetData></worksheet>',
        _DRAWING: drawn,
        "xl/drawings/drawing2.xml": f'<xdr:wsDr {_D}><xdr:absoluteAnchor><xdr:graphicFrame><xdr:nvGraphicFramePr><xdr:cNvPr id="2" name="c"/></xdr:nvGraphicFramePr><a:graphic><a:graphicData><c:chart r:id="chart"/></a:graphicData></a:graphic></xdr:graphicFrame></xdr:absoluteAnchor></xdr:wsDr>',
        "xl/drawings/drawing3.xml": f"<xdr:wsDr {_D}>{_shape('MARKERondialog')}</xdr:wsDr>",
        "xl/drawings/vmlDrawing1.vml": vml.format('<v:shape><v:textbox><div>MARKERvml</div></v:textbox><x:ClientData ObjectType="Button"><x:FmlaMacro>MARKERclickmacro</x:FmlaMacro></x:ClientData></v:shape><v:shape alt="MARKERvmlalt"/>'),
        "xl/drawings/vmlDrawing2.vml": vml.format('<v:shape><v:imagedata o:relid="picture" o:title="MARKERheaderpicture"/></v:shape>'),
        "xl/charts/chart1.xml": _chart("MARKERchart"),
        "xl/charts/chart2.xml": _chart("MARKERsheetchart"),
        "xl/diagrams/data1.xml": data,
        "xl/media/image1.png": b"\x89PNGMARKERpixels",
        "xl/comments1.xml": f'<comments {_S}><authors><author>MARKERauthor</author></authors><commentList><comment ref="A1" authorId="0"><text><r><t>MARKERcomment</t></r></text></comment></commentList></comments>',
        "xl/threadedComments/threadedComment1.xml": '<ThreadedComments xmlns="x"><threadedComment ref="B1" personId="1"><text>MARKERthread</text></threadedComment></ThreadedComments>',
        "xl/persons/person.xml": '<personList xmlns="x"><person id="1" displayName="MARKERperson"/></personList>',
        "xl/tables/table1.xml": f'<table {_S} id="1" name="MARKERtable" displayName="MARKERtabledisplay" comment="MARKERtablecomment" ref="A1:C4"><tableColumns count="1"><tableColumn id="1" name="MARKERcolumn" totalsRowLabel="MARKERtotals"><calculatedColumnFormula>MARKERcalculated</calculatedColumnFormula></tableColumn></tableColumns></table>',
        "xl/pivotTables/pivotTable1.xml": f'<pivotTableDefinition {_S} name="MARKERpivot" dataCaption="MARKERcaption" cacheId="1"><location ref="A9:B9" firstHeaderRow="1" firstDataRow="1" firstDataCol="1"/><dataFields><dataField name="MARKERdatafield" fld="0"/></dataFields></pivotTableDefinition>',
        "xl/pivotCache/pivotCacheDefinition1.xml": f'<pivotCacheDefinition {_S} refreshedBy="MARKERrefreshed" r:id="records"><cacheSource type="worksheet"><worksheetSource ref="A1:B2" sheet="MARKERsource"/></cacheSource><cacheFields><cacheField name="MARKERfield"><sharedItems><s v="MARKERitem"/></sharedItems></cacheField></cacheFields></pivotCacheDefinition>',
        "xl/pivotCache/pivotCacheRecords1.xml": f'<pivotCacheRecords {_S}><r><s v="MARKERrecord"/></r></pivotCacheRecords>',
        "xl/externalLinks/externalLink1.xml": f'<externalLink {_S}><externalBook r:id="book"><sheetNames><sheetName val="MARKERlinkedsheet"/></sheetNames><definedNames><definedName name="MARKERlinkedname"/></definedNames><sheetDataSet><sheetData><row><cell t="str"><v>MARKERlinkedvalue</v></cell></row></sheetData></sheetDataSet></externalBook></externalLink>',
        "xl/slicers/slicer1.xml": '<slicers xmlns="x"><slicer name="MARKERslicer" caption="MARKERslicercaption"/></slicers>',
        "xl/slicerCaches/slicerCache1.xml": '<slicerCacheDefinition xmlns="x" name="MARKERslicercache"/>',
        "xl/connections.xml": f'<connections {_S}><connection name="MARKERconnection"/></connections>',
        "xl/ctrlProps/ctrlProp1.xml": '<formControlPr xmlns="x" objectType="Drop" fmlaRange="MARKERrange"/>',
        "xl/vbaProject.bin": b"MARKERmacro",
        "customXml/item1.xml": "<a>MARKERcustomxml</a>",
        "docProps/core.xml": '<cp:coreProperties xmlns:cp="x" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>MARKERproperty</dc:title><dc:creator>MARKERcreator</dc:creator></cp:coreProperties>',
        "docProps/custom.xml": '<Properties xmlns:v="v"><property name="MARKERcustomname"><v:lpwstr>MARKERcustomvalue</v:lpwstr></property></Properties>',
        "docProps/app.xml": '<Properties xmlns="x"><Company>MARKERcompany</Company><Manager>MARKERmanager</Manager></Properties>',
    }  # fmt: skip


_RELATIONS: dict[str, list[tuple[str, str, str]]] = {
    "": [("main", "officeDocument", _MAIN), ("core", "metadata/core-properties", "docProps/core.xml")],
    _MAIN: [
        ("s1", "worksheet", "worksheets/sheet1.xml"), ("s2", "worksheet", "worksheets/sheet2.xml"), ("s3", "worksheet", "worksheets/sheet3.xml"),
        ("cs", "chartsheet", "chartsheets/sheet1.xml"), ("ds", "dialogsheet", "dialogsheets/sheet1.xml"), ("ms", f"{_MICROSOFT}/2006/relationships/xlMacrosheet", "macrosheets/sheet1.xml"),
        ("strings", "sharedStrings", "sharedStrings.xml"), ("styles", "styles", "styles.xml"), ("person", f"{_MICROSOFT}/2017/10/relationships/person", "persons/person.xml"),
        ("external", "externalLink", "externalLinks/externalLink1.xml"), ("cache", "pivotCacheDefinition", "pivotCache/pivotCacheDefinition1.xml"), ("connections", "connections", "connections.xml"),
        ("slicer", f"{_MICROSOFT}/2007/relationships/slicerCache", "slicerCaches/slicerCache1.xml"), ("vba", f"{_MICROSOFT}/2006/relationships/vbaProject", "vbaProject.bin"), ("custom", "customXml", "../customXml/item1.xml"),
    ],
    _SHEET: [
        ("link", "hyperlink", "https://example.org/MARKERtarget"), ("drawing", "drawing", "../drawings/drawing1.xml"), ("vml", "vmlDrawing", "../drawings/vmlDrawing1.vml"),
        ("vmlhf", "vmlDrawing", "../drawings/vmlDrawing2.vml"), ("table", "table", "../tables/table1.xml"), ("comments", "comments", "../comments1.xml"), ("pivot", "pivotTable", "../pivotTables/pivotTable1.xml"),
        ("thread", f"{_MICROSOFT}/2017/10/relationships/threadedComment", "../threadedComments/threadedComment1.xml"), ("control", "ctrlProp", "../ctrlProps/ctrlProp1.xml"), ("slicer", f"{_MICROSOFT}/2007/relationships/slicer", "../slicers/slicer1.xml"),
    ],
    "xl/chartsheets/sheet1.xml": [("drawing", "drawing", "../drawings/drawing2.xml")],
    "xl/dialogsheets/sheet1.xml": [("drawing", "drawing", "../drawings/drawing3.xml")],
    _DRAWING: [("chart", "chart", "../charts/chart1.xml"), ("picture", "image", "../media/image1.png"), ("diagram", "diagramData", "../diagrams/data1.xml"), ("link", "hyperlink", "https://example.org/MARKERshapelink")],
    "xl/drawings/drawing2.xml": [("chart", "chart", "../charts/chart2.xml")],
    "xl/pivotTables/pivotTable1.xml": [("cache", "pivotCacheDefinition", "../pivotCache/pivotCacheDefinition1.xml")],
    "xl/pivotCache/pivotCacheDefinition1.xml": [("records", "pivotCacheRecords", "pivotCacheRecords1.xml")],
    "xl/externalLinks/externalLink1.xml": [("book", "externalLinkPath", "file:///MARKERlinkedfile.xlsx")],
}  # fmt: skip
_CONTENT = {
    "workbook": "sheet.main", "sheet": "worksheet", "sharedStrings": "sharedStrings", "styles": "styles", "comments1": "comments", "table1": "table",
    "pivotTable1": "pivotTable", "pivotCacheDefinition1": "pivotCacheDefinition", "pivotCacheRecords1": "pivotCacheRecords", "externalLink1": "externalLink",
}  # fmt: skip


def _type_of(name: str) -> str:
    stem = name.rpartition("/")[2].removesuffix(".xml")
    special = {"chartsheets": f"{_TYPES}.chartsheet+xml", "dialogsheets": f"{_TYPES}.dialogsheet+xml", "macrosheets": "application/vnd.ms-excel.macrosheet+xml",
               "charts": "application/vnd.openxmlformats-officedocument.drawingml.chart+xml", "drawings": "application/vnd.openxmlformats-officedocument.drawing+xml"}  # fmt: skip
    folder = name.split("/")[-2]
    kind = _CONTENT.get("sheet" if folder == "worksheets" else stem)
    return special.get(folder) or (f"{_TYPES}.{kind}+xml" if kind else "application/xml")


def full_xlsx() -> bytes:
    parts = _parts()
    package = "http://schemas.openxmlformats.org/package/2006"
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{_type_of(name)}"/>' for name in parts if name.endswith(".xml")
    )
    parts["[Content_Types].xml"] = (
        f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/><Default Extension="bin" ContentType="application/vnd.ms-office.vbaProject"/><Default Extension="vml" ContentType="application/vnd.openxmlformats-officedocument.vmlDrawing"/>{overrides}</Types>'
    )
    for name, relations in _RELATIONS.items():
        folder, _, base = name.rpartition("/")
        inner = "".join(
            f'<Relationship Id="{key}" Type="{kind if ":" in kind else f"{package}/relationships/{kind}" if "core" in kind else f"{_OFFICE}/{kind}"}" Target="{target}"{" TargetMode=" + chr(34) + "External" + chr(34) if ":" in target else ""}/>'
            for key, kind, target in relations
        )
        parts[f"{folder}/_rels/{base}.rels".lstrip("/")] = (
            f'<Relationships xmlns="{package}/relationships">{inner}</Relationships>'
        )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()
