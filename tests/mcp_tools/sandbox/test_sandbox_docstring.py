"""Google-style docstrings are taken apart; others are left whole."""

from __future__ import annotations

from mcp_tools.sandbox.inside.docstring import parse


def test_docstrings_without_sections_are_text() -> None:
    parsed = parse("One.\n\nTwo:\n    three")
    assert parsed.text == "One.\n\nTwo:\n    three"
    assert parsed.parameters == {}


def test_descriptions_go_on_over_lines_and_colons() -> None:
    parsed = parse("One.\n\nArgs:\n    a (int, optional): First: the\n        rest.\n    *b: More.\n\nAfterwards.")
    assert parsed.parameters == {"a": "First: the rest.", "b": "More."}
    assert parsed.text == "One.\n\nAfterwards."


def test_returns_with_and_without_a_type() -> None:
    assert parse("One.\n\nReturns:\n    dict[str, int]: By name.").returns == "By name."
    assert parse("One.\n\nReturns:\n    The sum of both: above zero.").returns == "The sum of both: above zero."


def test_nothing() -> None:
    assert parse("").text == ""
