"""Web pages: tables, links and headings stay; scripts go and are told."""

from __future__ import annotations

from pathlib import Path

from support.contents import Open, text_of


def page(body: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()


def test_headings_tables_links_and_lists(open_file: Open) -> None:
    table = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2|3</td></tr></table>"
    links = '<p>see <a href="https://example.org/x?a=1&amp;b=2">this</a></p><ul><li>one<li>two</ul>'
    contents = open_file("html", page(f"<h1>Costs</h1>{links}{table}", "<title>My page</title>"))
    assert text_of(contents) == (
        "# Costs\n\nsee [this](https://example.org/x?a=1&b=2)\n\n- one\n- two\n\n"
        "| a | b |\n| --- | --- |\n| 1 | 2\\|3 |"
    )
    assert contents.summary == "Web page “My page”. 1 tables, 1 links."
    assert contents.lost == []


def test_scripts_comments_and_frames_are_dropped_and_told(open_file: Open) -> None:
    body = '<script>let x = "no"</script><!-- draft --><p>yes</p><style>p{}</style><iframe src="https://example.org"></iframe>'
    contents = open_file("html", page(body))
    assert text_of(contents) == "yes"
    assert contents.lost == [
        "Omitted: 1 script, 1 iframe. Content that scripts would add is missing.",
        "Pages in frames are not read: https://example.org.",
        "1 comment omitted.",
    ]


def test_merged_cells_do_not_shift_columns(open_file: Open) -> None:
    rows = "<tr><td rowspan=2>A</td><td>1</td></tr><tr><td>2</td></tr><tr><td colspan=2>B</td></tr>"
    contents = open_file("html", page(f"<table><tr><th>x</th><th>y</th></tr>{rows}</table>"))
    assert text_of(contents).splitlines()[2:] == ["| A | 1 |", "|  | 2 |", "| B | |"]
    assert "merged" in contents.lost[0]


def test_what_a_style_strikes_through_is_marked(open_file: Open) -> None:
    style = "@media screen { p { color: red } tr.out td { Text-Decoration: Line-Through } }"
    style += "@media print { td { text-decoration: line-through } } td.back.in { text-decoration: none }"
    style += "".join(f"{odd} {{text-decoration: line-through}}" for odd in (":((x)", "p::after", "\\ffffffff"))
    rows = "<table><tr><td>Tea</td><td>3</td></tr><tr class=out><td>Milk</td><td class='back in'>5</td></tr></table>"
    rows = rows.replace("</table>", "<tr><td><strike>Jam</strike></td><td>1</td></tr></table>")
    body = f"{rows}<p style='text-decoration:line-through'>gone <s>twice, and <b>again</b></s></p>"
    text = text_of(open_file("html", page(body, f"<style>{style}</style>")))
    table = "|  |  |\n| --- | --- |\n| Tea | 3 |\n| ~~Milk~~ | 5 |\n| ~~Jam~~ | 1 |"
    assert text == f"{table}\n\n~~gone~~ ~~twice, and **again**~~"


def test_fields_pictures_and_drawings(open_file: Open, tmp_path: Path) -> None:
    body = (
        '<input name="age" value="42"><img alt="a cat" src="cat.png"><img alt="dot" src="data:image/png;base64,AAAA">'
        "<svg><text>drawn</text></svg><p hidden>secret</p>"
    )
    contents = open_file("html", page(body))
    for words in ("[field age: 42]", "![a cat](cat.png)", "[picture picture-1.png: dot]", "drawn", "secret"):
        assert words in text_of(contents)
    assert [path.read_bytes() for path in contents.save_data(tmp_path)] == [b"\0\0\0"]
    assert any("1 hidden element " in sentence for sentence in contents.lost)


def test_a_page_nested_too_deeply_keeps_its_words(open_file: Open) -> None:
    contents = open_file("html", page("<div>" * 5000 + "<p>deep</p>" + "</div>" * 5000 + "<p>after</p>"))
    assert "deep" in text_of(contents)
    assert any("nested too deeply" in sentence for sentence in contents.lost)
