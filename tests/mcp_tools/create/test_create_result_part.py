"""Tests of a part of a result, or of an exception class, from docstrings, examiners and files."""

from __future__ import annotations

import time

import pytest
from creating import Case, LibraryStore, written_test

from mcp_tools.create.approve import run_tests
from mcp_tools.create.documented_function import read_function, read_tested
from mcp_tools.create.examiner import passes
from mcp_tools.create.interfaces import Test
from mcp_tools.create.result_part import part_of, with_call
from mcp_tools.sandbox.protocol import Outcome, Problem, Sandbox
from mcp_tools.tool import Capabilities, Json

RATES = '''def rates(total: float, years: int) -> dict[str, float]:
    """Split a total into a yearly and a monthly share.

    Args:
        total: Amount in any currency, not negative.
        years: Whole years over which it is split, 1 or more.

    Returns:
        The shares: `yearly` and `monthly`, in the currency of the total.

    Raises:
        ValueError: The total is negative, or there is no year.

    Example:
        >>> shares = rates(240.0, 2)
        >>> shares["yearly"]
        120.0
        >>> round(rates(100.0, 1)["monthly"], 2)
        8.33
        >>> rates(-1.0, 1)
        Traceback (most recent call last):
            ...
        ValueError: a total is not negative
        >>> rates(1.0, 1) == rates(2.0, 2)
        True
    """
    if total < 0 or years < 1:
        raise ValueError("a total is not negative")
    return {"yearly": total / years, "monthly": total / years / 12}
'''
ROWS: Json = [{"a": 3, "name": "x"}, {"a": 1, "name": "y"}]


@pytest.mark.parametrize(
    ("text", "value", "part"),
    [
        ('f(1)["a"]', {"a": 5}, 5),
        ('f(1)[0]["a"]', ROWS, 3),
        ("f(1)[-1].name", ROWS, "y"),
        ("f(1)[:1]", ROWS, ROWS[:1]),
        ('round(f(1)["a"], 2)', {"a": 0.126}, 0.13),
        ("len(f(1))", ROWS, 2),
        ('[row["a"] for row in f(1) if row["a"] > 1]', ROWS, [3]),
        ('sum(row["a"] for row in f(1))', ROWS, 4),
        ('sorted(f(1)["a"].items())', {"a": {"y": 2, "x": 1}}, [["x", 1], ["y", 2]]),
        ("abs(f(1) - 3.14) < 0.01", 3.1416, True),
        ('"b" not in f(1)', {"a": 5}, True),
        ("f(1) == (1, 2)", [1, 2], True),
        ("f(1)[7]", {"7": "seven"}, "seven"),
        ("f(1).splitlines()[0]", "one\ntwo", "one"),
        ("f(1)", ROWS, ROWS),
    ],
    ids=str,
)
def test_a_part_of_a_result_is_worked_out(text: str, value: Json, part: Json) -> None:
    function, arguments, expression = read_tested(text, ["x"])
    assert (function, arguments) == ("f", {"x": 1})
    assert part_of(value, expression) == part
    assert read_tested(with_call(expression, "f(x=1)"), ["x"]) == (function, arguments, expression)


@pytest.mark.parametrize(
    "text",
    [
        "f(1) == f(2)",
        "f(g(1))",
        "f(1).__class__",
        "open(f(1))",
        "f(1)(2)",
        "f(1).format(2)",
        "f(1) ** 9",
        "(lambda: f(1))()",
        "~f(1)",
        "result[f(1)]",
        "f(1) + " + "+".join("1" * 400),
    ],
    ids=range(11),
)
def test_other_expressions_are_no_tests(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        part_of("x", read_tested(text, ["x"])[2])


@pytest.mark.parametrize(
    "part",
    [
        "[[[a for a in '123456789123456789'] for b in '1234567890'] for c in result]",
        "[[[[result for a in '123456789'] for b in '12345678'] for c in '12345678'] for d in '12345678']",
        "round(5 + len(result), -1000000000)",
        "round(5 + len(result), ndigits=-1000000000)",
        "sum([[a] for a in result], [])",
        "result.__class__",
        "().__class__",
        "result[",
        "",
    ],
    ids=range(9),
)
def test_a_stored_part_neither_hangs_nor_reaches_python(part: str) -> None:
    start = time.process_time()
    test = Test.from_json({"arguments": {}, "expected": 1, "part": part})
    assert not passes(test, Outcome(True, "none", value="x" * 1_000_000))
    assert test.shown("f")
    assert time.process_time() - start < 5


def test_examples_hold_parts_and_exceptions() -> None:
    function = read_function(RATES, "", Capabilities())
    assert function is not None
    assert [test.shown("rates") for test in function.examples] == [
        "rates(total=240.0, years=2)['yearly']",
        "round(rates(total=100.0, years=1)['monthly'], 2)",
        "rates(total=-1.0, years=1)",
    ]
    assert function.examples[2].error == "ValueError"
    assert function.unused == ("rates(1.0, 1) == rates(2.0, 2)",)
    assert [Test.from_json(test.as_json()) for test in function.examples] == [*function.examples]


@pytest.mark.parametrize(
    ("message", "is_right"), [("ValueError: no", True), ("TypeError: no", False), ("KeyError: no", False)]
)
def test_an_example_that_raises_names_the_class(message: str, is_right: bool) -> None:
    test = Test({}, None, "docstring", raises=True, error="ValueError")
    assert passes(test, Outcome(False, "none", problem=Problem("exception", message))) is is_right


@pytest.mark.asyncio(loop_scope="module")
async def test_a_tool_is_proved_by_parts_of_its_result(sandbox: Sandbox, store: LibraryStore) -> None:
    case = Case(sandbox, store)
    forms = [
        {"call": "rates(600.0, 2)['monthly']", "result": "25.0", "because": "a twelfth"},
        {"call": "rates(600.0, 2)['yearly']", "result": "300.0", "because": "a half"},
        {"call": "rates(90.0, 0)", "result": "ValueError", "because": "no year"},
        {"call": "rates(1.0, 1)['yearly'] == rates(2.0, 2)['yearly']", "result": "True", "because": "the same"},
    ]
    creation = await case.prove(RATES, {"total": 1200.0, "years": 4}, {"tests": forms})
    assert creation.tool is not None, creation.reason
    kept = {(test.get("part"), test["expected"]) for test in creation.tool.provenance["tests"]}
    assert {("result['monthly']", 25.0), ("result['yearly']", 300.0), ("result['yearly']", 120.0)} <= kept
    assert len((await run_tests(creation.tool, sandbox)).passed) == len(creation.tool.provenance["tests"])
    [examples] = [note for note in case.memory.notes if "these examples cannot be used as tests" in note]
    assert "rates(1.0, 1) == rates(2.0, 2)" in examples
    [unread] = [note for note in case.memory.notes if "of its tests cannot be used" in note]
    assert "rates(2.0, 2)['yearly'] -> True" in unread


@pytest.mark.asyncio(loop_scope="module")
async def test_a_refusal_names_the_tests_that_could_not_be_used(sandbox: Sandbox, store: LibraryStore) -> None:
    form = {"call": "rates(a, b)", "result": "7", "because": "b"}
    same = written_test({"total": 1200.0, "years": 4}, {"yearly": 300.0, "monthly": 25.0})
    creation = await Case(sandbox, store).prove(RATES, {"total": 1200.0, "years": 4}, {"tests": [form, same]})
    assert "1 of its tests cannot be used: `rates(a, b) -> 7`" in creation.reason
