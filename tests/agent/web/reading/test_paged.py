"""A page is read a screenful at a time, by its words, by its links."""

from __future__ import annotations

import contextlib

from agent.web.page import Page, WebProblem
from agent.web.reading.paged import PagePart, screen_of

TEXT = "# Bridges\n\n" + "\n\n".join(
    f"## Part {n}\n\nThe bridge of place {n} is {n * 11} m long. " + "Words. " * 40 for n in range(1, 31)
)
PAGE = Page("https://e.org/a", "Bridges", TEXT, links=("https://e.org/b", "https://e.org/c"))


def screens(page: Page, size: int) -> list[PagePart]:
    """All of a page."""
    found: list[PagePart] = []
    with contextlib.suppress(WebProblem):
        while True:
            found.append(screen_of(page, len(found) + 1, size=size))
    return found


def test_every_word_is_on_one_of_the_screens() -> None:
    shown = screens(PAGE, 2000)
    assert len(shown) > 3
    assert all(len(screen.text) <= 2000 for screen in shown)
    assert all(any(f"place {n} is" in screen.text for screen in shown) for n in range(1, 31))
    assert all(screen.text.startswith("#") for screen in shown)
    assert shown[0].label == f"page 1 of {len(shown)}, continue with page=2"
    assert shown[-1].label == f"page {len(shown)} of {len(shown)}"


def test_a_table_that_is_divided_keeps_its_head() -> None:
    text = "| n | is |\n| --- | --- |\n" + "".join(f"| {n} | {n * n} |\n" for n in range(100))
    shown = screens(Page("https://e.org/", "", text), 400)
    assert len(shown) > 2
    assert all(screen.text.startswith("| n | is |\n| --- | --- |\n| ") for screen in shown)
    wide = screens(Page("https://e.org/", "", f"| n | is |\n| --- | --- |\n| 1 | {'many words ' * 100} |"), 400)
    assert max(len(screen.text) for screen in wide) <= 400
    assert min(screen.text.count("\n") for screen in wide) == 2


def test_words_are_found_with_their_screen() -> None:
    found = screen_of(PAGE, find="BRIDGE 187", size=2000).text
    number = int(found.split("## page ")[1].split()[0])
    assert ": The bridge of place 17 is 187 m long." in found
    assert "187 m long" in screen_of(PAGE, number, size=2000).text
    assert "no match" in screen_of(PAGE, find="aqueduct").label
    assert "no line has all of" in screen_of(PAGE, find="bridge aqueduct").label
    assert "place 1 is" not in screen_of(PAGE, 3, "bridge", size=2000).text


def test_what_stands_around_the_content_comes_last_and_it_is_said() -> None:
    menu = " ".join(f"[part {n}](link {n})" for n in range(1, 41))
    page = Page("https://e.org/", "", "Tea is 3.", around=menu)
    assert screens(page, 1000) == [
        ("Tea is 3.", "the main text, whole; page 2 shows the text around it (40 links, 80 words)"),
        (f"Text around the main text:\n\n{menu}", "text around the main text; page 2 of 2"),
    ]
    assert "page 2\n" in screen_of(page, find="part 17", size=1000).text
    long = screens(Page("https://e.org/", "", TEXT, around=menu), 4000)
    assert f"page 1 of {len(long)}, continue with page=2; page {len(long)} shows the text around it" in long[0].label
    assert "continue with" not in long[-2].label
