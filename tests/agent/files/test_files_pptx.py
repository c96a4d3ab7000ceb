"""Slides: in the order of the show, with tables, charts' data, notes, alt texts, and what is hidden."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image
from pptx import Presentation
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from support.contents import Open, named, text_of


@pytest.fixture
def show() -> Presentation:
    """A presentation with three slides. The second one is hidden."""
    show = Presentation()
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "Plan"
    first.placeholders[1].text = "alpha\nbeta"
    first.placeholders[1].text_frame.paragraphs[1].level = 1
    first.notes_slide.notes_text_frame.text = "Greet everybody."
    second = show.slides.add_slide(show.slide_layouts[5])
    second.shapes.title.text = "Figures"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for number, text in enumerate(("region", "sum", "East", "12")):
        table.cell(number // 2, number % 2).text = text
    data = CategoryChartData()
    data.categories = ["East", "West"]
    data.add_series("Q1", (1.5, None))
    data.add_series("Q2", (3, 4))
    second.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(4), Inches(4), Inches(3), data)
    second._element.set("show", "0")
    show.slides.add_slide(show.slide_layouts[6])
    return show


def saved(show: Presentation) -> bytes:
    out = io.BytesIO()
    show.save(out)
    return out.getvalue()


def test_everything_on_the_slides(open_file: Open, show: Presentation) -> None:
    contents = open_file("pptx", saved(show))
    assert named(contents) == ["slide 1", "slide 2 (hidden)", "slide 3"]
    assert [section.text for section in contents.sections()] == [
        "## Plan\n\nalpha\n- beta\n\n[speaker notes] Greet everybody.",
        "## Figures\n\n| region | sum |\n| --- | --- |\n| East | 12 |\n\n"
        "[bar chart]\n|  | Q1 | Q2 |\n| --- | --- | --- |\n| East | 1.5 | 3 |\n| West |  | 4 |",
        "(an empty slide)",
    ]
    first, properties, slides = contents.summary.splitlines()
    assert first == "Presentation of 3 slides, 1 of them hidden."
    assert properties.startswith("Properties: description generated")
    assert slides == "Slides: 1 Plan; 2 Figures; 3 (no title)"
    assert contents.lost[0] == "Hidden in the slide show, but read here: slide 2."


def test_the_order_of_the_show_counts(open_file: Open, show: Presentation) -> None:
    """Slides that were moved have file names in another order."""
    order = show.slides._sldIdLst
    order.insert(0, order[1])
    assert open_file("pptx", saved(show)).summary.endswith("1 Figures; 2 Plan; 3 (no title)")


def test_pictures_links_and_merged_cells(open_file: Open, tmp_path: Path) -> None:
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    out = io.BytesIO()
    Image.new("RGB", (9, 9), "red").save(out, "png")
    picture = slide.shapes.add_picture(io.BytesIO(out.getvalue()), 0, 0)
    picture._element.nvPicPr.cNvPr.set("descr", "a red square")
    frame = slide.shapes.add_textbox(0, Inches(2), Inches(2), Inches(1)).text_frame
    frame.text = "our site"
    frame.paragraphs[0].runs[0].hyperlink.address = "https://example.org/"
    table = slide.shapes.add_table(1, 2, 0, Inches(4), Inches(4), Inches(1)).table
    table.cell(0, 0).text = "both"
    table.cell(0, 0).merge(table.cell(0, 1))
    contents = open_file("pptx", saved(show))
    assert text_of(contents).split("\n\n")[:2] == [
        "[picture slide-1-picture-1.png: a red square]",
        "[our site](https://example.org/)",
    ]
    assert any("merged" in sentence for sentence in contents.lost)
    (kept,) = contents.save_data(tmp_path)
    assert (kept.name, kept.read_bytes()) == ("slide-1-picture-1.png", out.getvalue())


def test_a_scatter_chart(open_file: Open) -> None:
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    data = XyChartData()
    series = data.add_series("path")
    for x, y in ((1, 2.5), (3, 4)):
        series.add_data_point(x, y)
    slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, 0, 0, Inches(4), Inches(4), data)
    assert (
        text_of(open_file("pptx", saved(show))) == "[scatter chart]\n|  | path |\n| --- | --- |\n| 1 | 2.5 |\n| 3 | 4 |"
    )
