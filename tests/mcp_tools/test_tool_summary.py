"""A tool's summary is the first paragraph of its description."""

from __future__ import annotations

import pytest

from mcp_tools.tool import Tool


@pytest.mark.parametrize(
    ("description", "summary"),
    [
        ("Count lines.", "Count lines."),
        ("Count the lines\n    of a file.\n\nMore words.", "Count the lines of a file."),
        ("Count lines.\n\nRaises:\n    ValueError: The file is empty.", "Count lines."),
        ("Count lines.\nRaises:\n    ValueError: The file is empty.", "Count lines."),
        ("Count lines.\nSee Also:\n    wc", "Count lines."),
        ("Count lines: all of them.", "Count lines: all of them."),
        ("Raises:\n    ValueError: Always.", ""),
        ("", ""),
    ],
)
def test_a_summary_ends_before_a_section(description, summary):
    assert Tool("count", description, {}, {}, "").summary == summary
