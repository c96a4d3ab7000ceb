"""A decision is read from whatever a model filled in, or refused with a message for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ModelOutputError
from agent.state import ACTIONS, Decision

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)
nearly = st.fixed_dictionaries(
    {},
    optional={
        "why": json_values,
        "next": st.one_of(
            json_values,
            st.fixed_dictionaries(
                {"action": st.one_of(st.sampled_from(ACTIONS), json_values)},
                optional={"tool": json_values, "arguments": json_values, "answer": json_values},
            ),
        ),
    },
)


@given(st.one_of(json_values, nearly))
def test_garbage_gives_a_decision_or_a_message_for_the_model(form: Any) -> None:
    try:
        decision = Decision.from_json(form)
    except ModelOutputError as problem:
        assert 0 < len(problem.message) < 400  # noqa: PT017 - some forms are decisions
        return
    assert decision.action in ACTIONS
    assert all(isinstance(part, str) for part in (decision.why, decision.tool, decision.answer, decision.input))
    assert Decision(**json.loads(json.dumps(decision.as_json()))).action == decision.action


REFUSED = [
    (None, "an object with `why` and `next`"),
    ([], "an object"),
    ({"next": "search"}, "an object"),
    ({"next": {}}, "no action 'None'"),
    ({"next": {"action": "dance"}}, "no action 'dance'. Choose one of: search, browse"),
    ({"next": {"action": ["search"]}}, "no action"),
    ({"next": {"action": "use_tool"}}, "needs `tool`"),
    ({"next": {"action": "use_tool", "tool": ["a"]}}, "needs `tool`"),
    ({"next": {"action": "use_tool", "tool": "a", "arguments": [1]}}, "`arguments` is an object"),
]


@pytest.mark.parametrize(("form", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_the_message_says_what_is_wrong(form: Any, message: str) -> None:
    with pytest.raises(ModelOutputError) as caught:
        Decision.from_json(form)
    assert message in caught.value.message


def test_each_action_is_read() -> None:
    for action in ACTIONS:
        form = {"why": "so", "next": {"action": action, "tool": "t", "arguments": {"n": 1}, "answer": "a"}}
        decision = Decision.from_json(form)
        assert (decision.action, decision.why) == (action, "so")
    assert Decision.from_json({"next": {"action": "use_tool", "tool": "t", "arguments": {"n": 1}}}) == Decision(
        "use_tool", tool="t", arguments={"n": 1}
    )


@pytest.mark.parametrize(("answer", "text"), [(0, "0"), (95, "95"), (False, "False"), (None, ""), ("", "")])
def test_an_answer_may_be_a_number(answer: Any, text: str) -> None:
    assert Decision.from_json({"why": None, "next": {"action": "answer", "answer": answer}}).answer == text


def test_equal_inputs_make_a_repetition_whatever_the_order_of_arguments() -> None:
    one = Decision("use_tool", tool="t", arguments={"a": 1, "b": "x"})
    assert one.input == Decision("use_tool", tool="t", arguments={"b": "x", "a": 1}).input == "t(a=1, b='x')"
    assert one.input != Decision("use_tool", tool="t", arguments={"a": 1, "b": "y"}).input
