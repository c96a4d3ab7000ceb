"""Text as it stands, in pages, with the structure that its kind tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.files.reading import preview, read

pytestmark = pytest.mark.usefixtures("in_process")


def file(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


PDB = (
    "HEADER    HYDROLASE\nTITLE     AN ENZYME\n"
    "ATOM      1  N   MET A   1      10.000  20.000  30.000  1.00  0.00           N\n"
    "ATOM      2  CA  MET A   1      11.000  21.000  31.000  1.00  0.00           C\n"
    "ATOM      3  N   GLY B   2      12.000  22.000  32.000  1.00  0.00           N\nEND\n"
)


@pytest.mark.parametrize(
    ("name", "content", "summary"),
    [
        ("a.txt", "one two\nthree\n", "Text: 2 lines, 3 words"),
        ("a.md", "# Tea\n\n## Milk\n", "Markdown: 3 lines, 4 words"),
        (
            "a.json",
            '{"a": [1, {"b": "x"}], "c": null}',
            "{a: list of 2: number (1) or {b: text} (1), c: null}",
        ),
        (
            "a.jsonl",
            '{"a": 1}\n{"a": 2, "b": 3}\n',
            "2 records, each {a: number 1 to 2, b: number (in 1)}",
        ),
        ("a.jsonld", '{"@context": "https://schema.org"}', "JSON: {@context: text}"),
        ("a.xml", "<feed xmlns='urn:x'><e/><e/></feed>", "root <feed>, 3 elements of 2 kinds"),
        ("a.py", "import os\n\ndef f():\n    pass\n\nclass C: ...\n", "Source code (.py): 6 lines, 8 words"),
        ("a.pdb", PDB, "PDB: 6 lines, 42 words"),
        ("a.cif", "data_1ABC\n#\n_entry.id 1ABC\nloop_\n_cell.a\n1\n", "CIF: 6 lines, 7 words"),
    ],
)
async def test_the_structure_is_told(name: str, content: str, summary: str, tmp_path: Path) -> None:
    seen = await preview(file(tmp_path / name, content))
    assert summary in seen.summary
    assert seen.text == content.rstrip("\n")
    assert seen.lost == []


@pytest.mark.parametrize(
    ("name", "content", "lost"),
    [
        ("a.json", '{"a": 1,}', "The file is not valid JSON: "),
        ("a.jsonl", '{"a": 1}\n{"a": 2}\n{"a"\n', "Not valid JSON: line 3."),
        ("a.xml", "<a><b></a>", "The XML is not well formed: "),
        (
            "a.xml",
            '<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z "&x;&x;&x;">]><a>&z;</a>',
            "The file declares entities, which were not expanded",
        ),
        ("a.xml", '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "The file declares entities"),
    ],
)
async def test_damage_is_told_and_the_text_stays(name: str, content: str, lost: str, tmp_path: Path) -> None:
    told = await read(file(tmp_path / name, content))
    assert told.text == content.rstrip("\n")
    assert any(one.startswith(lost) for one in told.lost)


async def test_pages_put_together_are_the_whole(tmp_path: Path) -> None:
    content = "".join(f"line {i} {'x' * (i % 90)}\n" for i in range(500)) + "y" * 14_000
    path = file(tmp_path / "a.txt", content)
    seen = await preview(path)
    pages = [await read(path, page=number) for number in range(1, (seen.sections or 0) + 1)]
    assert "".join(page.text if "y" in page.text else page.text + "\n" for page in pages).replace("\n", "") == (
        content.replace("\n", "")
    )
    assert all(len(page.text) <= 12_000 for page in pages)
    assert pages[0].where.startswith(f"page 1 of {seen.sections} (lines 1-")


async def test_found_lines_stand_among_those_around_them(tmp_path: Path) -> None:
    lines = [f"line {i}" if i % 2 else "" for i in range(1, 60)]
    lines[10], lines[14], lines[40] = "tea one", "tea two", "tea three"
    path = file(tmp_path / "a.txt", "\n".join(lines))
    found = await read(path, find="tea")
    assert found.where == "3 lines with 'tea'"
    assert found.text.splitlines() == [
        "## page 1 (lines 1-59)",
        *("  7: line 7", "  9: line 9", "> 11: tea one", "  13: line 13", "> 15: tea two", "  17: line 17"),
        *("  19: line 19", "…", "  37: line 37", "  39: line 39", "> 41: tea three", "  43: line 43", "  45: line 45"),
    ]
    close = await read(path, find="tea", limit=170)
    assert close.text.splitlines()[1:4] == ["  9: line 9", "> 11: tea one", "  13: line 13"]
    assert (await read(path, find="tea", limit=80)).text.count("\n") == 3
    cut = await read(path, find="tea", limit=45)
    assert (cut.where, cut.text.count("> ")) == ("3 lines with 'tea'", 1)
    assert "There are more hits: continue with page=1" in cut.more


async def test_encodings_that_a_file_declares(tmp_path: Path) -> None:
    xml = '<?xml version="1.0" encoding="ISO-8859-2"?><a>Łódź</a>'
    assert "Łódź" in (await read(file(tmp_path / "a.xml", xml.encode("iso-8859-2")))).text
    odd = file(tmp_path / "odd.py", b"# coding: undefined\nx = '\xe9'\n")
    assert "x = " in (await read(odd)).text
    python = "# -*- coding: koi8-r -*-\nprint('чай')\n"
    assert "чай" in (await read(file(tmp_path / "a.py", python.encode("koi8-r")))).text


async def test_deep_json_and_one_long_line(tmp_path: Path) -> None:
    deep = await preview(file(tmp_path / "deep.json", "[" * 100_000 + "]" * 100_000))
    assert deep.kind in ("json", "txt")
    long = json.dumps({"a": ["word"] * 30_000})
    seen = await preview(file(tmp_path / "long.json", long))
    assert "list of 30,000" in seen.summary
    assert (await read(tmp_path / "long.json", page=seen.sections or 0)).text.endswith('"]}')
