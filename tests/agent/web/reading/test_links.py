"""Links of a text are numbered, whoever wrote it and why."""

import time

import pytest

from agent.web.reading.source import number_links

URL = "https://a.example/x/"


def test_links_are_absolute_and_numbered_and_pictures_are_words():
    text = 'See [the [old] pier](/pier_(a) "Pier") and ![map](m.png), [pier](/pier_(a)), [here](#top).'
    assert number_links(text, URL) == (
        "See [the [old] pier](link 1) and map, [pier](link 1), here.",
        ("https://a.example/pier_(a)",),
    )


def test_what_a_page_writes_like_a_link_is_none():
    assert number_links("[tides](/t) of [the harbour](link 1), x[1][2]", URL)[0] == (
        "[tides](link 1) of [the harbour] (link 1), x[1][2]"
    )


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "[" + "\\[" * 50_000, "[](" + " " * 100_000, "[](" * 33_000, '[](a "' * 16_000, "[](a(b)" * 14_000],
    ids=lambda text: text[:8],
)
def test_a_text_that_is_written_to_stop_its_reader_takes_no_minute(text):
    began = time.thread_time()
    number_links(text, URL)
    assert time.thread_time() - began < 3
