"""Mutants change only code that tests can reach."""

from __future__ import annotations

import ast

import pytest

from mcp_tools.create.mutation_testing import mutants

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


UNSEEN = {
    "adding nothing": ("def f(x): return x + 0.0", "x - 0.0"),
    "a message in a name": (
        'def f(x):\n    text = f"{x + 1} lines"\n    if x:\n        raise ValueError(text)\n    return x',
        "x - 1",
    ),
    "the number of a line in a message": (
        "def f(x):\n    for n, y in enumerate(x, 1):\n        if y < 5:\n            raise ValueError(n)\n    return x",
        "enumerate(x, 2)",
    ),
    "a large limit": ("def f(x):\n    return x > 1000000", "1000001"),
    "at a large limit": ("def f(x):\n    return x > 10 ** 6", "x >= 10 ** 6"),
    "a named limit": ("MOST = 2_000_000\ndef f(x):\n    return x > MOST", "2000001"),
    "at a named limit": ("MOST = 10 ** 9\ndef f(x):\n    return x > MOST", "x >= MOST"),
    "a long text": ("MOST = 100_000\ndef f(x):\n    return len(x) > MOST", "100001"),
    "rounds": ("def f(x):\n    for _ in range(200):\n        x = x / 2 + 1\n    return x", "range(201)"),
    "named rounds": (
        "ROUNDS = 100\ndef f(x):\n    for step in range(ROUNDS):\n        if x < 1:\n            break\n    return x",
        "ROUNDS = 101",
    ),
    "precision": ("def f(x):\n    getcontext().prec = 100\n    return x * 2", "101"),
    "precision in a call": ("def f(x):\n    with localcontext(prec=50):\n        return x * 2", "51"),
    "a buffer": ("CHUNK = 1 << 20\ndef f(x):\n    return open(x).read(CHUNK)", "2 << 20"),
    "the largest field": ("def f(x):\n    csv.field_size_limit(10 ** 9)\n    return x * 2", "11 ** 9"),
    "a cache": ("@lru_cache(maxsize=128)\ndef f(x):\n    return x * 2", "129"),
}


@pytest.mark.parametrize(("code", "change"), UNSEEN.values(), ids=UNSEEN.keys())
def test_changes_that_no_result_can_show_are_not_made(code: str, change: str) -> None:
    assert not [version for version in mutants(code, count=50) if change in version]


SEEN = {
    "a small limit": ("def f(x):\n    return x > 1000", "1001"),
    "a large factor": ("def f(x):\n    return x * 1000000", "1000001"),
    "a named factor": ("METRES = 6371000\ndef f(x):\n    return x * METRES", "6371001"),
    "both": ("MOST = 2_000_000\ndef f(x):\n    return x > MOST or x * MOST", "2000001"),
    "few rounds": ("def f(x):\n    for _ in range(3):\n        x = x * 2\n    return x", "range(4)"),
    "counted rounds": ("def f(x):\n    for n in range(200):\n        x += n\n    return x", "range(201)"),
    "the number of a line": (
        "def f(x):\n    for n, y in enumerate(x, 1):\n        x = n\n    return x",
        "enumerate(x, 2)",
    ),
    "few digits": ("def f(x):\n    getcontext().prec = 6\n    return x * 2", "7"),
    "a few characters": ("def f(x):\n    return open(x).read(4)", "read(5)"),
}


@pytest.mark.parametrize(("code", "change"), SEEN.values(), ids=SEEN.keys())
def test_changes_like_these_that_show_are_made(code: str, change: str) -> None:
    assert [version for version in mutants(code, count=50) if change in version]
