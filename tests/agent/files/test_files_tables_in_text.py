# ruff: noqa: E501 - XML is easier to read on one line
"""Tables in documents become CSV files for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.calls.files import RecordedFiles
from agent.calls.recorder import Recorder
from agent.files.contents import Section, in_sections, table, tables_in
from agent.material.attached import files_text
from agent.store.journal import Journal
from support.contents import Open, text_of
from support.docx_bytes import docx_bytes, paragraph
from support.odf_bytes import odf


def joined(sections: list[Section]) -> str:
    return "\n\n".join(f"## {one.name}\n\n{one.text}" for one in sections)


def test_a_table_on_several_pages_is_one() -> None:
    rows = [["n", "word"], *([str(number), "x" * 50] for number in range(300))]
    sections = in_sections([table(rows)], 4000)
    assert len(sections) > 2
    assert tables_in(joined(sections)) == [rows]


CELL = "<w:tc>{}</w:tc>"
ODF_CELL = "<table:table-cell><text:p>{}</text:p></table:table-cell>"


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("docx", docx_bytes(f"<w:tbl>{''.join(f'<w:tr>{CELL.format(paragraph(a))}{CELL.format(paragraph(b))}</w:tr>' for a, b in (('a', 'b'), ('1', '2')))}</w:tbl>")),
        ("odt", odf("odt", f"<table:table>{''.join(f'<table:table-row>{ODF_CELL.format(a)}{ODF_CELL.format(b)}</table:table-row>' for a, b in (('a', 'b'), ('1', '2')))}</table:table>")),
        ("html", b"<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"),
    ],
    ids=["docx", "odt", "html"],
)  # fmt: skip
def test_tables_of_documents(open_file: Open, kind: str, content: bytes) -> None:
    assert tables_in(text_of(open_file(kind, content))) == [[["a", "b"], ["1", "2"]]]


@pytest.mark.parametrize(("count", "said"), [(1, "1 table"), (5, "5 files in")])
async def test_programs_get_the_tables_of_a_document_as_csv(tmp_path: Path, count: int, said: str) -> None:
    page = tmp_path / "a.html"
    page.write_text(
        "<p>x</p>".join(["<table><tr><th>a</th><th>b</th></tr><tr><td>1, 2</td><td>3</td></tr></table>"] * count)
    )
    journal = Journal.create(tmp_path / "journal.jsonl")
    seen = await RecordedFiles(tmp_path / "made", Recorder(journal)).look(page, "a.html")
    await journal.aclose()
    tables = [Path(path) for path in seen["data"] if path.endswith(".csv")]
    assert [path.name for path in tables] == [f"table-{number}.csv" for number in range(1, count + 1)]
    assert tables[0].read_text() == 'a,b\n"1, 2",3\n'
    shown = str(files_text([seen]))
    assert said in shown
    assert str(tables[0].parent) in shown
