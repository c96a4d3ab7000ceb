"""Exported tools convert types that JSON lacks in the same way as the sandbox."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, TypedDict

import numpy as np
import pandas as pd
import pytest

from mcp_tools.exchange.server_file import literal
from mcp_tools.exchange.standalone.calling import Sources, call
from mcp_tools.sandbox.inside.result import encode
from mcp_tools.small_files import json_of


@dataclasses.dataclass
class Place:
    name: str
    opened: datetime.date


class Unit(enum.Enum):
    METRE = "m"


class Options(TypedDict):
    wide: bool


def days_after(day: datetime.date, days: int) -> datetime.date:
    return day + datetime.timedelta(days=days)


def of_place(place: Place) -> str:
    return f"{place.name} {place.opened.year}"


def of_unit(unit: Unit) -> str:
    return unit.name


def of_plain(
    a: Annotated[int, "count"], b: list[int] | None, c: Literal["x"], d: Options, e: dict[str, Any] | None = None
) -> list[Any]:
    return [a, b, c, d, e]


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        pytest.param(days_after, {"day": "2024-02-28", "days": 2}, "2024-03-01", id="date"),
        pytest.param(of_place, {"place": {"name": "Oxmere", "opened": "1901-05-01"}}, "Oxmere 1901", id="dataclass"),
        pytest.param(of_unit, {"unit": "m"}, "METRE", id="enum"),
        pytest.param(
            of_plain,
            {"a": 1, "b": [2], "c": "x", "d": {"wide": True}},
            [1, [2], "x", {"wide": True}, None],
            id="plain",
        ),
    ],
)
def test_arguments_become_what_the_function_takes(function: Any, arguments: dict[str, Any], result: Any) -> None:
    assert call(function, arguments) == result


@pytest.mark.parametrize(
    "value",
    [
        pytest.param((1, 2), id="tuple"),
        pytest.param({3, 1}, id="set"),
        pytest.param(Decimal("0.1"), id="decimal"),
        pytest.param(Decimal("2.5"), id="exact decimal"),
        pytest.param(Decimal("0.12345678901234567890"), id="long decimal"),
        pytest.param(Fraction(1, 3), id="fraction"),
        pytest.param(Fraction(5, 2), id="exact fraction"),
        pytest.param(datetime.datetime(2024, 1, 2, 3, 4), id="time"),
        pytest.param(datetime.timedelta(seconds=90), id="period"),
        pytest.param(Place("Oxmere", datetime.date(1901, 5, 1)), id="dataclass"),
        pytest.param(Unit.METRE, id="enum"),
        pytest.param(np.array([[1, 2]]), id="array"),
        pytest.param(np.int64(3), id="number of numpy"),
        pytest.param(pd.DataFrame({"a": [1, 2]}), id="table"),
        pytest.param(pd.Series([1.5]), id="column"),
    ],
)
def test_results_become_what_they_are_in_the_sandbox(value: Any) -> None:
    assert call(lambda: value, {}) == json_of(encode(value))


def test_no_number_that_json_lacks_is_given() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        call(lambda: float("nan"), {})


def test_a_tool_called_like_a_module_of_python_does_not_take_its_place() -> None:
    sources = Sources(
        {"statistics": "def statistics(x: int) -> int:\n    from statistics import mean\n    return mean([x])\n"}
    )
    assert sources.function("statistics")(3) == 3


@pytest.mark.parametrize(
    "text",
    ["", "'", "a'''b", "\\", "\\n", "a\r\nb", "# /// script\n# ///\n", 'x"""', "\x00", "é\u2028", "end'", "end\\"],
)
def test_a_text_is_the_same_as_code(text: str) -> None:
    code = literal(text)
    assert eval(code) == text
    assert "\n# /// script" not in code
