"""A call that gave no value is counted by whose doing that is."""

from __future__ import annotations

import pytest

from mcp_tools.run import outcome_class
from mcp_tools.sandbox.protocol import Isolation, Level, Outcome, Problem, ProblemKind
from mcp_tools.tool import Tool

TOOL = Tool(
    "rate", "Find a rate.\n\nRaises:\n    ValueError: If there is none.\n    LookupError: If it is unknown.", {}, {}, ""
)
CASES: dict[str, tuple[ProblemKind, str, int, str]] = {
    "a documented refusal": ("exception", "ValueError: there is no rate", 0, "refused"),
    "another one": ("exception", "LookupError: unknown", 0, "refused"),
    "also after a request": ("exception", "ValueError: there is no rate", 1, "refused"),
    "an exception of no document": ("exception", "KeyError: 'x'", 0, "bug"),
    "an exception without a text": ("exception", "AssertionError", 0, "bug"),
    "what a host answered": ("exception", "KeyError: 'temperature'", 2, "upstream"),
    "wrong arguments": ("arguments", "n is missing", 0, "arguments"),
    "too long": ("wall_time", "stopped after 10 s", 0, "environment"),
    "refused by the sandbox": ("denied", "the path is not granted", 0, "environment"),
    "a result that is no JSON": ("result", "the result is NaN", 0, "bug"),
}


@pytest.mark.parametrize(("kind", "message", "requests", "expected"), CASES.values(), ids=CASES.keys())
def test_failures_are_classed(kind: ProblemKind, message: str, requests: int, expected: str) -> None:
    outcome = Outcome(False, Isolation(Level.STRONG, "none"), problem=Problem(kind, message), requests=requests)
    assert outcome_class(TOOL, outcome) == expected


@pytest.mark.parametrize(("raised", "expected"), [("LookupError", "bug"), ("ValueError", "arguments")])
def test_a_word_outside_the_raises_section_documents_no_refusal(raised: str, expected: str) -> None:
    tool = Tool("rate", f"Find a rate; {raised} is rare.", {}, {}, "")
    outcome = Outcome(False, Isolation(Level.STRONG, "none"), problem=Problem("exception", f"{raised}: no rate"))
    assert outcome_class(tool, outcome) == expected


def test_a_success_has_no_class() -> None:
    assert outcome_class(TOOL, Outcome(True, Isolation(Level.STRONG, "none"), 1)) is None
