"""A run that is for a tool uses one of the library that fits, else creates one; no other way is open to it."""

from __future__ import annotations

from typing import Any

import pytest

from agent.deciding import ATTEMPTS
from agent.models.scripted import ScriptedModel
from agent.state import State
from support.decisions import FIBONACCI, PRIME, SEARCH, USE, Weak, choose, context_with, done, state_of

RUN_CODE = {"json": {"why": "so", "next": {"action": "run_code"}}}
ANSWER = {"json": {"why": "so", "next": {"action": "answer", "answer": "42"}}}
CREATE = {"json": {"why": "so", "next": {"action": "create_tool"}}}


def wished(question: str, **more: Any) -> State:
    return {**state_of(question, **more), "wish": "create"}


@pytest.mark.parametrize("kind", [ScriptedModel, Weak])
async def test_with_no_tool_that_may_fit_one_is_created_without_a_call(kind: type[ScriptedModel]) -> None:
    model = kind([])
    assert (await choose(wished("Open www.example.com and log in."), context_with(model))).action == "create_tool"
    assert not model.requests


@pytest.mark.parametrize("line", [RUN_CODE, SEARCH, ANSWER], ids=["run_code", "search", "answer"])
async def test_what_is_not_possible_is_asked_again_and_then_a_tool_is_created(line: Any) -> None:
    model = ScriptedModel([line | {"repeat": True}])
    decision = await choose(wished("q", tools=[PRIME]), context_with(model))
    assert (decision.action, len(model.requests)) == ("create_tool", ATTEMPTS)


async def test_a_strong_model_chooses_between_the_shown_tools_and_a_new_one() -> None:
    model = ScriptedModel([CREATE])
    assert (await choose(wished("q", tools=[FIBONACCI]), context_with(model))).action == "create_tool"
    assert "A tool is wanted" in model.requests[0][-1]["content"]
    decision = await choose(wished("q", tools=[FIBONACCI]), context_with(ScriptedModel([USE])))
    assert (decision.action, decision.tool) == ("use_tool", "nth_fibonacci")


@pytest.mark.parametrize(("verdict", "action"), [("yes", "use_tool"), ("part", "create_tool"), ("no", "create_tool")])
async def test_a_weak_model_says_whether_a_tool_fits(verdict: str, action: str) -> None:
    model = Weak([{"json": verdict}, USE])
    assert (await choose(wished("The 57th?", tools=[FIBONACCI]), context_with(model))).action == action


async def test_a_tool_that_failed_is_followed_by_a_new_one() -> None:
    steps = [done("use_tool", "nth_fibonacci(n=57)", ok=False)]
    state = wished("q", tools=[FIBONACCI], steps=steps)
    assert (await choose(state, context_with(ScriptedModel([USE | {"repeat": True}])))).action == "create_tool"


@pytest.mark.parametrize("action", ["use_tool", "create_tool"])
async def test_a_result_is_the_answer(action: str) -> None:
    decision = await choose(wished("q", steps=[done(action, value=[1, 2])]), context_with(ScriptedModel([])))
    assert (decision.action, decision.answer) == ("answer", "1, 2")


async def test_a_creation_that_failed_is_not_tried_again() -> None:
    state = wished("q", tools=[FIBONACCI], steps=[done("create_tool", ok=False)])
    decision = await choose(state, context_with(ScriptedModel([])))
    assert (decision.action, decision.answer) == ("answer", "")
