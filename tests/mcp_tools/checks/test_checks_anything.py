# ruff: noqa: E501 - one case a line
"""The checks handle any input quickly and without an exception."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tools import checks
from mcp_tools.checks.check import CheckReport, check

SOURCES = [path.read_text() for path in sorted(Path(checks.__file__).parent.glob("*.py"))]
TOOL = '''"""Primes."""
import math
from functools import cache


@cache
def _is_prime(n: int) -> bool:
    return n > 1 and all(n % k for k in range(2, math.isqrt(n) + 1))


def primes(limit: int, *, step: int = 1) -> list[int]:
    """Return the primes below a limit."""
    found: list[int] = []
    for n in range(0, limit, step):
        match n:
            case 0 | 1:
                continue
            case _ if _is_prime(n):
                found.append(n)
    while True:
        try:
            return [x for x in found if (y := x) > 0 and y]
        except ValueError as error:
            raise TypeError(f"{error}") from None


if __name__ == "__main__":
    print(primes(57))
'''
STATEMENTS = [
    ast.unparse(node)
    for source in [*SOURCES, TOOL]
    for node in ast.walk(ast.parse(source))
    if isinstance(node, ast.stmt) and not isinstance(node, ast.ClassDef)
]


def is_report(report: CheckReport) -> bool:
    return isinstance(report, CheckReport) and all(f.line >= 0 and f.message for f in report.findings)


@given(st.text() | st.binary())
def test_any_text_or_bytes_gets_a_report(source: str | bytes) -> None:
    assert is_report(check(source))


@given(st.data())
def test_a_mutated_tool_gets_a_report(data: st.DataObject) -> None:
    source = TOOL
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(source)))
        end = data.draw(st.integers(start, min(len(source), start + 40)))
        piece = data.draw(
            st.text(max_size=5) | st.sampled_from(["\n", " ", "(", "lambda: ", "*", "not ", source[start:end] * 2])
        )
        source = source[:start] + piece + source[end:]
    assert is_report(check(source))


@given(st.data())
def test_any_valid_statement_gets_a_report(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=5))
    body = "\n".join(chosen).replace("\n", "\n    ")
    assert is_report(check(f"def f(a: int, node: str) -> int:\n    {body}\n    return a"))


@pytest.mark.parametrize(
    "source",
    ["-" * 60_000 + "1", "(" * 60_000, "a" + ".b" * 30_000, "x = " + "+".join("1" * 30_000), "a(" * 90 + ")" * 90,
     "if a:\n pass\n" + "elif a:\n pass\n" * 4000, "x = 0x" + "f" * 60_000, "x = 1e999", "f'{" * 30, "'\\d'\n", "x = -1e999j",
     "def f(a: int) -> int:\n" + "".join("    " + "  " * i + "for x in a:\n" for i in range(19)) + " " * 44 + "a += x\n    return a\n"],
    ids=["minus", "parentheses", "attributes", "sum", "calls", "elif", "hexadecimal", "infinity", "f-string", "escape", "complex", "loops"],
)  # fmt: skip
def test_extreme_sources_get_a_report_soon(source: str) -> None:
    start = time.process_time()
    assert is_report(check(source))
    assert time.process_time() - start < 3
