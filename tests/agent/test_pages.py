"""Pages as decisions name them."""

import pytest

from agent.deciding.refusals import refusal_of
from agent.deciding.rules import unread
from agent.pages import is_page_read, means_page, no_such_link, resolved
from agent.state import Decision
from support.decisions import done, state_of

URL = "https://a.example/x"
OPEN = {**state_of("q"), "open_page": {"url": URL, "links": ["https://a.example/1", "https://a.example/2"]}}


def read(file: str) -> Decision:
    return Decision("read_file", file=file)


@pytest.mark.parametrize(
    ("file", "means"),
    [(URL, True), ("link 2", True), ("Link [2]", True), ("link", False), ("a.csv", False), ("", False)],
)
def test_a_page_is_told_from_a_file(file, means):
    assert means_page(read(file)) is means
    assert not means_page(Decision("search", file=file))


def test_a_link_is_the_address_behind_its_number():
    assert resolved(read("link 2"), OPEN).file == "https://a.example/2"
    assert resolved(read("link 3"), OPEN).file == "link 3"
    assert resolved(read("notes.txt"), OPEN).file == "notes.txt"


def test_why_a_link_cannot_be_followed():
    assert no_such_link(read("link 2"), OPEN) is None
    assert "its links are 1 to 2" in str(no_such_link(read("link 3"), OPEN))
    assert "give an address" in str(refusal_of(read("link 1"), state_of("q")))
    assert "it has no links" in str(no_such_link(read("link 1"), {**OPEN, "open_page": {"url": URL, "links": []}}))


def test_a_page_is_not_read_twice_neither_by_address_nor_by_link_but_its_parts_are():
    steps = [done("read_file", "read_file https://a.example/2")]
    state = {**OPEN, "steps": steps}
    assert "already done" in str(refusal_of(read("https://a.example/2"), state))
    assert "already done" in str(refusal_of(read("link 2"), state))
    assert refusal_of(Decision("read_file", file="link 2", page=2), state) is None
    assert refusal_of(Decision("read_file", file="link 2", find="price"), state) is None


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
