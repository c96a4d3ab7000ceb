"""Wrong versions of a source differ from it in the code that tests can reach."""

from __future__ import annotations

import ast

import pytest

from mcp_tools.create.mutants import mutants

RUNNER = '\n\nif __name__ == "__main__":\n    print(f(1 + 2))\n'
SOURCES = {
    "comparison": "def f(n): return [i for i in range(n) if i < n]",
    "membership": "def f(n): return n in (1, 2)",
    "operators": "def f(n):\n    n += n * 2\n    return n % 7 // 2",
    "loop": "def f(n):\n    total = 0\n    while n > 0:\n        total += n % 10\n        n //= 10\n    return total",
    "both": "def f(n): return n > 1 and n < 9 or n == 1e300",
    "choice": "def f(n): return max(n, 0.5)",
    "helper": "def g(n): return n + 1\ndef f(n): return g(n)",
}


@pytest.mark.parametrize("code", SOURCES.values(), ids=SOURCES.keys())
def test_mutants_parse_and_differ(code: str) -> None:
    source = code + RUNNER
    original = ast.unparse(ast.parse(source))
    versions = [*mutants(source, count=50)]
    assert versions
    assert len(set(versions)) == len(versions)
    for version in versions:
        assert ast.unparse(ast.parse(version)) != original


def test_the_same_seed_gives_the_same_mutants() -> None:
    source = SOURCES["loop"]
    assert [*mutants(source, seed=3)] == [*mutants(source, seed=3)]
    assert len([*mutants(source, count=2)]) == 2


def test_annotations_and_defaults() -> None:
    versions = [*mutants("def f(n: Literal[3], m: int = 5) -> Literal[7]:\n    return n", count=50)]
    assert len(versions) == 1
    assert "m: int=6" in versions[0]


KINDS = {
    "a float": ("def f(x): return x * 0.5", "return x * 1.5"),
    "and": ("def f(x): return x and y", "return x or y"),
    "max": ("def f(x): return max(x, y)", "return min(x, y)"),
    "a default": ("def f(x, exact=False): return x", "exact=True"),
    "a step": ("def f(x):\n    x.sort()\n    return x", "pass"),
    "a guard": (
        "def f(x):\n    if x:\n        raise ValueError('x')\n    return x",
        "def f(x):\n    pass\n    return x",
    ),
    "an early end": ("def f(x):\n    for y in x:\n        break\n    return x", "for y in x:\n        pass"),
}


@pytest.mark.parametrize(("code", "part"), KINDS.values(), ids=KINDS.keys())
def test_every_kind_of_slip_is_made(code: str, part: str) -> None:
    assert any(part in version for version in mutants(code, count=50))


def test_places_that_show_in_no_result_are_left_alone() -> None:
    message = "def f(x):\n    if x:\n        raise ValueError(f'{x + 1} is too much')\n    return x"
    assert [*mutants(message, count=50)] == ["def f(x):\n    pass\n    return x"]
    assert not [*mutants(message, count=50, guards=False)]
    assert [*mutants("def f(x): return x < 1e-9", count=50)] == ["def f(x):\n    return x < 1.000000001"]
