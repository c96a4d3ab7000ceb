"""Registry entries are repaired without guessing; modules are split into functions."""

from __future__ import annotations

import pytest

from mcp_tools.exchange.modules import functions_of
from mcp_tools.exchange.registry import repaired

REPAIRS = {
    "fence": (
        "```python\ndef f(a: int) -> int:\n    'x'\n    return a\n```",
        {},
        "def f(a: int) -> int:\n    'x'\n    return a\n",
    ),
    "docstring": (
        "def f(a: int) -> int:\n    return a\n",
        {"description": 'Says "a".'},
        'def f(a: int) -> int:\n    """Says "a"."""\n    return a\n',
    ),
    "no escape from the docstring": (
        "def f(a: int) -> int:\n    return a\n",
        {"description": 'a\\"""; import os'},
        'def f(a: int) -> int:\n    """a\'\'\'; import os"""\n    return a\n',
    ),
    "type of a default": (
        'def f(query=""):\n    """x"""\n    return int(query)\n',
        {},
        'def f(query: str="") -> int:\n    """x"""\n    return int(query)\n',
    ),
    "types of the entry": (
        'def f(länge, w):\n    """x"""\n    return länge * w\n',
        {"args": "länge (float), w (number)", "returns": "area (float)"},
        'def f(länge: float, w: float) -> float:\n    """x"""\n    return länge * w\n',
    ),
    "type of a variable": (
        'def f(a: int):\n    """x"""\n    r = f"{a}"\n    if a:\n        return "b"\n    return r\n',
        {},
        'def f(a: int) -> str:\n    """x"""\n    r = f"{a}"\n    if a:\n        return "b"\n    return r\n',
    ),
    "unread parameter": (
        'def f(a: int, query="") -> int:\n    """x"""\n    return a\n',
        {},
        'def f(a: int) -> int:\n    """x"""\n    return a\n',
    ),
    "nothing is guessed": (
        'def f(a, b):\n    """x"""\n    return a or b\n',
        {"returns": "processed result"},
        'def f(a, b):\n    """x"""\n    return a or b\n',
    ),
    "two kinds of results": (
        'def f(a: int):\n    """x"""\n    return "e" if a else 1\n',
        {},
        'def f(a: int):\n    """x"""\n    return "e" if a else 1\n',
    ),
    "tabs": (
        "def f(a: int) -> int:\n\tb = a\n\treturn b\n",
        {"description": "Says a."},
        'def f(a: int) -> int:\n\t"""Says a."""\n\tb = a\n\treturn b\n',
    ),
    "does not parse": ("def f(:\n", {"description": "x"}, "def f(:\n"),
    "another name": ("def g(a):\n    return 1\n", {"description": "x"}, "def g(a):\n    return 1\n"),
}


@pytest.mark.parametrize("case", REPAIRS)
def test_what_an_entry_or_the_code_says_is_written_in(case: str) -> None:
    before, about, after = REPAIRS[case]
    text, done = repaired(before, "f", about)
    assert text == after
    assert bool(done) == (before != after)


MODULE = '''"""Shapes."""
from __future__ import annotations

import math
import sys

HALF = 0.5
UNUSED = 1


def _square(x: float) -> float:
    return x * x


def circle(radius: float) -> float:
    """The area of a circle."""
    return math.pi * _square(radius)


def triangle(base: float, height: float) -> float:
    """The area of a triangle."""
    return HALF * base * height


if __name__ == "__main__":
    print(circle(1), sys.argv)
'''


def test_each_function_of_a_module_takes_what_it_needs() -> None:
    parts = dict(functions_of(MODULE))
    assert list(parts) == ["circle", "triangle"]
    assert parts["triangle"] == (
        "from __future__ import annotations\nHALF = 0.5\n\n\ndef triangle(base: float, height: float) -> float:\n"
        '    """The area of a triangle."""\n    return HALF * base * height\n'
    )
    assert "import math" in parts["circle"]
    assert "def _square" in parts["circle"]
    assert "HALF" not in parts["circle"]
    for name, part in parts.items():
        exec(compile(part, name, "exec"), {})


def test_a_single_function_keeps_the_whole_file() -> None:
    text = "# mine\nimport math\n\n\ndef circle(radius: float) -> float:\n    return math.pi\n"
    assert functions_of(text) == [("circle", text)]
