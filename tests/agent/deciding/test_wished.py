"""A run that is for a tool uses one of the library that fits, else creates one; no other way is open to it."""

from __future__ import annotations

from typing import Any

import pytest

from agent.errors import ModelOutputError
from agent.models.scripted import ScriptedModel
from agent.standard.standard import ATTEMPTS
from agent.state import State
from support.decisions import FIBONACCI, SEARCHING, USE, Weak, choose, context_with, done, state_of
from support.fibonacci import CODE

CREATING = {"tool": "create_tool", "arguments": {"code": CODE, "arguments": {"n": 57}}}
USING = {"tool": "nth_fibonacci", "arguments": {"n": 57}}


def wished(question: str, **more: Any) -> State:
    return {**state_of(question, **more), "wish": "create"}


async def test_with_no_tool_that_may_fit_a_small_models_is_created_without_a_call() -> None:
    model = Weak([])
    assert (await choose(wished("Open www.example.com and log in."), context_with(model))).action == "create_tool"
    assert not model.requests


NOT_POSSIBLE = [{"tool": "run_python", "arguments": {"code": "print(1)"}}, SEARCHING, "42"]


@pytest.mark.parametrize("line", NOT_POSSIBLE, ids=["run_code", "search", "answer"])
async def test_what_is_not_possible_is_asked_again_and_nothing_else_is_done_instead(line: Any) -> None:
    model = ScriptedModel([line, CREATING])
    assert (await choose(wished("q"), context_with(model))).action == "create_tool"
    reason = "A tool is wanted and not an answer" if line == "42" else "there is no function"
    assert reason in model.requests[1][-1]["content"]
    only = ScriptedModel([line] * ATTEMPTS)
    with pytest.raises(ModelOutputError, match="gave no valid action"):
        await choose(wished("q"), context_with(only))


async def test_a_capable_model_chooses_between_the_shown_tools_and_a_new_one() -> None:
    model = ScriptedModel([CREATING])
    decision = await choose(wished("q", tools=[FIBONACCI]), context_with(model))
    assert (decision.action, decision.code, decision.arguments) == ("create_tool", CODE, {"n": 57})
    decision = await choose(wished("q", tools=[FIBONACCI]), context_with(ScriptedModel([USING])))
    assert (decision.action, decision.tool) == ("use_tool", "nth_fibonacci")


@pytest.mark.parametrize(("need", "action"), [("use nth_fibonacci", "use_tool"), ("compute", "create_tool")])
async def test_a_weak_model_chooses_between_a_tool_and_a_new_one(need: str, action: str) -> None:
    model = Weak([{"json": {"why": "so", "needs": need}}, USE])
    assert (await choose(wished("The 57th?", tools=[FIBONACCI]), context_with(model))).action == action


async def test_a_tool_that_failed_is_followed_by_a_new_one() -> None:
    steps = [done("use_tool", "nth_fibonacci(n=57)", ok=False)]
    state = wished("q", tools=[FIBONACCI], steps=steps)
    assert (await choose(state, context_with(ScriptedModel([USING, CREATING])))).action == "create_tool"


@pytest.mark.parametrize("kind", [ScriptedModel, Weak])
@pytest.mark.parametrize("action", ["use_tool", "create_tool"])
async def test_a_result_is_the_answer(action: str, kind: type[ScriptedModel]) -> None:
    state = {**wished("q", steps=[done(action, value=[1, 2])]), "used": ["nth_fibonacci"]}
    decision = await choose(state, context_with(kind([])))
    assert (decision.action, decision.answer) == ("answer", "1, 2")


@pytest.mark.parametrize(("kind", "tries"), [(ScriptedModel, ATTEMPTS), (Weak, 1)])
async def test_creations_that_failed_are_not_tried_for_ever(kind: type[ScriptedModel], tries: int) -> None:
    state = wished("q", tools=[FIBONACCI], steps=[done("create_tool", ok=False, number=n) for n in range(tries)])
    decision = await choose(state, context_with(kind([])))
    assert (decision.action, decision.answer) == ("answer", "")
