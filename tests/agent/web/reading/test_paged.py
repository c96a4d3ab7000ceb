"""A page is read a screenful at a time, by its words, by its links."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.web.page import Page, WebProblem
from agent.web.reading.paged import PagedView

TEXT = "# Bridges\n\n" + "\n\n".join(
    f"## Part {n}\n\nThe bridge of place {n} is {n * 11} m long. " + "Words. " * 40 for n in range(1, 31)
)
PAGE = Page("https://e.org/a", "Bridges", TEXT, links=("https://e.org/b", "https://e.org/c"))


def test_every_word_is_on_one_of_the_screens() -> None:
    view = PagedView(PAGE, 2000)
    assert view.count > 3
    screens = [view.at(number) for number in range(1, view.count + 1)]
    assert all(len(screen.text) <= 2000 for screen in screens)
    assert all(any(f"place {n} is" in screen.text for screen in screens) for n in range(1, 31))
    assert all(screen.text.startswith("#") for screen in screens)
    assert screens[0].label.startswith("characters 1–1,")
    assert screens[0].label.endswith(f" of {len(TEXT):,}; page 1 of {view.count}, page=2 goes on")
    assert screens[-1].label.endswith(f"{len(TEXT):,}; page {view.count} of {view.count}")


@given(st.text("ab \n|-#", max_size=400), st.integers(5, 60))
def test_the_screens_together_are_the_text(text: str, size: int) -> None:
    view = PagedView(Page("https://e.org/", "", text), size)
    shown = [view.at(number) for number in range(1, view.count + 1)]
    spans = [re.match(r"characters (\d+)–(\d+) of", screen.label) for screen in shown]
    assert view.count == 1 or [int(span[1]) for span in spans] == [1, *(int(span[2]) + 1 for span in spans[:-1])]
    assert sum(screen.text.count("a") for screen in shown) >= text.count("a")


def test_a_table_that_is_divided_keeps_its_head() -> None:
    text = "| n | is |\n| --- | --- |\n" + "".join(f"| {n} | {n * n} |\n" for n in range(100))
    view = PagedView(Page("https://e.org/", "", text), 400)
    assert view.count > 2
    assert all(view.at(number).text.startswith("| n | is |\n| --- | --- |\n| ") for number in range(1, view.count + 1))


@pytest.mark.parametrize("number", [0, -1, 99])
def test_a_screen_that_is_not_there(number: int) -> None:
    with pytest.raises(WebProblem, match="the last one is") as caught:
        PagedView(PAGE, 2000).at(number)
    assert caught.value.reason == "no_result"


def test_words_are_found_with_their_screen() -> None:
    view = PagedView(PAGE, 2000)
    found = view.find("BRIDGE 187").text
    number = int(found.split("## page ")[1].split()[0])
    line = TEXT.splitlines().index("The bridge of place 17 is 187 m long. " + "Words. " * 40) + 1
    assert f"> {line}: The bridge of place 17 is 187 m long." in found
    assert "187 m long" in view.at(number).text
    assert "no match" in view.find("aqueduct").label
    assert "no line has all of" in view.find("bridge aqueduct").label
    assert "place 1 is" not in view.find("bridge", page=3).text
    with pytest.raises(WebProblem):
        view.find("  ")


def test_an_empty_page_has_one_empty_screen() -> None:
    view = PagedView(Page("https://e.org/", "", ""))
    assert (view.count, view.at(1)) == (1, ("", "complete"))


def test_a_line_longer_than_a_screen_is_divided() -> None:
    view = PagedView(Page("https://e.org/", "", "x" * 10_000), 1000)
    assert view.count == 10


def test_what_stands_around_the_content_comes_last_and_it_is_said() -> None:
    menu = " ".join(f"[part {n}][{n}]" for n in range(1, 41))
    view = PagedView(Page("https://e.org/", "", "Tea is 3.", around=menu), 1000)
    assert view.at(1) == (
        "Tea is 3.",
        "the main text, whole; page 2 shows what stands around it (40 links, 80 words)",
    )
    assert view.at(2).text == f"What stands around the main text:\n\n{menu}"
    assert view.at(2).label == "what stands around the main text; page 2 of 2"
    assert "page 2\n" in view.find("part 17").text
    long = PagedView(Page("https://e.org/", "", TEXT, around=menu), 4000)
    assert f"page 1 of {long.count}, page=2 goes on; page {long.count} shows what stands around" in long.at(1).label
    assert "goes on" not in long.at(long.count - 1).label


def test_a_short_menu_is_shown_below_and_the_page_is_complete() -> None:
    view = PagedView(Page("https://e.org/", "", "Tea is 3.", around="[Home][1]"), 1000)
    assert view.at(1) == ("Tea is 3.\n\nWhat stands around the main text:\n\n[Home][1]", "complete")


def test_a_reader_that_leaves_menus_out_does_not_make_a_page_complete() -> None:
    assert PagedView(Page("https://e.org/", "", "Tea", via="firecrawl")).at(1).label == "the main text, whole"
