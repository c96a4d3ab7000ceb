"""JSON arguments are converted to the annotated types."""

# ruff: noqa: E501 - tables of one-line programs

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest

from mcp_tools.sandbox.inside.schema import ArgumentError, bind, convert


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    when: dt.date | None = None


class Row(TypedDict):
    day: dt.date


class Pair(NamedTuple):
    a: int
    b: dt.date


DAY = dt.date(2024, 2, 29)
CASES: list[tuple[Any, Any, Any]] = [
    (int, 3, 3), (int, 3.0, 3), (float, 3, 3.0), (float, 2**60, 2**60), (str, "x", "x"), (Any, [1], [1]),
    (tuple[int, ...], [1, 2], (1, 2)), (tuple[int, dt.date], [1, "2024-02-29"], (1, DAY)), (tuple, [1], (1,)),
    (set[int], [1, 1], {1}), (frozenset[str], ["a"], frozenset("a")), (list[tuple[int, int]], [[1, 2]], [(1, 2)]),
    (dict[int, float], {"1": 2}, {1: 2.0}), (dict[str, dt.date], {"a": "2024-02-29"}, {"a": DAY}),
    (dt.date, "2024-02-29", DAY), (dt.datetime, "2024-02-29T12:00:00Z", dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC)),
    (dt.timedelta, 60, dt.timedelta(minutes=1)), (decimal.Decimal, 0.1, decimal.Decimal("0.1")),
    (decimal.Decimal, "0.10", decimal.Decimal("0.10")), (fractions.Fraction, "1/3", fractions.Fraction(1, 3)),
    (Colour, "red", Colour.RED), (Colour, "RED", Colour.RED), (Point, {"x": 1, "when": "2024-02-29"}, Point(1, DAY)),
    (list[Point], [{"x": 1}], [Point(1)]), (dt.date | None, None, None), (dt.date | None, "2024-02-29", DAY),
    (int | str, "5", "5"), (str | dt.date, "2024-02-29", "2024-02-29"), (Literal["a"], "a", "a"), (Row, {"day": "2024-02-29"}, {"day": DAY}),
    (Pair, [1, "2024-02-29"], Pair(1, DAY)), (Annotated[set[int], "ids"], [1], {1}), (collections.deque[int], [1], collections.deque([1])),
    (collections.Counter[str], {"a": 1}, collections.Counter("a")),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "value", "expected"), CASES, ids=[f"{h} {v}"[:60] for h, v, _ in CASES])
def test_it_is_converted(hint: Any, value: Any, expected: Any) -> None:
    converted = convert(value, hint, "x")
    assert converted == expected
    assert type(converted) is type(expected)


@pytest.mark.parametrize(
    ("hint", "value", "message"),
    [
        (dt.date, "2024-02-30", "x is '2024-02-30', not an ISO 8601 date such as '2024-02-29'"),
        (Colour, "blue", "x is 'blue', not one of 'red'"),
        (list[dt.date], ["a"], "x[0] is 'a'"),
        (Point, {"y": 1}, "x: Point has no field 'y'"),
        (Point, {}, "missing 1 required"),
        (Point, [1], "x must be an object with the fields of Point"),
        (tuple[int, int], [1], "x has 1 items instead of 2"),
        (set[list[int]], [[1]], "unhashable"),
        (dict[int, int], {"a": 1}, "x has the key 'a', which is not a valid int"),
        (decimal.Decimal, "ten", "not a decimal number"),
    ],
)
def test_what_cannot_be_is_named(hint: Any, value: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        convert(value, hint, "x")
    assert message in str(caught.value)


def test_every_kind_of_parameter_is_bound() -> None:
    def f(a: int, /, b: float, *rest: int, c: set[int], d: int = 4, **more: int) -> None: ...

    positional, keywords = bind(f, {"a": 1, "b": 2, "rest": [5, 6], "c": [3], "e": 7})
    assert positional == [1, 5, 6]
    assert keywords == {"b": 2.0, "c": {3}, "e": 7}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({}, "f() needs the argument 'a'"), ({"a": 1, "z": 2}, "f() has no parameter 'z'; it has: a, b")],
)
def test_misfits_are_named(arguments: dict[str, Any], message: str) -> None:
    def f(a: int, b: int = 2) -> None: ...

    with pytest.raises(ArgumentError) as caught:
        bind(f, arguments)
    assert str(caught.value) == message


def test_a_wrapped_function_is_bound_by_what_it_wraps() -> None:
    import functools

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(**keywords: Any) -> Any:
            return function(**keywords)

        return inner

    @wrap
    def f(day: dt.date) -> dt.date:
        return day

    assert bind(f, {"day": "2024-02-29"}) == ([], {"day": DAY})
