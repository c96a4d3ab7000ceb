"""A capable model's calls are carried out where they can be; what cannot is asked again with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from agent.context import NextActions
from agent.errors import ModelOutputError
from agent.models.scripted import ScriptedModel
from agent.standard.standard import ATTEMPTS
from agent.state import State
from support.decisions import FIBONACCI, SEARCHING, choose, context_with, done, state_of

USING = {"tool": "nth_fibonacci", "arguments": {"n": 57}}


async def decided(state: State, *lines: Any) -> tuple[NextActions, ScriptedModel]:
    model = ScriptedModel(list(lines))
    context = context_with(model)
    return await context.strategy("coordinator").decide(state, context), model


async def test_a_call_that_can_be_carried_out_is_taken_at_once() -> None:
    choice, model = await decided(state_of("q"), SEARCHING | {"say": "It may be on the web."})
    [decision] = choice.decisions
    assert (decision.action, decision.query, decision.why) == ("search", "q", "It may be on the web.")
    assert len(model.requests) == 1


async def test_a_text_is_the_answer() -> None:
    choice, _ = await decided(state_of("q"), " Oslo\n")
    assert [(decision.action, decision.answer) for decision in choice.decisions] == [("answer", "Oslo")]


PROGRAM = {"tool": "run_python", "arguments": {"code": "print(1)"}}
REFUSALS = {
    "unknown function": ({"tool": "dance"}, "there is no function 'dance'"),
    "broken arguments": ({"tool": "search", "arguments": '{"query": "a'}, "the arguments are no whole JSON"),
    "missing arguments": ({"tool": "read"}, "'source' is a required property"),
    "wrong arguments": (USING | {"arguments": {"m": 1}}, "the arguments do not fit"),
    "a thousand arguments": (USING | {"arguments": {f"n{k}": k for k in range(1_000)}}, "the arguments do not fit"),
    "repetition": (PROGRAM, "run_code was already done and gave"),
    "empty": ("", "Your reply was empty"),
    "cut off": ({"text": "It is 36543529", "finish": "length"}, "Your reply was cut off"),
}


@pytest.mark.parametrize(("line", "reason"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_what_cannot_be_carried_out_is_asked_again_with_the_reason(line: Any, reason: str) -> None:
    steps = [done("run_code", "run_code print(1)", ok=False)]
    choice, model = await decided(state_of("q", tools=[FIBONACCI], steps=steps), line, SEARCHING)
    assert [decision.action for decision in choice.decisions] == ["search"]
    first, second = model.requests
    assert second[: len(first)] == first, "the conversation only grows"
    assert reason in second[-1]["content"]
    assert len(second[-1]["content"]) < 1_000


async def test_after_several_attempts_the_question_is_searched_for_by_rule() -> None:
    choice, model = await decided(state_of("Who won?"), {"text": "", "repeat": True})
    assert [(decision.action, decision.query) for decision in choice.decisions] == [("search", "Who won?")]
    assert len(model.requests) == ATTEMPTS


async def test_where_no_rule_is_left_it_is_an_error() -> None:
    state = state_of("q", steps=[done("search")])
    with pytest.raises(ModelOutputError, match=r"gave no valid action in 3 attempts: there is no function 'dance'"):
        await choose(state, context_with(ScriptedModel([{"tool": "dance", "repeat": True}])))
    with pytest.raises(ModelOutputError, match=r"gave no valid action in 3 attempts: its reply was empty$"):
        await choose(state, context_with(ScriptedModel([{"text": "", "repeat": True}])))


async def test_several_calls_of_one_reply_are_all_taken_in_order() -> None:
    pages = [{"tool": "read", "arguments": {"source": f"https://a.example/{n}"}} for n in range(3)]
    choice, model = await decided(state_of("q"), {"calls": [*pages, {"tool": "dance"}, pages[0]]})
    assert [decision.file for decision in choice.decisions] == [page["arguments"]["source"] for page in pages]
    assert sorted(choice.replies[0]["refused"].values()) == [
        "The same call comes before it.",
        "there is no function 'dance'; there are: run_python, create_tool, read, search, browse, ask",
    ]
    assert len(model.requests) == 1


async def test_more_calls_than_can_be_followed_are_not_made() -> None:
    calls = [{"tool": "search", "arguments": {"query": f"q{n}"}} for n in range(20)]
    choice, _ = await decided(state_of("q"), {"calls": calls})
    assert len(choice.decisions) == 8
    assert set(choice.replies[0]["refused"].values()) == {"More than 8 calls at once."}


async def test_a_capable_model_decides_after_a_result() -> None:
    state = state_of("q", steps=[done("create_tool", value=5)])
    assert (await choose(state, context_with(ScriptedModel([SEARCHING])))).action == "search"


async def test_what_a_run_goes_without_is_refused() -> None:
    state = {**state_of("q"), "without": ["search"]}
    choice, model = await decided(state, SEARCHING, "unknown")
    assert choice.decisions[0].action == "answer"
    assert "there is no function 'search'" in model.requests[1][-1]["content"]
