"""The same question with other values needs no model; what only looks the same is decided by it."""

from __future__ import annotations

from typing import Any

import pytest

from agent.models.scripted import ScriptedModel
from agent.state import Decision
from support.decisions import FIBONACCI, PRIME, SEARCHING, Weak, choose, context_with, done, state_of

ASKED = {"form": "the ⟨number⟩th fibonacci number", "arguments": {"n": {"place": 0, "as": "int"}}, "fixed": {}}


@pytest.mark.parametrize("kind", [ScriptedModel, Weak])
async def test_the_same_question_with_other_values_needs_no_model(kind: type[ScriptedModel]) -> None:
    state = state_of("The 60th Fibonacci number?", tools=[PRIME, FIBONACCI | {"asked": ASKED}])
    decision = await choose(state, context_with(kind([])))
    assert (decision.action, decision.tool, decision.arguments) == ("use_tool", "nth_fibonacci", {"n": 60})


async def test_a_call_that_failed_is_not_made_again_by_rule() -> None:
    steps = [done("use_tool", "nth_fibonacci(n=60)", ok=False)]
    state = state_of("The 60th Fibonacci number?", tools=[FIBONACCI | {"asked": ASKED}], steps=steps)
    assert (await choose(state, context_with(ScriptedModel([SEARCHING])))).action == "search"


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
    assert (await choose(state, context_with(ScriptedModel([SEARCHING])))).action == "search"


async def test_a_weak_model_is_asked_in_parts() -> None:
    model = Weak([{"json": {"why": "A person.", "needs": "fact"}}])
    assert await choose(state_of("q"), context_with(model)) == Decision("search", "A person.")
