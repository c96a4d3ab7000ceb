"""A page is read a screenful at a time, by its words, by its links."""

from __future__ import annotations

import pytest

from agent.web.protocol import Page, WebProblem
from agent.web.reading.paged import PagedView

TEXT = "# Bridges\n\n" + "\n\n".join(
    f"## Part {n}\n\nThe bridge of place {n} is {n * 11} m long. " + "Words. " * 40 for n in range(1, 31)
)
PAGE = Page("https://e.org/a", "Bridges", TEXT, links=("https://e.org/b", "https://e.org/c"))


def test_every_word_is_on_one_of_the_screens() -> None:
    view = PagedView(PAGE, 2000)
    assert view.count > 3
    screens = [view.at(number) for number in range(1, view.count + 1)]
    assert all(len(screen) < 2100 for screen in screens)
    assert all(any(f"place {n} is" in screen for screen in screens) for n in range(1, 31))
    assert f"page 1 of {view.count}; page=2 goes on" in screens[0]
    assert "goes on" not in screens[-1]


@pytest.mark.parametrize("number", [0, -1, 99])
def test_a_screen_that_is_not_there(number: int) -> None:
    with pytest.raises(WebProblem, match="the last one is") as caught:
        PagedView(PAGE, 2000).at(number)
    assert caught.value.reason == "no_result"


def test_words_are_found_with_their_screen() -> None:
    view = PagedView(PAGE, 2000)
    found = view.find("BRIDGE 187")
    number = int(found.split("## page ")[1].split()[0])
    assert "187 m long" in found
    assert "187 m long" in view.at(number)
    assert "nowhere" in view.find("aqueduct")
    assert "no line has all of" in view.find("bridge aqueduct")
    assert "place 1 is" not in view.find("bridge", page=3)
    with pytest.raises(WebProblem):
        view.find("  ")


def test_an_empty_page_has_one_empty_screen() -> None:
    view = PagedView(Page("https://e.org/", "", ""))
    assert (view.count, view.at(1)) == (1, "")


def test_a_line_longer_than_a_screen_is_divided() -> None:
    view = PagedView(Page("https://e.org/", "", "x" * 10_000), 1000)
    assert view.count == 10
