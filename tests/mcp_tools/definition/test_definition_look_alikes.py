"""Names that a reader takes for one another."""

from __future__ import annotations

import pytest

from mcp_tools.approve import look_alikes

NAMES = ("get_value", "sum_numbers", "word_count", "read", "count_2")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("get_va1ue", ["get_value"]),
        ("getvalue", ["get_value"]),
        ("Get-Value", ["get_value"]),
        ("surn_numbers", ["sum_numbers"]),
        ("vvord_c0unt", ["word_count"]),
        ("get_value", []),
        ("get_values", []),
        ("get_value_2", []),
        ("count_3", []),
        ("lead", []),
    ],
)
def test_names_that_look_alike_are_found(name: str, wanted: list[str]) -> None:
    """Another number at the end is another version, and another letter another name."""
    assert look_alikes(name, NAMES) == wanted
