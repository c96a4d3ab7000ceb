"""What is written in each round: likeliest texts first, idioms only where the first round does not agree."""

from __future__ import annotations

import pytest

from mcp_tools.create.attempts import PROGRAMS, ROUNDS, STRONG, WEAK, Attempt
from mcp_tools.prompt import load_prompt

ALL = [attempt for rounds in (STRONG, WEAK, PROGRAMS) for attempts in rounds for attempt in attempts]


@pytest.mark.parametrize("rounds", [STRONG, WEAK, PROGRAMS], ids=["strong", "weak", "programs"])
def test_the_likeliest_text_comes_first_and_without_idioms(rounds: tuple[tuple[Attempt, ...], ...]) -> None:
    assert len(rounds) == ROUNDS
    assert rounds[0][0].temperature == 0
    assert not any(attempt.idioms for attempt in rounds[0])


def test_nothing_is_asked_twice_without_a_chance_of_another_answer() -> None:
    """The likeliest text to a prompt is always the same."""
    greedy = [(a.prompt, a.idioms) for a in ALL if a.temperature == 0 and a not in STRONG[0]]
    assert len(greedy) == len(set(greedy))
    assert all(attempt.count == 1 for attempt in ALL if attempt.temperature == 0)


@pytest.mark.parametrize("attempt", ALL, ids=str)
def test_every_prompt_exists_and_takes_idioms_where_they_are_shown(attempt: Attempt) -> None:
    prompt = load_prompt("mcp_tools.create", attempt.prompt)
    assert not attempt.idioms or "idioms" in prompt.placeholders
