"""The next action is one that can be carried out; what cannot is asked again with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from agent.deciding import ATTEMPTS, choose
from agent.errors import ModelOutputError
from agent.models.scripted import ScriptedModel
from agent.state import Decision
from support.decisions import FIBONACCI, SEARCH, Weak, context_with, done, state_of


async def test_a_decision_that_can_be_carried_out_is_taken() -> None:
    model = ScriptedModel([SEARCH])
    assert await choose(state_of("q"), context_with(model)) == Decision("search", "so")
    assert len(model.requests) == 1


REFUSALS = {
    "unknown action": ({"json": {"why": "", "next": {"action": "dance"}}}, "does not fit"),
    "prose": ("I would search for it.", "no JSON"),
    "truncated": ('{"why": "so", "next": {"act', "no JSON"),
    "unknown tool": ({"json": {"why": "", "next": {"action": "use_tool", "tool": "x", "arguments": {}}}}, "x"),
    "wrong arguments": (
        {"json": {"why": "", "next": {"action": "use_tool", "tool": "nth_fibonacci", "arguments": {"m": 1}}}},
        "does not fit",
    ),
    "empty answer": ({"json": {"why": "", "next": {"action": "answer", "answer": " "}}}, "an answer needs text"),
    "repetition": ({"json": {"why": "", "next": {"action": "run_code"}}}, "run_code was already done and gave"),
}


@pytest.mark.parametrize(("line", "reason"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_what_cannot_be_carried_out_is_asked_again_with_the_reason(line: Any, reason: str) -> None:
    model = ScriptedModel([line, SEARCH])
    state = state_of("q", tools=[FIBONACCI], steps=[done("run_code", ok=False)])
    assert (await choose(state, context_with(model))).action == "search"
    first, second = (request[-1]["content"] for request in model.requests)
    assert "refused" not in first
    assert second.startswith(first)
    assert "Your last decision was refused: " in second
    assert reason in second


async def test_after_several_attempts_it_is_an_error() -> None:
    model = ScriptedModel([{"text": "no", "repeat": True}])
    with pytest.raises(ModelOutputError, match=r"chose nothing that can be done, 3 times: .*no JSON"):
        await choose(state_of("q"), context_with(model))
    assert len(model.requests) == ATTEMPTS


async def test_a_strong_model_decides_after_a_result() -> None:
    model = ScriptedModel([SEARCH])
    steps = [done("create_tool", value=5)]
    assert (await choose(state_of("q", steps=steps), context_with(model))).action == "search"


async def test_a_weak_model_is_asked_in_parts() -> None:
    model = Weak([{"json": {"why": "A person.", "needs": "fact"}}])
    assert await choose(state_of("q"), context_with(model)) == Decision("search", "A person.")
