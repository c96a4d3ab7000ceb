"""The function that a program calls with literal values is found, and taken out with what it needs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.small.module import call_in, documented

AREA = "def area(width, height):\n    return width * height\n"

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "positional": ("print(area(3, 4))", {"width": 3, "height": 4}),
    "named": ("print(area(height=-4, width=2.5))", {"width": 2.5, "height": -4}),
    "through a variable": ("result = area(3, 4)\nprint(result)", {"width": 3, "height": 4}),
    "values in variables": ("w = 3\nh: int = 4\nprint(area(w, h))", {"width": 3, "height": 4}),
    "values in one line": ("w, h = 3, 4\nprint(area(w, h))", {"width": 3, "height": 4}),
    "a list of variables": ("w = 3\nprint(area([w, (1, 2)], 'x'))", {"width": [3, [1, 2]], "height": "x"}),
    "in a text": ("print(f'{area(3, 4)} m')", {"width": 3, "height": 4}),
    "the last of several": ("print(area(1, 2))\nprint(area(3, 4))", {"width": 3, "height": 4}),
    "plain arithmetic": ("print(area(2 + 1, [2 ** 2, 5 / 100]))", {"width": 3, "height": [4, 0.05]}),
    "as a script": ("if __name__ == '__main__':\n    print(area(3, 4))", {"width": 3, "height": 4}),
    "in main": ("def main():\n    w = 3\n    print(area(w, 4))\nmain()", {"width": 3, "height": 4}),
}
NONE = {
    "computed values": "print(area(3, len('abcd')))",
    "a variable that changes": "w = 3\nw += 1\nprint(area(w, 4))",
    "a loop": "for w in range(3):\n    print(area(w, 4))",
    "too many values": "print(area(1, 2, 3))",
    "several at once": "values = (3, 4)\nprint(area(*values))",
    "no number": "print(area(float('nan'), 1e999))",
    "another function": "print(max(3, 4))",
    "nothing": "",
}


@pytest.mark.parametrize(("rest", "arguments"), CALLS.values(), ids=CALLS.keys())
def test_a_call_with_literal_values_is_found(rest: str, arguments: dict[str, Any]) -> None:
    call = call_in(f"{AREA}{rest}\n")
    assert call is not None
    assert (call.name, call.arguments, call.source) == ("area", arguments, AREA)


@pytest.mark.parametrize("rest", NONE.values(), ids=NONE.keys())
def test_other_calls_are_none(rest: str) -> None:
    assert call_in(f"{AREA}{rest}\n") is None


PROGRAM = '''import math
import os
from datetime import date

# Kilometres.
RADIUS = 6371
NAME = "Earth"


def _sin(degrees: float) -> float:
    return math.sin(math.radians(degrees))  # in degrees


def unused() -> None:
    print(os.name, date)


# How far one sees.
def horizon(degrees: float, planet: str) -> float:
    """Compute it."""
    # from the middle
    return RADIUS * _sin(degrees)


degrees = 30
print(round(horizon(degrees, NAME), 2))
'''
TOOL = '''import math

# Kilometres.
RADIUS = 6371


def _sin(degrees: float) -> float:
    return math.sin(math.radians(degrees))  # in degrees


# How far one sees.
def horizon(degrees: float) -> float:
    """Compute it."""
    # from the middle
    return RADIUS * _sin(degrees)
'''
DESCRIBED = TOOL.replace(
    '    """Compute it."""',
    '''    """Compute the distance.

    Args:
        degrees: With a \\\\ in it.

    Returns:
        Kilometres.

    Example:
        >>> horizon(degrees=30)
        3185.5
    """''',
)


def test_only_what_the_function_needs_is_taken_and_as_it_is_written() -> None:
    call = call_in(PROGRAM)
    assert call is not None
    assert (call.source, call.arguments) == (TOOL, {"degrees": 30})
    described = documented(call, 3185.5, "Compute the distance.", {"degrees": "With a \\ in it."}, "Kilometres.", {})
    assert described == DESCRIBED


def test_missing_annotations_are_those_of_the_call() -> None:
    call = call_in("def f(a, b=None, *, c=1): return [a]\nprint(f(2.5, ['x'], c={'k': [1, 2.5]}))")
    assert call is not None
    described = documented(call, [2.5], "Do it.", {}, "A list.", {})
    assert "def f(a: float, b: list[str]=None, *, c: dict[str, list[float]]=1) -> list[float]:" in described
    assert described.endswith('    """\n    return [a]\n')
    compile(described, "f", "exec")


def test_input_that_cannot_be_taken_is_refused_and_the_docstring_says_so() -> None:
    code = "def f(a: int) -> int:\n    if a > 9:\n        raise ValueError('a is large')\n    return 7 // a\n"
    call = call_in(f"{code}print(f(2))")
    assert call is not None
    described = documented(call, 3, "Divide.", {"a": "It."}, "It.", {"a == 0": "a is 0"})
    assert "    Raises:\n        ValueError: a is 0.\n        ValueError: a is large\n" in described
    with pytest.raises(ValueError, match="a is 0"):
        exec(f"{described}\nf(0)", {})


@given(st.text())
def test_whatever_a_model_writes_nothing_raises(text: str) -> None:
    call_in(text)
    call_in(f"{AREA}print(area({text}, 1))")
