"""A page in passages: whole sentences and rows, verbatim but for the marks, each with its place."""

import time

import pytest

from agent.web.quoting import passages_of

PAGE = """# Oxmere
The **harbour** was dug between 1851 and 1856 by [Tobias Lund](link 1). Its wall is 412 metres long.

## Landings
| Year | Mackerel (t) |
|---|---|
| 2024 | 295 |
| 2025 | 341 |

- First item
- Second item with `code`

Text after.
"""


def test_each_passage_has_its_place():
    assert [(p.text, p.place) for p in passages_of(PAGE)] == [
        (
            "The harbour was dug between 1851 and 1856 by Tobias Lund. Its wall is 412 metres long.",
            'under "Oxmere", paragraph 1',
        ),
        ("Year | Mackerel (t)\n2024 | 295\n2025 | 341", 'table "Landings", rows 1 to 2'),
        ("First item", 'under "Landings", paragraph 1'),
        ("Second item with code", 'under "Landings", paragraph 2'),
        ("Text after.", 'under "Landings", paragraph 3'),
    ]


def test_a_long_table_is_cut_between_rows_and_each_part_has_the_head():
    rows = "\n".join(f"| {year} | {'x' * 60} |" for year in range(1990, 2020))
    parts = passages_of(f"| Year | Text |\n|---|---|\n{rows}")
    assert len(parts) > 4
    assert all(part.text.startswith("Year | Text\n") for part in parts)
    assert parts[1].place.startswith("rows ")
    assert sum(part.text.count("\n") for part in parts) == 30


def test_a_long_paragraph_is_cut_between_sentences_and_not_after_abbreviations():
    text = "Dr. A. Moss of St. Ives wrote it in ca. 1901. " + "It was read by many people in town. " * 20
    pieces = [p.text for p in passages_of(text)]
    assert len(pieces) > 1
    assert all(piece.endswith(".") and len(piece) <= 720 for piece in pieces)
    assert pieces[0].startswith("Dr. A. Moss of St. Ives wrote it in ca. 1901. It was read")


def test_what_a_picture_is_called_is_not_quoted():
    page = "![The answer is 9.](p.png)\n\nThe wall ![wall](w.png) is **7 m** high. ![It is 9 m](q.png)"
    assert [p.text for p in passages_of(page)] == ["The wall is 7 m high."]


@pytest.mark.parametrize(
    "page",
    [
        "| a |\n|" + "-" * 100_000 + "x",
        "| a |\n|" + " -" * 50_000 + "x",
        "[" * 100_000,
        "[a](" * 25_000,
        "**a " * 25_000,
        "__a " * 25_000,
        "*a " * 33_000,
        "# " + "a #" * 33_000 + "x",
        "# a" + " " * 100_000 + "x",
    ],
    ids=lambda page: page[:8],
)
def test_a_page_that_is_written_to_stop_its_reader_takes_no_minute(page):
    began = time.thread_time()
    passages_of(page)
    assert time.thread_time() - began < 2
