"""Results of programs as answers: as a person writes them, and as JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from agent.answering.answer_format import answer_of
from agent.state import Ending, Step
from mcp_tools.sandbox.backends import BubblewrapSandbox
from mcp_tools.sandbox.protocol import Limits
from mcp_tools.sandbox.session import LiveSession

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETUP = """
import dataclasses, datetime, decimal, enum, fractions, collections, pathlib
import numpy as np, pandas as pd
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
class Colour(enum.Enum):
    RED = 1
    BLUE = "blue"
@dataclasses.dataclass
class Place:
    name: str
    height: float
Pair = collections.namedtuple("Pair", "low high")
"""
VALUES = [
    ("np.float64(24.5)", "24.5"),
    ("np.True_", "True"),
    ("[np.float64(1.5), np.int64(2)]", "1.5, 2"),
    ("np.array([1.5, 2.0])", "1.5, 2"),
    ("Decimal('24.50')", "24.50"),
    ("Decimal('1E+3')", "1000"),
    ("Fraction(3, 4)", "3/4"),
    ("[Fraction(3, 1), Fraction(1, 2)]", "3, 1/2"),
    ("date(2027, 3, 14)", "2027-03-14"),
    ("[date(2027, 3, 14), time(9, 5)]", "2027-03-14, 09:05:00"),
    ("timedelta(days=1, hours=2)", "1 day, 2:00:00"),
    ("np.datetime64('2027-03-14T10:30:00', 'ns')", "2027-03-14 10:30:00"),
    ("pd.Timestamp('2027-03-14 10:30')", "2027-03-14 10:30:00"),
    ("[pd.NaT, pd.NA, 1]", "none, none, 1"),
    ("3 + 4j", "3+4j"),
    ("Colour.BLUE", "blue"),
    ("{3, 1, 2}", "1, 2, 3"),
    ("(1, 'two', None)", "1, two, none"),
    ("Place('Kell', np.float64(12.0))", "name: Kell, height: 12"),
    ("Pair(1, 2)", "low: 1, high: 2"),
    ("pd.Series({'north': 12, 'south': 7})", "north: 12, south: 7"),
    ("pd.Series([date(2027, 3, 14)], index=[pd.Timestamp('2027-03-01')])", "2027-03-01: 2027-03-14"),
    ("{date(2027, 3, 14): [1, 2]}", '{"2027-03-14": [1, 2]}'),
    ("0.1 + 0.2", "0.3"),
    ("float('nan')", "nan"),
    ("pathlib.PurePosixPath('a/b')", "a/b"),
    ("'plain text'", "plain text"),
]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def session() -> AsyncIterator[LiveSession]:
    async with BubblewrapSandbox() as sandbox:
        live = sandbox.session()
        outcome = await live.run(SETUP, limits=Limits(wall_seconds=60))
        assert outcome.ok, outcome.problem
        yield live
        await live.aclose()


def done(value: Any, form: str, **more: Any) -> Step:
    step = Step(number=1, action="run_code", input="…", ok=True, finding="…", value=value, ending=Ending(form))
    return Step(**{**step, **more})  # type: ignore[typeddict-item]


@pytest.mark.parametrize("form", ["{}", "print({})"], ids=["last", "printed"])
@pytest.mark.parametrize(("code", "text"), VALUES, ids=[code for code, _ in VALUES])
async def test_a_result_is_written_as_a_person_writes_it(session: LiveSession, code: str, text: str, form: str) -> None:
    outcome = await session.run(form.replace("{}", code), limits=Limits())
    assert outcome.result is not None, outcome.problem
    assert answer_of(done(outcome.result.said, "{}"), "What is it?") == text


@pytest.mark.parametrize(
    ("code", "form", "text"),
    [
        ("{'total': Decimal('24.50'), 'on': date(2027, 3, 14)}", "{total} on {on}", "24.50 on 2027-03-14"),
        ("{'total': Decimal('24.50'), 'on': date(2027, 3, 14)}", "{:json}", '{"total": 24.5, "on": "2027-03-14"}'),
        ("{'rows': [1, np.int64(2)]}", "{rows:json}", "[1, 2]"),
        ("{'rows': [1, np.int64(2)]}", "{[rows][1]}", "2"),
        ("json.dumps({'a': [1]})", "{:json}", '{"a": [1]}'),
        ("'a word'", "{:json}", '"a word"'),
        ("Decimal('1234.505')", "{:,.2f}", "1,234.50"),
        ("Fraction(3, 4)", "{:.3f}", "0.750"),
        ("1234567", "{:,}", "1,234,567"),
        ("'1234567'", "{:,}", "1,234,567"),
        ("pd.DataFrame({'town': ['Kell', 'Ard'], 'n': [3, 4]})", "{[1][town]}: {[1][n]}", "Ard: 4"),
        ("pd.DataFrame({'n': [3]}, index=['Kell'])", "{:json}", '[{"n": 3}]'),
    ],
)
async def test_a_result_in_a_form(session: LiveSession, code: str, form: str, text: str) -> None:
    result = (await session.run(f"import json\n{code}", limits=Limits())).result
    assert result is not None
    assert answer_of(done(result.said, form, plain=result.plain), "What is it?") == text


@pytest.mark.parametrize(
    "code",
    ["print(1)\nprint(2)", "print(1, 2)", "import sys\nsys.stdout.write('x')\nprint(1)", "x = 3", "print(1)\n2"],
)
async def test_several_outputs_are_no_single_result(session: LiveSession, code: str) -> None:
    outcome = await session.run(code, limits=Limits())
    assert outcome.ok
    assert outcome.result is None or outcome.result.said == 1


@pytest.mark.parametrize("code", ["object()", "(n for n in [1])", "len", "print(object())"])
async def test_an_object_without_a_value_is_no_answer(session: LiveSession, code: str) -> None:
    outcome = await session.run(code, limits=Limits())
    assert outcome.result is None
    shown = outcome.stdout or outcome.value
    with pytest.raises(ValueError, match="no value"):
        answer_of(done(shown, "{}"), "What is it?")
