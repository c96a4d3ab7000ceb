"""The soak in small: a twentieth of the calls crash, hang or flood, and nothing is left over."""

from __future__ import annotations

import pytest
from serving_soak import BAD, soak


@pytest.mark.slow
async def test_every_call_is_answered_and_nothing_leaks() -> None:
    """Every tool that misbehaves is called several times, among others that must get their results."""
    soaked = await soak(200, 0.05)
    assert soaked.unanswered == []
    assert {outcome.split()[0] for outcome in soaked.outcomes} == {"add_numbers", *BAD}
    assert [row.name for row in soaked.rows() if row.met is False] == [], (soaked.outcomes, soaked.early, soaked.late)
