"""What is written in each round: by a weak model in different ways."""

from __future__ import annotations

import pytest

from mcp_tools.create.attempts import PROGRAMS, STRONG, WEAK, Attempt, idioms_for, repeats
from mcp_tools.prompt import load_prompt

ALL = [attempt for rounds in (STRONG, WEAK, PROGRAMS) for attempts in rounds for attempt in attempts]


def test_the_first_round_of_a_weak_model_asks_in_different_ways() -> None:
    """At the most two of its answers can be misled by the same words."""
    first = [*WEAK[0], *PROGRAMS[0]]
    assert len({(attempt.prompt, attempt.idioms) for attempt in first}) == len(first) > 3
    assert max(attempt.count for attempt in first) <= 2
    assert len(WEAK) == len(PROGRAMS)


def test_a_strong_model_begins_with_its_likeliest_text() -> None:
    assert STRONG[0] == (Attempt("write", 0.0),)


def test_nothing_is_asked_twice_without_a_chance_of_another_answer() -> None:
    """The likeliest text to a prompt is always the same."""
    greedy = [(a.prompt, a.idioms) for a in ALL if a.temperature == 0 and a not in STRONG[0]]
    assert len(greedy) == len(set(greedy))
    assert all(attempt.count == 1 for attempt in ALL if attempt.temperature == 0)


@pytest.mark.parametrize("attempt", ALL, ids=str)
def test_every_prompt_exists_and_takes_idioms_where_they_are_shown(attempt: Attempt) -> None:
    prompt = load_prompt("mcp_tools.create", attempt.prompt)
    wanted = {"none": set(), "shown": {"idioms"}, "begun": {"begun"}}[attempt.idioms]
    assert wanted <= prompt.placeholders


NEAR = "How many whole-number points lie strictly inside the polygon (0, 0), (7, 0), (7, 7)?"


def test_a_reply_begins_with_the_nearest_idiom_and_two_may_be_shown() -> None:
    assert len(idioms_for(Attempt("write", 0, "begun"), "weekday of a date some days later, between two dates")) == 1
    assert len(idioms_for(Attempt("write", 0, "shown"), "weekday of a date some days later, between two dates")) == 2
    assert idioms_for(Attempt("write", 0), NEAR) == []


def test_without_a_near_idiom_a_greedy_attempt_would_be_another_one_again() -> None:
    assert repeats(Attempt("program", 0, "begun"), [])
    assert not repeats(Attempt("program", 0.7, "begun"), [])
    assert not repeats(Attempt("program", 0, "begun"), idioms_for(Attempt("program", 0, "begun"), NEAR))
