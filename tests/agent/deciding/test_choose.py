"""The next action is one that can be carried out; what cannot is asked again with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from agent.deciding import ATTEMPTS
from agent.errors import ModelOutputError
from agent.models.scripted import ScriptedModel
from agent.state import Decision
from support.decisions import FIBONACCI, PRIME, SEARCH, Weak, choose, context_with, done, state_of


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
    with pytest.raises(ModelOutputError, match=r"gave no valid action in 3 attempts; the last one: .*no JSON"):
        await choose(state_of("q"), context_with(model))
    assert len(model.requests) == ATTEMPTS


async def test_a_strong_model_decides_after_a_result() -> None:
    model = ScriptedModel([SEARCH])
    steps = [done("create_tool", value=5)]
    assert (await choose(state_of("q", steps=steps), context_with(model))).action == "search"


ASKED = {"form": "the ⟨number⟩th fibonacci number", "arguments": {"n": {"place": 0, "as": "int"}}, "fixed": {}}


@pytest.mark.parametrize("kind", [ScriptedModel, Weak])
async def test_the_same_question_with_other_values_needs_no_model(kind: type[ScriptedModel]) -> None:
    state = state_of("The 60th Fibonacci number?", tools=[PRIME, FIBONACCI | {"asked": ASKED}])
    decision = await choose(state, context_with(kind([])))
    assert (decision.action, decision.tool, decision.arguments) == ("use_tool", "nth_fibonacci", {"n": 60})


async def test_a_call_that_failed_is_not_made_again_by_rule() -> None:
    steps = [done("use_tool", "nth_fibonacci(n=60)", ok=False)]
    state = state_of("The 60th Fibonacci number?", tools=[FIBONACCI | {"asked": ASKED}], steps=steps)
    assert (await choose(state, context_with(ScriptedModel([SEARCH])))).action == "search"


@pytest.mark.parametrize(
    ("question", "files", "asked"),
    [
        ("The 60th Fibonacci number?", ["a.txt"], ASKED),
        ("The 6.5th Fibonacci number?", [], ASKED),
        ("The 60th prime number?", [], ASKED),
        ("The 60th Fibonacci number?", [], None),
        ("The 60th Fibonacci number?", [], {"form": 3}),
    ],
)
async def test_what_only_looks_the_same_is_decided_by_the_model(question: str, files: list[str], asked: Any) -> None:
    state = state_of(question, tools=[FIBONACCI | {"asked": asked}], files=files)
    assert (await choose(state, context_with(ScriptedModel([SEARCH])))).action == "search"


async def test_a_weak_model_is_asked_in_parts() -> None:
    model = Weak([{"json": {"why": "A person.", "needs": "fact"}}])
    assert await choose(state_of("q"), context_with(model)) == Decision("search", "A person.")
