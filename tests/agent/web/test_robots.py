"""robots.txt as RFC 9309 reads it."""

from __future__ import annotations

import time

import pytest

from agent.web.http import allows, robots_rules

FILE = """
# comment
User-agent: other
Disallow: /

User-agent: *
Disallow: /private # the rest
Allow: /private/open
Disallow: /*.php$
Disallow: /*?sid=
Disallow: /caf%C3%A9
Allow: /
Disallow:
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True), ("/private", False), ("/private/x", False), ("/private/open/x", True), ("/privateer", False),
        ("/a.php", False), ("/a.php?x=1", True), ("/a.phpx", True), ("/a?sid=3", False), ("/a?x=1&sid=3", True),
        ("/café", False), ("/caf%c3%a9", False), ("/other", True),
    ],
)  # fmt: skip
def test_the_longest_rule_decides(path: str, allowed: bool) -> None:
    assert allows(robots_rules(FILE), path) is allowed


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: *\nDisallow:", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: Alita\nDisallow: /x", True),
        ("User-agent: alita/2.0\nDisallow: /", False),
        ("User-agent: alitas\nDisallow: /", True),
        ("User-agent: a\nUser-agent: alita\nDisallow: /", False),
        ("User-agent: alita\nDisallow: /\nUser-agent: b\nDisallow: /x", False),
        ("User-agent: alita\nCrawl-delay: 5\n\nUser-agent: *\nDisallow: /", True),
        ("user-AGENT : *\r\ndisallow : /p", False),
        ("Disallow: /", True),
        ("<html>not found</html>", True),
        ("\ufeffUser-agent: *\nDisallow: /", False),
    ],
)
def test_the_group_that_names_us_counts_and_else_that_for_everybody(text: str, allowed: bool) -> None:
    assert allows(robots_rules(text), "/p") is allowed


def test_a_rule_made_to_take_long_takes_no_time() -> None:
    rules = robots_rules("User-agent: *\nDisallow: /" + "*a" * 2000 + "*b$")
    began = time.thread_time()
    assert allows(rules, "/" + "a" * 5000)
    assert time.thread_time() - began < 1
