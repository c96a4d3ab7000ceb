"""The saved pages contain their marked facts, and a lost fact is noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from facts import SavedPage, bared, kept, load_pages

PAGES = load_pages()
PAGE = SavedPage("p", "dev", "text/html", b"", ["37 metres high"], [["Friday", "21:30"]], ["All rights reserved"])


def test_there_are_fifty_pages_of_both_parts():
    """The pages have many languages, encodings and kinds; two thirds are test pages."""
    assert len(PAGES) >= 50
    assert sum(page.split == "test" for page in PAGES) >= 30
    assert sum(page.split == "dev" for page in PAGES) >= 10
    assert all(len(page.facts) + len(page.rows) >= 3 for page in PAGES)


def test_a_page_holds_its_facts():
    """Every fact is in its page, decoded as a browser does and without tags."""
    from lxml import html

    from agent.web.response import charset_of, decoded

    for page in PAGES:
        tree = html.document_fromstring(decoded(page.body, charset_of(page.body, page.content_type)))
        said = bared(" ".join(tree.itertext()))
        for fact in [*page.facts, *(cell for row in page.rows for cell in row)]:
            assert bared(fact) in said, (page.name, fact)


@pytest.mark.parametrize(
    "markdown",
    [
        "It is 37 metres high.\n\n| Friday | 06:40 | 21:30 |",
        "**37** [metres](link 3) _high_\n|Friday|21:30|",
        "[37 metres](https://a.example/x) high\n\nFriday 21:30",
    ],
)
def test_marks_of_markdown_do_not_hide_a_fact(markdown: str):
    """Emphasis, links and tables do not matter."""
    assert all(kept(PAGE, markdown).facts.values())


@pytest.mark.parametrize(
    ("markdown", "lost"),
    [
        ("It is 37 meters high.\n| Friday | 21:30 |", "37 metres high"),
        ("37 metres high\n| Friday | 06:40 |\n| Saturday | 21:30 |", "Friday | 21:30"),
        ("37 metres high\n| 21:30 | Friday |", "Friday | 21:30"),
    ],
)
def test_a_lost_fact_is_told(markdown: str, lost: str):
    """A different word, a split row or reordered cells are noticed."""
    assert [fact for fact, is_there in kept(PAGE, markdown).facts.items() if not is_there] == [lost]


def test_what_stands_around_is_counted():
    assert kept(PAGE, "© 2026 **All rights** reserved").boilerplate == 1
    assert kept(replace(PAGE, boilerplate=[]), "All rights reserved").boilerplate == 0
