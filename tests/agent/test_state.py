"""A decision says what its action works on."""

from __future__ import annotations

from agent.state import Decision


def test_equal_inputs_make_a_repetition_whatever_the_order_of_arguments() -> None:
    one = Decision("use_tool", tool="t", arguments={"a": 1, "b": "x"})
    assert one.input == Decision("use_tool", tool="t", arguments={"b": "x", "a": 1}).input == "t(a=1, b='x')"
    assert one.input != Decision("use_tool", tool="t", arguments={"a": 1, "b": "y"}).input
