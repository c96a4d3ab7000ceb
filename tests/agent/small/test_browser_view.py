"""A page as a model sees it: what it says, what can be used, and what is left out."""

from __future__ import annotations

from agent.small.browser.view import View


def test_menus_are_left_out_unless_the_task_speaks_of_them_or_one_reads_on():
    view = View(
        "http://shop.example/",
        "Shop",
        ('[1] link "Home"', "# Shop", 'Mug | 12.00 [2] button "Buy"'),
        (),
        menu=frozenset({0}),
    )
    part, following = view.part("What does the mug cost?", 2_000)
    assert "Home" not in part
    assert following < len(view.lines)
    assert "Home" in view.part("What does the mug cost?", 2_000, following)[0]
    assert "Home" in view.part("Go home.", 2_000)[0]


def test_of_a_long_page_the_lines_with_the_tasks_words_are_shown():
    lines = tuple(f"row {n} of many" for n in range(200))
    view = View("http://a.example/", "", (*lines[:150], "the lighthouse is 31 m high", *lines[150:]), ())
    part, following = view.part("How high is the lighthouse?", 300)
    assert "lighthouse is 31 m" in part
    assert len(part) <= 300
    assert "…" in part
    assert 0 < following < 150


def test_what_an_action_brought_is_marked_as_new():
    before = View("http://a.example/", "", ("# Questions", "[1] button", "a", "b"), ())
    after = View("http://a.example/", "", ("# Questions", "[1] button", "Only guide dogs.", "a", "b"), ())
    assert "(new) Only guide dogs." in after.since(before).part("dogs", 500)[0]
    assert "(new)" not in View("http://b.example/", "", after.lines, ()).since(before).part("dogs", 500)[0]
