"""Looking for walls takes no longer than the page is long."""

import time

import pytest

from agent.web.reading.block_pages import wall_of

ASKED, LED = "https://a.example/x", "https://a.example/login"


@pytest.mark.parametrize("part", ["<input ", "<input type = ", "<input type=\n"])
def test_a_page_that_is_written_to_stop_its_reader_takes_no_minute(part):
    html = part * (100_000 // len(part))
    began = time.thread_time()
    wall_of("Short.", LED, html=html, asked=ASKED)
    assert time.thread_time() - began < 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# Just a moment…\n\nVerify you are human by completing the action below.", "captcha"),
        ("## Performing security verification\n\nThe site verifies you are not a bot. Ray ID: 9a0f", "captcha"),
        ("Access to this page has been denied because we believe you are using automation tools.", "captcha"),
        (
            f"# The dock of Kell\n\n{'It was dug in 1931. ' * 50}\n\n[Subscribe](link 1) to **continue reading**",
            "paywall",
        ),
        (f"{'It was dug in 1931. ' * 50}\n\nYou’ve reached your limit of free articles.", "paywall"),
        ("This story is for subscribers only.", "paywall"),
    ],
)
def test_words_alone_tell_a_wall(text, reason):
    wall = wall_of(text, ASKED)
    assert wall is not None
    assert wall.reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "A captcha is a puzzle by which a site tells people from programs: are you a robot? It was named in 2003.",
        f"# How captchas work\n\nThey verify that you are a human. {'Pictures are shown, and words are typed. ' * 30}",
        "The security check at the harbour of Kell was moved in 1998. It takes just a moment, says the port.",
        f"{'The ferry of Kell is late. ' * 30} Subscribe to our newsletter to read more such stories.",
        f"{'The ferry of Kell is late. ' * 30} Already a subscriber? Sign in. Please log in to comment.",
        f"{'The ferry of Kell is late. ' * 200} Subscribe to continue reading tomorrow.",
    ],
    ids=["definition", "about captchas", "airport", "newsletter", "head", "long"],
)
def test_words_of_content_tell_none(text):
    assert wall_of(text, ASKED) is None
