"""What is said of a tool: its calls, as Python writes them."""

from __future__ import annotations

from mcp_tools.tool import call_text


def test_a_call_is_python() -> None:
    assert call_text("f", {"a": 1, "b": 'it\'s "x"', "c": [None, True]}) == ("f(a=1, b='it\\'s \"x\"', c=[None, True])")


def test_arguments_are_cut_where_a_prompt_wants_them_short() -> None:
    assert call_text("f", {"a": "x" * 50}, longest=5) == "f(a='xxxx…)"
    assert call_text("f", {"a": "x" * 50}) == f"f(a='{'x' * 50}')"
