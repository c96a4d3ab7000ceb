# ruff: noqa: E501 - XML is easier to read on one line
"""A presentation with a marker in each place that may hold text. A marker is `MARKER` and the name of the place."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from lxml import etree
from PIL import Image
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.util import Inches

_SPACES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_PLACE = (Inches(1), Inches(1), Inches(2), Inches(1))


def _xml(text: str) -> Any:
    return etree.fromstring(f"<x {_SPACES}>{text}</x>")[0]


def _shape(text: str, *, properties: str = "", placeholder: str = "", name: str = "s") -> str:
    kind = f'<p:ph type="{placeholder}"/>' if placeholder else ""
    return f'<p:sp><p:nvSpPr><p:cNvPr id="77" name="{name}">{properties}</p:cNvPr><p:cNvSpPr/><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p>{text if text.startswith("<") else f"<a:r><a:t>{text}</a:t></a:r>"}</a:p></p:txBody></p:sp>'


def _related(part: Any, kind: str, name: str, content: str | bytes, *, content_type: str = "application/xml") -> str:
    blob = content.encode() if isinstance(content, str) else content
    kind = kind if ":" in kind else _OFFICE + kind
    return str(part.relate_to(Part(PackURI(name), content_type, part.package, blob), kind))


def _picture() -> io.BytesIO:
    out = io.BytesIO()
    Image.new("RGB", (9, 9)).save(out, "png")
    out.seek(0)
    return out


def _outside(part: Any, kind: str, target: str) -> str:
    return str(part.relate_to(target, _OFFICE + kind, is_external=True))


def _first_slide(show: Any) -> None:
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "MARKERtitle", "MARKERbody"
    slide._element.cSld.set("name", "MARKERslidename")
    part, tree = slide.part, slide.shapes._spTree
    group = slide.shapes.add_group_shape()
    group._element.nvGrpSpPr.cNvPr.set("descr", "MARKERgroupalt")
    inner = group.shapes.add_group_shape()
    inner.shapes.add_textbox(*_PLACE).text_frame.text = "MARKERnested"
    cells = slide.shapes.add_table(3, 3, *_PLACE).table
    cells.cell(0, 0).text, cells.cell(2, 2).text, cells.cell(0, 1).text = (
        "MARKERcell",
        "MARKERlastcell",
        "MARKERcovered",
    )
    cells._tbl.tr_lst[0].tc_lst[0].set("gridSpan", "2")
    cells._tbl.tr_lst[0].tc_lst[1].set("hMerge", "1")
    slide.shapes.add_picture(_picture(), *_PLACE)._element.nvPicPr.cNvPr.set("title", "MARKERpicturetitle")
    slide.shapes.add_picture(_picture(), *_PLACE)._element.nvPicPr.cNvPr.set("descr", "MARKERpicturealt")
    line = slide.shapes.add_connector(1, 0, 0, 9, 9)
    line._element.nvCxnSpPr.cNvPr.set("descr", "MARKERconnectoralt")
    film = slide.shapes.add_movie(io.BytesIO(b"film"), *_PLACE, poster_frame_image=_picture())
    film._element.nvPicPr.cNvPr.set("name", "MARKERfilm.mp4")
    sheet = io.BytesIO(b"MARKERembedded")
    slide.shapes.add_ole_object(sheet, "MARKERprogram", *_PLACE)._element.nvGraphicFramePr.cNvPr.set(
        "descr", "MARKERolealt"
    )
    click = _outside(part, "hyperlink", "https://example.org/MARKERtarget")
    hover = _outside(part, "hyperlink", "https://example.org/MARKERhover")
    whole = _outside(part, "hyperlink", "https://example.org/MARKERshapelink")
    link = f'<a:r><a:rPr><a:hlinkClick r:id="{click}" tooltip="MARKERtooltip"/><a:hlinkMouseOver r:id="{hover}"/></a:rPr><a:t>here</a:t></a:r>'
    formula = '<mc:AlternateContent><mc:Choice Requires="a14"><a14:m><m:oMath><m:r><m:t>MARKERformula</m:t></m:r></m:oMath></a14:m></mc:Choice><mc:Fallback><a:r><a:t>old</a:t></a:r></mc:Fallback></mc:AlternateContent>'
    for shape in (
        _shape(link),
        _shape(formula),
        _shape("<a:fld id='{1}' type='datetime'><a:t>MARKERfield</a:t></a:fld>"),
        _shape("x", properties=f'<a:hlinkClick r:id="{whole}" tooltip="MARKERshapetip"/>'),
        _shape("MARKERfooter", placeholder="ftr"),
        f"<mc:AlternateContent><mc:Choice Requires='a14'>{_shape('MARKERchoice')}</mc:Choice><mc:Fallback>{_shape('MARKERchoice')}</mc:Fallback></mc:AlternateContent>",
    ):
        tree.append(_xml(shape))
    data = '<dgm:dataModel {}><dgm:ptLst><dgm:pt modelId="1"><dgm:prSet custT="1"/><dgm:t><a:bodyPr/><a:p><a:r><a:t>MARKERdiagram</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>'
    diagram = _related(part, "diagramData", "/ppt/diagrams/data1.xml", data.format(_SPACES))
    tree.append(
        _xml(
            f'<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="8" name="d" descr="MARKERdiagramalt"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm/><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/diagram"><dgm:relIds r:dm="{diagram}"/></a:graphicData></a:graphic></p:graphicFrame>'
        )
    )
    _related(
        part, "tags", "/ppt/tags/tag1.xml", f'<p:tagLst {_SPACES}><p:tag name="MARKERTAG" val="MARKERtag"/></p:tagLst>'
    )
    slide._element.append(
        _xml(
            '<p:transition><p:sndAc><p:stSnd><p:snd r:embed="none" name="MARKERsound.wav"/></p:stSnd></p:sndAc></p:transition>'
        )
    )
    old = f'<p:cmLst {_SPACES}><p:cm authorId="0" dt="2026-01-01"><p:text>MARKERcomment</p:text></p:cm></p:cmLst>'
    _related(part, "comments", "/ppt/comments/comment1.xml", old)
    threads = f'<q:cmLst xmlns:q="http://schemas.microsoft.com/office/powerpoint/2018/8/main" {_SPACES}><q:cm authorId="{{A}}"><q:replyLst><q:reply authorId="{{A}}"><q:txBody><a:p><a:r><a:t>MARKERreply</a:t></a:r></a:p></q:txBody></q:reply></q:replyLst><q:txBody><a:p><a:r><a:t>MARKERthread</a:t></a:r></a:p></q:txBody></q:cm></q:cmLst>'
    _related(
        part,
        "http://schemas.microsoft.com/office/2018/10/relationships/comments",
        "/ppt/comments/modernComment_1.xml",
        threads,
    )
    notes = slide.notes_slide
    notes.notes_text_frame.text = "MARKERnotes"
    notes.shapes._spTree.append(_xml(_shape("MARKERdrawnnote")))
    notes.shapes._spTree.append(_xml(_shape("MARKERnotesheader", placeholder="hdr")))
    notes.part.notes_master.shapes._spTree.append(_xml(_shape("MARKERnotesmaster")))


def _chart_slide(show: Any) -> None:
    slide = show.slides.add_slide(show.slide_layouts[5])
    slide._element.set("show", "0")
    slide.shapes.title.text = "MARKERhidden"
    data = CategoryChartData()
    data.categories = ["MARKERcategory", "b"]
    data.add_series("MARKERseries", (1, 2))
    frame = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *_PLACE, data)
    frame._element.nvGraphicFramePr.cNvPr.set("descr", "MARKERchartalt")
    chart = frame.chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "MARKERcharttitle"
    chart.value_axis.has_title = True
    chart.value_axis.axis_title.text_frame.text = "MARKERaxis"
    series = chart.plots[0].series[0]
    series.points[0].data_label.text_frame.text = "MARKERlabel"
    series._element.append(_xml("<c:trendline><c:name>MARKERtrend</c:name></c:trendline>"))
    more = '<c:extLst><c:ext uri="x"><c15:datalabelsRange xmlns:c15="http://schemas.microsoft.com/office/drawing/2012/chart"><c15:f>A1</c15:f><c15:dlblRangeCache><c:pt idx="0"><c:v>MARKERlabelcell</c:v></c:pt></c15:dlblRangeCache></c15:datalabelsRange></c:ext></c:extLst>'
    series._element.append(_xml(more))
    drawn = '<c:userShapes {}><x:relSizeAnchor xmlns:x="http://schemas.openxmlformats.org/drawingml/2006/chartDrawing"><x:sp><x:txBody><a:p><a:r><a:t>MARKERdrawnchart</a:t></a:r></a:p></x:txBody></x:sp></x:relSizeAnchor></c:userShapes>'
    _related(chart.part, "chartUserShapes", "/ppt/drawings/drawing1.xml", drawn.format(_SPACES))


def full_pptx() -> bytes:
    show = Presentation()
    _first_slide(show)
    _chart_slide(show)
    part, root = show.part, show.part._element
    show.core_properties.keywords, show.core_properties.title = "MARKERkeyword", "MARKERproperty"
    show.slide_layouts[1].shapes._spTree.append(_xml(_shape("MARKERlayout")))
    show.slide_layouts[1].placeholders[0].text_frame.text = "MARKERprompt"
    show.slide_layouts[6].shapes._spTree.append(_xml(_shape("MARKERunusedlayout")))
    show.slide_master.shapes._spTree.append(_xml(_shape("MARKERmaster")))
    handout = (
        f"<p:handoutMaster {_SPACES}><p:cSld><p:spTree>{_shape('MARKERhandout')}</p:spTree></p:cSld></p:handoutMaster>"
    )
    _related(part, "handoutMaster", "/ppt/handoutMasters/handoutMaster1.xml", handout)
    authors = f'<p:cmAuthorLst {_SPACES}><p:cmAuthor id="0" name="MARKERauthor"/></p:cmAuthorLst>'
    _related(part, "commentAuthors", "/ppt/commentAuthors.xml", authors)
    modern = '<q:authorLst xmlns:q="http://schemas.microsoft.com/office/powerpoint/2018/8/main"><q:author id="{A}" name="MARKERthreadauthor"/></q:authorLst>'
    _related(part, "http://schemas.microsoft.com/office/2018/10/relationships/authors", "/ppt/authors.xml", modern)
    first = root.sldIdLst[0].get("id")
    root.append(
        _xml('<p:custShowLst><p:custShow name="MARKERcustomshow" id="0"><p:sldLst/></p:custShow></p:custShowLst>')
    )
    root.append(
        _xml(
            f'<p:extLst><p:ext uri="x"><p14:sectionLst xmlns:p14="http://schemas.microsoft.com/office/powerpoint/2010/main"><p14:section name="MARKERsection" id="1"><p14:sldIdLst><p14:sldId id="{first}"/></p14:sldIdLst></p14:section></p14:sectionLst></p:ext></p:extLst>'
        )
    )
    _related(part, "customXml", "/customXml/item1.xml", "<a>MARKERcustomxml</a>")
    _related(
        part,
        "http://schemas.microsoft.com/office/2006/relationships/vbaProject",
        "/ppt/vbaProject.bin",
        b"MARKERmacro",
        content_type="application/vnd.ms-office.vbaProject",
    )
    out = io.BytesIO()
    show.save(out)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(
            "docProps/custom.xml",
            '<Properties xmlns:v="v"><property name="MARKERcustomname"><v:lpwstr>MARKERcustomvalue</v:lpwstr></property></Properties>',
        )
    return out.getvalue()
