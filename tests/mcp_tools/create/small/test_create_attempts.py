"""What a small model writes in each round: the same in different ways."""

from __future__ import annotations

import pytest

from mcp_tools.create.small.attempts import FUNCTIONS, PROGRAMS, Attempt, repeats, snippets_for
from mcp_tools.prompt import load_prompt

ALL = [attempt for rounds in (FUNCTIONS, PROGRAMS) for attempts in rounds for attempt in attempts]


def test_the_first_round_asks_in_different_ways() -> None:
    """At the most two of its answers can be misled by the same words."""
    first = [*FUNCTIONS[0], *PROGRAMS[0]]
    assert len({(attempt.prompt, attempt.snippets) for attempt in first}) == len(first) > 3
    assert max(attempt.count for attempt in first) <= 2
    assert len(FUNCTIONS) == len(PROGRAMS)


def test_nothing_is_asked_twice_without_a_chance_of_another_answer() -> None:
    """The likeliest text to a prompt is always the same."""
    greedy = [(a.prompt, a.snippets) for a in ALL if a.temperature == 0]
    assert len(greedy) == len(set(greedy))
    assert all(attempt.count == 1 for attempt in ALL if attempt.temperature == 0)


@pytest.mark.parametrize("attempt", ALL, ids=str)
def test_every_prompt_exists_and_takes_snippets_where_they_are_shown(attempt: Attempt) -> None:
    prompt = load_prompt("mcp_tools.create.small", attempt.prompt)
    wanted = {"none": set(), "shown": {"snippets"}, "begun": {"begun"}}[attempt.snippets]
    assert wanted <= prompt.placeholders


NEAR = "How many whole-number points lie strictly inside the polygon (0, 0), (7, 0), (7, 7)?"


def test_a_reply_begins_with_the_nearest_snippet_and_two_may_be_shown() -> None:
    assert len(snippets_for(Attempt("write", 0, "begun"), "weekday of a date some days later, between two dates")) == 1
    assert len(snippets_for(Attempt("write", 0, "shown"), "weekday of a date some days later, between two dates")) == 2
    assert snippets_for(Attempt("write", 0), NEAR) == []


def test_without_a_near_snippet_a_greedy_attempt_would_be_another_one_again() -> None:
    assert repeats(Attempt("program", 0, "begun"), [])
    assert not repeats(Attempt("program", 0.7, "begun"), [])
    assert not repeats(Attempt("program", 0, "begun"), snippets_for(Attempt("program", 0, "begun"), NEAR))
