"""Limits in a docstring are parsed correctly."""

from __future__ import annotations

import pytest

from mcp_tools.create.comparison import near_misses, outside_of_returns
from mcp_tools.create.documented_function import read_function
from mcp_tools.tool import Capabilities, Json

CODE = '''def tool(value: list) -> int:
    """Compute something.

    Args:
        value: {words}

    Returns:
        The count, {words}

    Raises:
        ValueError: The value is refused.
    """
    return 1
'''
SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
CASES: dict[str, tuple[str, Json, list[Json]]] = {
    "a thousand": ("Number of trials, 1 to 1,000.", 5, [0, 1001]),
    "ten million": ("Number of trials, 1 to 10,000,000.", 5, [0, 10_000_001]),
    "thousands below": ("Years, 1,000 to 9,999.", 1500, [999, 10_000]),
    "underscores": ("Number of trials, 1 to 10_000.", 5, [0, 10_001]),
    "at most": ("Metres, at most 12,500.", 5, [12_501]),
    "decimals": ("Share, 0.5 to 1.5.", 1.0, [-0.5, 2.5]),
    "a sentence": ("Share, 1 to 3, in whole steps.", 2, [0, 4]),
    "words behind": ("Trials, 1 to 10 million.", 5, []),
    "a list of corners": ("Corners [x, y] in order, 3 to 3000.", SQUARE, []),
    "a list of numbers": ("Numbers, 0 to 100.", [5, 6], []),
    "each": ("Numbers, each 0 to 100.", [5, 6], [[5, -1], [5, 101]]),
    "each with thousands": ("Numbers, each at most 1,000.", [5, 6], [[5, 1001]]),
    "a length": ("At most useful for 2 to 4 values.", [5, 6, 7], [[5], [5, 6, 7, 5, 6]]),
    "a long length": ("The outline: 3 to 3,000 corners.", SQUARE, [SQUARE[:2]]),
    "at least": ("The outline, at least 3 points, each above 0.", [5, 6, 7], [[5, 6], [5, 6, 0]]),
}


@pytest.mark.parametrize(("words", "value", "others"), CASES.values(), ids=CASES.keys())
def test_calls_just_outside_of_a_limit(words: str, value: Json, others: list[Json]) -> None:
    function = read_function(CODE.format(words=words), "", Capabilities())
    assert function is not None
    assert [one.call.arguments["value"] for one in near_misses(function, {"value": value})] == others


@pytest.mark.parametrize(("value", "is_outside"), [(11, False), (10_000_000, False), (10_000_001, True), (0, True)])
def test_limits_of_the_result_may_have_thousands_separators(value: int, is_outside: bool) -> None:
    function = read_function(CODE.format(words="1 to 10,000,000."), "", Capabilities())
    assert function is not None
    assert bool(outside_of_returns(function, value)) is is_outside
