"""Google-style docstrings are split into parts; others stay whole."""

from __future__ import annotations

from mcp_tools.sandbox.inside.docstring import parse_docstring as parse


def test_descriptions_go_on_over_lines_and_colons() -> None:
    parsed = parse("One.\n\nArgs:\n    a (int, optional): First: the\n        rest.\n    *b: More.\n\nAfterwards.")
    assert parsed.parameters == {"a": "First: the rest.", "b": "More."}
    assert parsed.text == "One.\n\nAfterwards."


def test_returns_with_and_without_a_type() -> None:
    assert parse("One.\n\nReturns:\n    dict[str, int]: By name.").returns == "By name."
    assert parse("One.\n\nReturns:\n    The sum of both: above zero.").returns == "The sum of both: above zero."


def test_a_type_before_the_result_is_left_out_and_a_word_is_not() -> None:
    assert parse("One.\n\nReturns:\n    datetime.date | None: The day.").returns == "The day."
    assert parse("One.\n\nReturns:\n    Seconds: as measured.").returns == "Seconds: as measured."


def test_examples_are_for_readers_of_the_source() -> None:
    assert parse("One.\n\nExample:\n    >>> f(1)\n    2\n\nNote:\n    More.").text == "One.\n\nNote:\n    More."
    assert parse("One.\n\n>>> f(1)\n2\n\nTwo.").text == "One.\n\nTwo."


def test_lists_in_descriptions_keep_their_lines() -> None:
    parsed = parse("One.\n\nArgs:\n    mode: One of:\n        - a, which is\n          first\n        - b")
    assert parsed.parameters == {"mode": "One of:\n- a, which is first\n- b"}


def test_a_word_with_a_colon_that_is_no_parameter_goes_on() -> None:
    text = "One.\n\nArgs:\n    a: In percent,\n    note: 5 is 5 %.\n    b: More."
    assert parse(text, ["a", "b"]).parameters == {"a": "In percent, note: 5 is 5 %.", "b": "More."}


def test_fields_of_a_class_are_described_like_parameters() -> None:
    assert parse("One.\n\nAttributes:\n    x: Metres.").parameters == {"x": "Metres."}
