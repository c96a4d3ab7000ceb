"""Tables as text: dialect, encoding, pages, and what is told when something is wrong with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent.files.contents import FileProblem
from agent.files.reading import preview, read

pytestmark = pytest.mark.usefixtures("in_process")


def written(path: Path, content: str | bytes, encoding: str = "utf-8") -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


async def test_text_stays_text_and_the_dialect_is_told(tmp_path: Path) -> None:
    path = written(tmp_path / "prices.csv", 'id;name;price\n00001;"Tea; green";1,50\n00002;Coffee;2,75\n')
    seen = await preview(path)
    assert "2 rows × 3 columns, semicolon-separated" in seen.summary
    assert (seen.facts["delimiter"], seen.facts["decimal"]) == (";", ",")
    assert (seen.text, seen.label) == ('id;name;price\n00001;"Tea; green";1,50\n00002;Coffee;2,75', "complete")


@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-8-sig", "utf-8"),
        ("utf-16", "utf-16-le"),
        ("shift_jis", "cp932"),
    ],
)
async def test_encodings_are_found(encoding: str, name: str, tmp_path: Path) -> None:
    path = written(
        tmp_path / "tea.csv", "品名,値段,産地\n緑茶,100,静岡県\n紅茶,250,鹿児島県\n烏龍茶,300,台湾\n", encoding
    )
    seen = await preview(path)
    assert seen.facts["encoding"] == name
    assert seen.facts["header"] == ["品名", "値段", "産地"]
    assert "紅茶,250,鹿児島県" in seen.text


async def test_pages_go_on_where_the_last_one_ended(tmp_path: Path) -> None:
    rows = "".join(f'{i},"line one of {i}\nline two",{i * 7}\n' for i in range(1, 701))
    path = written(tmp_path / "many.csv", "n,text,seven\n" + rows)
    seen = await preview(path)
    assert seen.facts["rows"] == 700
    assert seen.sections
    whole = ""
    for page in range(1, seen.sections + 1):
        part = await read(path, page=page)
        assert f"Continue with page={page + 1}" in part.more or page == seen.sections
        whole += part.text
    assert part.more == ""
    assert [f"| {i + 1} | {i} | line one of {i}<br>line two | {i * 7} |" in whole for i in (1, 350, 700)] == [True] * 3
    assert whole.count("line one of") == 700
    with pytest.raises(FileProblem, match=f"no page {seen.sections + 1}") as raised:
        await read(path, page=seen.sections + 1)
    assert raised.value.reason == "range"


async def test_a_quote_that_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.files.tables.delimited._MAX_FIELD_CHARS", 1 << 16)
    path = written(tmp_path / "a.csv", 'a,b\n1,"2\n' + "3,4\n" * 50_000)
    with pytest.raises(FileProblem, match="field larger than field limit"):
        await read(path)


@pytest.mark.parametrize(
    ("content", "delimiter", "decimal"),
    [
        ("A;1,5\nB;2,5\n", ";", ","),
        ("1,5;2,5\n3,5;4,5\n", ";", ","),
        ('"1,5";"2,5"\n"3,5";"4,5"\n', ";", ","),
        ("A\t1,5\nB\t2,5\n", "\t", ","),
        ("1,a;b\n2,c;d\n", ",", "."),
        ("id,refs\n1,2;3\n2,3;4\n", ",", "."),
        ("n,note\n1,5;5,7\n2,6;6,8\n", ",", "."),
        ("1,2\n3,4\n", ",", "."),
    ],
)
async def test_commas_of_numbers_are_no_delimiters(content: str, delimiter: str, decimal: str, tmp_path: Path) -> None:
    facts = (await preview(written(tmp_path / "a.csv", content))).facts
    assert (facts["delimiter"], facts["decimal"]) == (delimiter, decimal)


READING_ALONE = """
import asyncio, pathlib, resource, sys
from agent.files.reading import preview, read

async def main(path):
    seen = await preview(path)
    last = await read(path, page=seen.sections or 0)
    print(seen.facts["rows"], resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    print(last.text)

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


def test_a_large_table_is_paged_with_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    block = "".join(f'{i},"code, {i:07d}",some words\n' for i in range(20_000))
    path.write_text("id,code,note\n" + block * 10)
    done = subprocess.run(
        [sys.executable, "-c", READING_ALONE, str(path)], capture_output=True, text=True, check=True, timeout=50
    )
    first, _, text = done.stdout.partition("\n")
    rows, kilobytes = map(int, first.split())
    assert rows == 200_000
    assert "| 200001 | 19999 | code, 0019999 | some words |" in text
    assert kilobytes < 100 << 10


async def test_one_endless_line_is_no_table(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "a,b," * 10_000_000)
    with pytest.raises(FileProblem, match="not a table") as raised:
        await read(path)
    assert raised.value.reason == "too_large"
    with pytest.raises(FileProblem, match="not a table"):
        await preview(path)


@pytest.mark.parametrize(
    ("content", "header", "rows", "note"),
    [
        (
            "sep=;\r\nName;Preis\r\nBolzen;1,50\r\nMutter;2,25\r\n",
            ["Name", "Preis"],
            2,
            "1 row above the table: sep=;.",
        ),
        ('"sep=|"\na|b\n1|2\n', ["a", "b"], 1, "1 row above"),
        (
            "Bank\nAccount: 1\n\nDate;Text;Sum\n1.1.2024;Rent;-5,00\n2.1.2024;Pay;2,50\n",
            ["Date", "Text", "Sum"],
            2,
            "Bank",
        ),
        ("Report,2024\nBy,Ann\n\na,b,c,d\n1,2,3,4\n5,6,7,8\n", ["a", "b", "c", "d"], 2, "Report,2024; By,Ann"),
        ("a,b,a,\n1,2,3,4\n", ["a", "b", "a", ""], 1, "Several columns have the same name: a."),
        ("a,b\n1,2\n3\n4,5\n", ["a", "b"], 3, "1 row with more or fewer than 2 cells."),
        ("a,b\n1,2\n\x1a", ["a", "b"], 1, "end-of-file marks"),
        ("a,b\n1,2\n\ufeffa,b\n3,4\n", ["a", "b"], 3, "byte order marks"),
        ("only\none\ntwo, with comma\n", ["only"], 2, ""),
    ],
    ids=["sep", "sep in quotes", "title", "facts", "names twice", "ragged", "end of file", "marks", "one column"],
)
async def test_what_stands_around_a_table_is_no_part_of_it(
    content: str, header: list[str], rows: int, note: str, tmp_path: Path
) -> None:
    seen = await preview(written(tmp_path / "a.csv", content))
    assert [one for one in seen.facts["header"] if one or "" in header] == header
    assert seen.facts["rows"] == rows
    assert note in " ".join(seen.notes)


@pytest.mark.parametrize(
    ("content", "words", "note"),
    [
        (b"a,b\n" + b"1,2\n" * 90_000 + "Köln,1\n".encode("cp1252"), "Köln", ""),
        ("Köln,1\n".encode() + b"1,2\n" * 90_000 + "Größe,1\n".encode("cp1252"), "Größe", "Windows-1252"),
        ("Größe,1\nKöln,2\n".encode() + "Straße,3\nÜbersee,4\n".encode("cp1252"), "Straße", "Windows-1252"),
        (b"a,b\n" + b"1,2\n" * 90_000 + "чай,1\nкофе и молоко,2\n".encode("cp1251"), "кофе", ""),
    ],
    ids=["all late", "one late line", "half of the lines", "late Cyrillic"],
)
async def test_bytes_of_another_encoding_are_found_anywhere(
    content: bytes, words: str, note: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.csv", content)
    assert words in (await read(path, find=words)).text
    assert note in " ".join((await preview(path)).notes)
