"""Pages as decisions name them."""

import pytest

from agent.deciding.refusals import refusal_of, unread
from agent.pages import is_page_read, links_in, means_page, no_such_link, resolved
from agent.state import Decision
from agent.web.protocol import Page
from support.decisions import done, state_of

URL = "https://a.example/x"
LINKS = {
    "2.1": "https://a.example/1",
    "2.2": "https://a.example/2",
    "2.7": "https://a.example/7",
    "4.2": "https://b.example/2",
    "4.3": "https://b.example/3",
    "4.7": "https://a.example/7",
}
OPEN = {**state_of("q"), "links": LINKS}


def read(file: str) -> Decision:
    return Decision("read_file", file=file)


@pytest.mark.parametrize(
    ("file", "means"),
    [
        (URL, True),
        ("link 2", True),
        ("Link [2]", True),
        ("link 3.2", True),
        ("link 3.", False),
        ("link", False),
        ("a.csv", False),
        ("", False),
    ],
)
def test_a_page_is_told_from_a_file(file, means):
    assert means_page(read(file)) is means
    assert not means_page(Decision("search", file=file))


def test_the_links_that_a_part_of_a_page_shows_keep_their_names():
    page = Page(URL, "x", "", links=("https://a.example/1", "https://a.example/2", "https://a.example/3"))
    text = "[one][1], [three][3], [one][1] again, and matrix[0][9]"
    assert links_in(text, page, 4) == {"4.1": "https://a.example/1", "4.3": "https://a.example/3"}


def test_a_link_is_the_address_behind_its_name():
    assert resolved(read("link 2.2"), OPEN).file == "https://a.example/2"
    assert resolved(read("Link [4.2]"), OPEN).file == "https://b.example/2"
    assert resolved(read("notes.txt"), OPEN).file == "notes.txt"


def test_a_bare_number_is_a_link_where_only_one_page_can_be_meant():
    assert resolved(read("link 3"), OPEN).file == "https://b.example/3"
    assert resolved(read("link 7"), OPEN).file == "https://a.example/7"  # both pages lead there
    assert refusal_of(read("link 3"), OPEN) is None
    assert refusal_of(read("link 2"), OPEN) == "Several pages have a 'link 2': say `link 2.2` or `link 4.2`."
    assert resolved(read("link 2"), OPEN).file == "link 2"


def test_why_a_link_cannot_be_followed():
    assert no_such_link(read("link 4.2"), OPEN) is None
    assert "the links of the page read last are 4.2 to 4.7" in str(no_such_link(read("link 12.2"), OPEN))
    assert "give an address" in str(refusal_of(read("link 1"), state_of("q")))


def test_a_page_is_not_read_twice_neither_by_address_nor_by_link_but_its_parts_are():
    steps = [done("read_file", "read_file https://a.example/2")]
    state = {**OPEN, "steps": steps}
    assert "already done" in str(refusal_of(read("https://a.example/2"), state))
    assert "already done" in str(refusal_of(read("link 2.2"), state))
    assert refusal_of(Decision("read_file", file="link 2.2", page=2), state) is None
    assert refusal_of(Decision("read_file", file="link 2.2", find="price"), state) is None


def test_pages_are_no_attached_files():
    page = done("read_file", f"read_file {URL} page 2")
    assert is_page_read(page)
    assert not is_page_read(done("read_file", "read_file a.csv"))
    assert unread(["a.csv"], [page])
    assert not unread(["a.csv"], [page, done("read_file", "read_file a.csv")])


def test_without_search_no_page_is_read():
    state = {**OPEN, "without": ["search"]}
    assert "not read in this run" in str(refusal_of(read(URL), state))
    assert refusal_of(read("a.csv"), state) is None
