"""A page as a model sees it: lines, elements, their names and states, and what is left out."""

from __future__ import annotations

import pytest

from agent.small.browser.view import View, view_of

SNAPSHOT = """
- generic [active] [ref=e1]:
  - banner [ref=e2]:
    - navigation [ref=e3]:
      - link "Home" [ref=e4] [cursor=pointer]:
        - /url: /
  - main [ref=e9]:
    - heading "Shop" [level=1] [ref=e10]
    - dialog "Cookies" [ref=e5]:
      - text: We use cookies.
      - button "Accept all" [ref=e6]
    - generic [ref=e11]:
      - text: User
      - textbox "User" [ref=e12]: anna
    - combobox "Colour" [ref=e15]:
      - option "red" [selected]
      - option "light \\"green\\""
    - checkbox "Remember" [checked] [ref=e17]
    - table [ref=e22]:
      - rowgroup [ref=e23]:
        - row [ref=e24]:
          - columnheader "Item" [ref=e25]
          - columnheader "Price" [ref=e26]
        - row [ref=e27]:
          - cell "Mug" [ref=e28]
          - cell "12.00" [ref=e29]
    - generic [ref=e35] [cursor=pointer]: Clickable
    - group [ref=e40]:
      - generic "What does it cost?" [ref=e41]
    - iframe [ref=e36]:
      - generic [ref=f1e1]:
        - button "In frame" [ref=f1e2]
    - 'link "Note: all" [ref=e44]':
      - /url: https://shop.example/notes
"""


def shop() -> View:
    return view_of("http://shop.example/", SNAPSHOT)


def test_what_can_be_used_has_a_number_and_stands_where_it_stands_on_the_page():
    assert shop().lines == (
        '[1] link "Home"',
        "# Shop",
        'We use cookies. [2] button "Accept all"',
        '[3] textbox "User" = "anna"',
        '[4] combobox "Colour" (red / light "green") = "red" [5] checkbox "Remember" checked',
        "Item | Price",
        "Mug | 12.00",
        '[6] item "Clickable"',
        '[7] button "What does it cost?"',
        '[8] button "In frame"',
        '[9] link "Note: all"',
    )


def test_each_element_knows_its_use_and_its_place():
    elements = shop().elements
    assert [element.use for element in elements] == [
        *("click", "click", "type", "select", "click", "click", "click", "click", "click")
    ]
    assert elements[7].ref == "f1e2"
    assert elements[8].url == "https://shop.example/notes"
    assert shop().element(99) is None


def test_the_head_of_a_site_is_a_menu():
    assert shop().menu == {0}


def test_a_snapshot_of_an_empty_page_is_an_empty_view():
    assert view_of("about:blank", "").lines == ()


def test_characters_that_yaml_has_no_place_for_are_replaced():
    page = view_of("http://a.example/", '- heading "A \uffff B" [level=1]\n- text: "x\ud800y"')
    assert page.lines[0].startswith("# A ")
    assert "x\ufffdy" in page.text


@pytest.mark.parametrize(
    ("before", "name"),
    [
        ("  - text: Password", "Password"),
        ("  - text: 'Password *:'", "Password"),
        ("  - paragraph: Password", "Password"),
        ("  - cell: Password\n  - text: '|'", "Password"),
        ("  - paragraph: Please tell us in a few words what we can do better next time.", ""),
        ("  - heading: Password", ""),
        ("  - textbox [ref=e1]", ""),
        ("", ""),
    ],
)
def test_a_field_without_a_name_is_called_what_stands_before_it(before, name):
    found = view_of("https://a.example/", f"- generic:\n{before}\n  - textbox [ref=e9]: abc").elements[-1]
    assert (found.name, found.value) == (name, "abc")


def test_menus_are_left_out_unless_the_task_speaks_of_them_or_one_reads_on():
    view = View(
        "http://shop.example/",
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
    view = View("http://a.example/", (*lines[:150], "the lighthouse is 31 m high", *lines[150:]), ())
    part, following = view.part("How high is the lighthouse?", 300)
    assert "lighthouse is 31 m" in part
    assert len(part) <= 300
    assert "…" in part
    assert 0 < following < 150


def test_what_an_action_brought_is_marked_as_new():
    before = View("http://a.example/", ("# Questions", "[1] button", "a", "b"), ())
    after = View("http://a.example/", ("# Questions", "[1] button", "Only guide dogs.", "a", "b"), ())
    assert "(new) Only guide dogs." in after.since(before).part("dogs", 500)[0]
    assert "(new)" not in View("http://b.example/", after.lines, ()).since(before).part("dogs", 500)[0]
