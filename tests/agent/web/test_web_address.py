"""When two addresses mean the same page, and when two pages come from the same source."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.web.address import addresses_in, canonical, is_address, source_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://www.example.org/a/", "http://example.org/a"),
        ("https://example.org/a?utm_source=x&b=2&a=1", "https://example.org/a?a=1&b=2"),
        ("https://example.org/a#part", "https://example.org/a"),
        ("https://en.m.wikipedia.org/wiki/Lund", "https://en.wikipedia.org/wiki/Lund"),
        ("https://example.org:443/index.html", "https://EXAMPLE.org"),
        ("https://example.org/caf%C3%A9", "https://example.org/café"),
        ("https://m.example.co.uk/x?fbclid=1", "https://www.example.co.uk/x"),
        ("https://example.org/#/tides/", "https://www.example.org#/tides"),
        ("https://example.org/a#/", "https://example.org/a#!"),
        ("https://en.wikipedia.org/wiki/Lund#/media/File:Lund.jpg", "https://en.wikipedia.org/wiki/Lund"),
    ],
)
def test_the_same_page_is_known(one, other):
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Who wrote https://example.org/a, and when?", ["https://example.org/a"]),
        ("(see https://example.org/a_(b)).", ["https://example.org/a_(b)"]),
        ("**[it](http://127.0.0.1:80/a?b=c#d)** <https://example.org>", ["http://127.0.0.1:80/a?b=c#d", "https://example.org"]),
        ("http://[::1]:8080/a and http://[::1]:8080/a!", ["http://[::1]:8080/a"]),
        ("https:// or http:///x or example.org or ftp://example.org", []),
    ],
    ids=["prose", "brackets", "markdown", "twice", "none"],
)  # fmt: skip
def test_addresses_in_a_text(text, found):
    assert addresses_in(text) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.org/a", "https://example.org/b"),
        ("https://example.org/a?page=1", "https://example.org/a?page=2"),
        ("http://127.0.0.1:8001/", "http://127.0.0.1:8002/"),
        ("https://de.wikipedia.org/wiki/Ulm", "https://en.wikipedia.org/wiki/Ulm"),
        ("https://example.org/A", "https://example.org/a"),
        ("https://example.org/%2Fa%3Fb", "https://example.org/a"),
        ("https://example.org/#/tides", "https://example.org/"),
        ("https://example.org/#/tides", "https://example.org/#/winds"),
        ("https://example.org/#!tides", "https://example.org/"),
    ],
)
def test_other_pages_stay_apart(one, other):
    assert canonical(one) != canonical(other)


@given(st.text(max_size=60) | st.from_regex(r"https?://[a-z.:\[\]@/%?&=#!-]{0,40}", fullmatch=True))
def test_any_text_has_a_form_that_stays(text):
    once = canonical(text)
    assert canonical(text) == once
    assert isinstance(source_of(text), str)
    assert isinstance(is_address(text), bool)


@pytest.mark.parametrize(
    ("url", "source"),
    [
        ("https://news.bbc.co.uk/1/x", "bbc.co.uk"),
        ("https://a.b.example.com", "example.com"),
        ("https://one.github.io/x", "one.github.io"),
        ("http://127.0.0.1:8000/x", "127.0.0.1"),
        ("http://localhost:1/x", "localhost"),
    ],
)
def test_who_answers_for_a_page_is_who_registered_its_domain(url, source):
    assert source_of(url) == source
