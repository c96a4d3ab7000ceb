"""The answer inside a decision, while the decision is being written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context import Context
from agent.events import AnswerWritten, Event
from agent.models.scripted import ScriptedModel
from agent.small.decision import ask
from agent.small.streamed import AnswerInside
from support.decisions import SEARCH, context_with, state_of

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def told(text: str, size: int) -> list[str]:
    """What is told of a decision that comes in pieces of a size."""
    pieces: list[str] = []
    inside = AnswerInside(pieces.append)
    for start in range(0, len(text), size):
        inside.add(text[start : start + size])
    return pieces


@given(answer=_TEXT, why=_TEXT, size=st.integers(1, 9), plain=st.booleans(), last=st.booleans())
def test_the_pieces_are_the_answer_however_the_decision_is_cut(
    answer: str, why: str, size: int, plain: bool, last: bool
) -> None:
    action = {"answer": answer, "action": "answer"} if last else {"action": "answer", "answer": answer}
    decision = json.dumps({"why": why, "next": action}, ensure_ascii=plain)
    assert "".join(told(decision, size)) == answer


def test_an_answer_grows_before_it_is_whole() -> None:
    decision = json.dumps({"why": "known", "next": {"action": "answer", "answer": "# Paris\n\n- on the **Seine**"}})
    pieces = told(f"Here it is: ```json\n{decision}\n```", 4)
    assert len(pieces) > 5
    assert "".join(pieces) == "# Paris\n\n- on the **Seine**"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"why": "", "next": {"action": "use_tool", "tool": "t", "arguments": {"answer": "no"}}}),
        json.dumps({"why": "", "answer": "no"}),
        json.dumps({"why": "", "next": {"action": "answer", "answer": None}}),
        json.dumps({"why": "", "next": "answer"}),
        '["answer"]',
        "no JSON at all",
        "{answer: 1}",
        "",
    ],
)
def test_nothing_else_is_told(text: str) -> None:
    assert told(text, 3) == []


def test_a_second_attempt_behind_the_first_is_not_told_as_more_of_it() -> None:
    attempts = [json.dumps({"why": "", "next": {"action": "answer", "answer": word}}) for word in ("one", "two")]
    assert "".join(told("".join(attempts), 5)) == "one"


async def test_nothing_is_told_to_those_who_do_not_want_to_see_it_grow() -> None:
    answer: dict[str, Any] = {"json": {"why": "", "next": {"action": "answer", "answer": "Paris"}}}
    seen: list[Event] = []
    await ask(state_of("Which city?"), replace(_watched(ScriptedModel([answer]), seen), streams=False))
    assert not [event for event in seen if isinstance(event, AnswerWritten)]


async def test_a_decision_to_answer_tells_it_as_events_and_another_tells_nothing() -> None:
    answer: dict[str, Any] = {"json": {"why": "", "next": {"action": "answer", "answer": "Paris"}}}
    seen: list[Event] = []
    context = _watched(ScriptedModel([answer, SEARCH]), seen)
    await ask(state_of("Which city?"), context)
    assert [event.text for event in seen if isinstance(event, AnswerWritten)] == ["Paris"]
    seen.clear()
    await ask(state_of("Which city?"), context)
    assert not [event for event in seen if isinstance(event, AnswerWritten)]


def _watched(model: ScriptedModel, seen: list[Event]) -> Context:
    return replace(context_with(model), emit=seen.append, streams=True)
