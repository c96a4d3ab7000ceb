"""Empty descriptions, and code that fits one question only, are reported."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_tools.create.documented_function import read_function
from mcp_tools.create.shortcomings import shortcomings
from mcp_tools.tool import Capabilities

FUNCTION = '''def convert_length(length_feet: float, digits: int = 2) -> float:
    """Convert a length from feet to metres.

    Args:
        length_feet: Length in feet, not negative.
        digits: Decimals of the result,
            0 for whole metres.

    Returns:
        The length in metres.
    """
    return round(length_feet * 0.3048, digits)
'''
QUESTION = "How long are 30 feet in metres, with two decimals, if a foot is 0.3048 m? Say only the number."


def problems_of(source: str, question: str = QUESTION, **arguments: Any) -> list[str]:
    written = read_function(source, "", Capabilities())
    assert written is not None
    return list(shortcomings(written, question, arguments))


@pytest.mark.parametrize(
    "name", ["number_1", "text_2", "arg1", "param", "value2", "string1", "parameter", "args", "foo", "num3", "data1"]
)
def test_placeholders_are_named(name: str) -> None:
    assert any("placeholder" in each for each in problems_of(FUNCTION.replace("digits", name)))


@pytest.mark.parametrize("name", ["x1", "lat2", "text", "values", "number_of_days", "base64", "column_1st", "iso8601"])
def test_meaningful_names_are_no_placeholders(name: str) -> None:
    assert problems_of(FUNCTION.replace("digits", name)) == []


@pytest.mark.parametrize(
    "description", ["", "Length feet.", "The length feet.", "length_feet", "The length_feet value (float)."]
)
def test_descriptions_that_say_nothing_are_reported(description: str) -> None:
    source = FUNCTION.replace("Length in feet, not negative.", description)
    assert any("'length_feet'" in each for each in problems_of(source))


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("\n    Returns:\n        The length in metres.\n", "", "no informative Returns"),
        ("The length in metres.", "float: The returned value.", "no informative Returns"),
        ("digits: Dec", "precision: Dec", "'precision', which is not a parameter"),
        ("    return", "    if digits < 0:\n        raise ValueError('negative')\n    return", "no Raises"),
        ("    return", "    if digits < 0:\n        return f'Error: {digits}'\n    return", "returns an error message"),
        ("    return", "    if digits < 0:\n        return 'error - negative'\n    return", "returns an error message"),
    ],
)
def test_what_a_caller_would_miss_is_told(old: str, new: str, reason: str) -> None:
    assert any(reason in each for each in problems_of(FUNCTION.replace(old, new)))


def test_what_a_helper_raises_is_documented_too() -> None:
    helper = "\n\ndef _checked(length: float) -> float:\n    if length < 0:\n        raise ValueError('negative')\n"
    used = FUNCTION.replace("length_feet * ", "_checked(length_feet) * ") + helper + "    return length\n"
    assert any("the code raises ValueError" in each for each in problems_of(used))
    documented = used.replace(
        'metres.\n    """', 'metres.\n\n    Raises:\n        ValueError: It is negative.\n    """'
    )
    assert problems_of(documented) == []
    assert problems_of(FUNCTION + helper) == [], "nobody calls it"


@pytest.mark.parametrize(
    ("name", "arguments", "is_told"),
    [
        ("convert_30_feet", {"length_feet": 30}, True),
        ("metres_of_strawberry", {"digits": "strawberry"}, True),
        ("convert_length", {"length_feet": 30, "digits": "a"}, False),
        ("iso_8601_week", {"length_feet": 30}, False),
        ("base64_length", {"length_feet": 64}, False),
    ],
)
def test_a_name_holds_no_value_of_the_call(name: str, arguments: dict[str, Any], is_told: bool) -> None:
    source = FUNCTION.replace("convert_length", name)
    assert any("name the general concept" in each for each in problems_of(source, **arguments)) is is_told
