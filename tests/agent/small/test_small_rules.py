"""What rules are sure of, whatever a weak model thinks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.small.rules import has_data, must_operate_a_site, shows_code

SITES = [
    "Open https://shop.example.com and list the prices.",
    "Fill in the form with 3 names.",
    "Log in and tell me my balance.",
    "Which lamp is dearest at lumen-lamps.example?",
    "What is on the web page?",
]
NO_SITES = ["How many dots has 'www.example.com'?", "How many letters has 'sign in'?", "A basket holds 12 apples."]


@pytest.mark.parametrize("question", SITES)
def test_sites_are_operated(question: str) -> None:
    assert must_operate_a_site(question)


@pytest.mark.parametrize("question", NO_SITES)
def test_quoted_addresses_and_baskets_are_no_sites(question: str) -> None:
    assert not must_operate_a_site(question)


@pytest.mark.parametrize(
    "text",
    ["print(3)", "x = [1", "a\ndef f(): pass", "```\nx\n```", "import os", "f is: def f(x): return x", "for i in x:"],
)
def test_code_is_seen(text: str) -> None:
    assert shows_code(text)


@pytest.mark.parametrize("text", ["Print it, please.", "the class of 1998", "for 3 days", "x = 5"])
def test_prose_is_no_code(text: str) -> None:
    assert not shows_code(text)


DATA = ["12 apples", "'abc'", "2024-01-05", "at 10:30", "in 1998 and 57", "x = [1", "()(()", "in MCMXCIV"]
NO_DATA = ["Who wrote Faust?", "in 1998", "", "the capital of Peru, please"]


@pytest.mark.parametrize("question", DATA)
def test_texts_with_data(question: str) -> None:
    assert has_data(question)


@pytest.mark.parametrize("question", NO_DATA)
def test_texts_without_data(question: str) -> None:
    assert not has_data(question)


@given(st.text())
def test_any_text_gets_a_verdict(text: str) -> None:
    assert {must_operate_a_site(text), shows_code(text), has_data(text)} <= {True, False}
