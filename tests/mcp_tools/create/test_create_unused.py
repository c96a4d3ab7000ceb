# ruff: noqa: E501 - one case a line
"""Unused parameters are removed from a source; values to try a parameter come from its schema."""

from __future__ import annotations

import ast

import pytest

from mcp_tools.create.variations import alternatives, without_parameter

DOC = '    """Sum.\n\n    Args:\n        a: First.\n        idle: Says nothing,\n            over two lines.\n        b: Last.\n    """\n'
SHORT = '    """Sum.\n\n    Args:\n        a: First.\n        b: Last.\n    """\n'
BODY = "    return a + b  # kept\n"
CLEAN = {
    "in a line": ("def f(a: int, idle: str, b: int) -> int:\n", "def f(a: int, b: int) -> int:\n"),
    "first": ("def f(idle: str, a: int, b: int) -> int:\n", "def f(a: int, b: int) -> int:\n"),
    "last": ("def f(a: int, b: int, idle: str) -> int:\n", "def f(a: int, b: int) -> int:\n"),
    "last with a default": ("def f(a: int, b: int, idle: str = ',)') -> int:\n", "def f(a: int, b: int) -> int:\n"),
    "last with a comma": ("def f(a: int, b: int, idle: str,) -> int:\n", "def f(a: int, b: int, ) -> int:\n"),
    "keyword-only": ("def f(a: int, *, idle: str = 'é', b: int) -> int:\n", "def f(a: int, *, b: int) -> int:\n"),
    "after letters of two bytes": (
        "def f(a: int = len('éß'), idle: str = 'ß', b: int = 1) -> int:\n",
        "def f(a: int = len('éß'), b: int = 1) -> int:\n",
    ),
    "lines of its own": (
        "def f(\n    a: int,  # one\n    idle: dict[str, list[int]],  # gone\n    b: int,  # two\n) -> int:\n",
        "def f(\n    a: int,  # one\n    b: int,  # two\n) -> int:\n",
    ),
    "over several lines": (
        "def f(\n    a: int,\n    idle: dict[\n        str, int\n    ] = {},\n    b: int = 1,\n) -> int:\n",
        "def f(\n    a: int,\n    b: int = 1,\n) -> int:\n",
    ),
    "two in a line": (
        "def f(\n    a: int, idle: str,\n    b: int,\n) -> int:\n",
        "def f(\n    a: int, \n    b: int,\n) -> int:\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), CLEAN.values(), ids=CLEAN.keys())
def test_only_the_parameter_and_its_description_go(before: str, after: str) -> None:
    head, tail = '"""A module."""\n\nX = 1\n\n\n', "\n\n# the end\n"
    assert without_parameter(head + before + DOC + BODY + tail, "f", "idle") == head + after + SHORT + BODY + tail


UNCLEAN = {
    "read": "def f(a: int, idle: int) -> int:\n    '''Doc.'''\n    return a + 0 * idle\n",
    "read in a nested function": "def f(a: int, idle: int) -> int:\n    '''Doc.'''\n    return (lambda: a * idle)()\n",
    "calls itself": "def f(a: int, idle: int) -> int:\n    '''Doc.'''\n    return f(a - 1, 2) if a else 0\n",
    "called under the guard": "def f(a: int, idle: int) -> int:\n    '''Doc.'''\n    return a\nif __name__ == '__main__':\n    f(1, 2)\n",
    "spoken of": "def f(a: int, idle: int) -> int:\n    '''Doc of idle things.'''\n    return a\n",
    "alone behind a star": "def f(a: int, *, idle: int) -> int:\n    '''Doc.'''\n    return a\n",
    "before the quotes": "def f(a: int, idle: int) -> int:\n    '''Doc.\n\n    Args:\n        a: A.\n        idle: B.'''\n    return a\n",
}  # fmt: skip


@pytest.mark.parametrize("source", UNCLEAN.values(), ids=UNCLEAN.keys())
def test_what_cannot_go_cleanly_stays(source: str) -> None:
    ast.parse(source)
    assert without_parameter(source, "f", "idle") is None


@pytest.mark.parametrize(
    ("value", "schema", "some"),
    [
        ("a", {"enum": ["a", "b", "c"]}, ["b", "c"]),
        (None, {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}]}, ["a", "b"]),
        (True, {"type": "boolean"}, [False]),
        (7, {"type": "integer"}, [0, -1, 1000]),
        (2.5, {"type": "number"}, [0.0, 1e6]),
        ("Abc", {"type": "string"}, ["", "aBC", "cbA"]),
        ([1, 2, 3], {"type": "array"}, [[3, 2, 1], [1], []]),
        ({"x": 1, "y": 2}, {"type": "object"}, [{"x": 1}, {}]),
        (None, {"type": ["integer", "null"]}, [0, 1]),
    ],
)
def test_other_values_are_near_and_far(value: object, schema: dict[str, object], some: list[object]) -> None:
    found = alternatives(value, schema)
    assert all(other in found for other in some)
    assert value not in [other for other in found if type(other) is type(value)]
    assert len(found) == len({repr(other) for other in found})
