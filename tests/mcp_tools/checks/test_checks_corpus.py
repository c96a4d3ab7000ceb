"""Good Python passes in any style; broken and hostile sources are refused with a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcp_tools.checks.check import check

_CASE = re.compile(
    r"^## (?P<title>[^\n]+)\n\n(?:(?P<rule>[a-z-]+): (?P<reason>[^\n]+)\n\n)?```python\n(?P<source>.*?)^```",
    re.M | re.S,
)


def cases(name: str) -> dict[str, re.Match[str]]:
    """Return the cases in a file by title."""
    text = Path(__file__).with_name(name).read_text()
    text = re.sub(r"⟨([0-9A-F]{4})⟩", lambda match: chr(int(match[1], 16)), text)
    found = {match["title"]: match for match in _CASE.finditer(text)}
    assert len(found) == len(re.findall(r"^## ", text, re.M))
    return found


SOUND = cases("sound_tools.md")
REFUSED = cases("refused_tools.md")


@pytest.mark.parametrize("case", SOUND.values(), ids=SOUND.keys())
def test_a_sound_tool_passes(case: re.Match[str]) -> None:
    assert check(case["source"]).findings == ()


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_broken_or_hostile_source_is_refused(case: re.Match[str]) -> None:
    errors = check(case["source"]).findings
    assert any(error.rule == case["rule"] and case["reason"] in error.message for error in errors), errors
