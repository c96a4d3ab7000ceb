"""Results of tools arrive as JSON, or a problem names the part that could not be converted."""

# ruff: noqa: E501 - tables of one-line programs

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import json
import pathlib
import uuid
from typing import Any

import pytest

from mcp_tools.sandbox.inside.result import ResultError, encode


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: fractions.Fraction


Pair = collections.namedtuple("Pair", "a b")
D, F = decimal.Decimal, fractions.Fraction

CASES: list[tuple[Any, Any]] = [
    (None, None), (True, True), (2**70, 2**70), (0.1, 0.1), ("é\n", "é\n"), ([1, (2, 3)], [1, [2, 3]]),
    ({3, 1, 2}, [1, 2, 3]), ({"b", 1}, [1, "b"]), (frozenset({2, 1}), [1, 2]), ({1: "a", None: 2}, {"1": "a", "null": 2}),
    ({(1, 2): 3}, {"1, 2": 3}), ({dt.date(2024, 1, 2): 1}, {"2024-01-02": 1}), (D("0.1"), 0.1), (D("2"), 2),
    (D("2.50"), 2.5), (D("0.12345678901234567890"), "0.12345678901234567890"), (D("1E+3"), 1000), (F(6, 3), 2),
    (F(1, 2), 0.5), (F(1, 3), "1/3"), (dt.date(2024, 2, 29), "2024-02-29"),
    (dt.datetime(2024, 2, 29, 1, 2), "2024-02-29T01:02:00"), (dt.time(1, 2), "01:02:00"), (dt.timedelta(hours=1), 3600.0),
    (Colour.RED, "red"), ({Colour.RED: 1}, {"red": 1}), (Point(1, F(1, 2)), {"x": 1, "y": 0.5}), (Pair(1, 2), [1, 2]),
    (range(3), [0, 1, 2]), ((i for i in range(3)), [0, 1, 2]), pytest.param(map(str, [1]), ["1"], id="map"), ({"a": 1}.keys(), ["a"]),
    (collections.deque([1]), [1]), (collections.Counter("aab"), {"a": 2, "b": 1}), (pathlib.Path("a/b"), "a/b"),
    (uuid.UUID(int=0), "00000000-0000-0000-0000-000000000000"), ([{"a": [D("1.5")]}], [{"a": [1.5]}]),
]  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), CASES, ids=lambda value: type(value).__name__)
def test_it_becomes_the_nearest_json(value: Any, expected: Any) -> None:
    assert json.loads(encode(value)) == expected


def cyclic() -> list[Any]:
    value: list[Any] = [1]
    value.append({"a": value})
    return value


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


BROKEN: list[tuple[Any, str]] = [
    (float("nan"), "result is nan"), ({"a": [1.0, float("inf")]}, "result['a'][1] is inf"), (D("NaN"), "result is nan"),
    (cyclic(), "result[1]['a'] contains itself"), (deep(100_000), "nested more than"), (["ok", "\ud800"], "result[1] contains the lone surrogate"),
    ({"\ud800": 1}, "a key of result contains the lone surrogate"), (b"x", "type bytes, which does not convert to JSON: decode it"),
    (1j, "type complex"), ({1: "a", "1": "b", (): 0}, "two keys that both become '1'"), (print, "call it and return its result"),
    (object(), "type object"), ([10**5000], "result[0] is an integer with more than 4,300 digits"), (iter(int, 1), "yields more than"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "message"), BROKEN, ids=[message for _, message in BROKEN])
def test_what_json_cannot_carry_is_named(value: Any, message: str) -> None:
    with pytest.raises(ResultError) as caught:
        encode(value)
    assert message in str(caught.value)


def test_numpy_and_pandas() -> None:
    import numpy as np
    import pandas as pd

    assert json.loads(encode(np.int64(3))) == 3
    assert json.loads(encode({"a": np.array([[1.5, 2]])})) == {"a": [[1.5, 2.0]]}
    assert json.loads(encode(np.float32(0.5))) == 0.5
    frame = pd.DataFrame({"a": [1, None], "d": pd.to_datetime(["2024-01-02", None])})
    assert json.loads(encode(frame)) == [{"a": 1.0, "d": "2024-01-02T00:00:00"}, {"a": None, "d": None}]
    assert json.loads(encode(pd.Series([1, 2]))) == [1, 2]
    assert json.loads(encode(pd.Timestamp("2024-01-02"))) == "2024-01-02T00:00:00"
    with pytest.raises(ResultError, match="nan"):
        encode(np.array([float("nan")]))
