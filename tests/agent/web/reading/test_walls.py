"""Looking for walls takes no longer than the page is long."""

import time

import pytest

from agent.web.protocol import WebProblem
from agent.web.reading.walls import look_for_login, look_for_wall

ASKED, LED = "https://a.example/x", "https://a.example/login"


def test_a_page_that_led_to_a_login_is_one():
    with pytest.raises(WebProblem, match="wants a login"):
        look_for_login(ASKED, LED, '<input class="wide" type="password">')


@pytest.mark.parametrize("part", ["<input ", "<input type = ", "<input type=\n"])
def test_a_page_that_is_written_to_stop_its_reader_takes_no_minute(part):
    html = part * (100_000 // len(part))
    began = time.monotonic()
    look_for_login(ASKED, LED, html)
    look_for_wall(html, "Short.", ASKED)
    assert time.monotonic() - began < 2
