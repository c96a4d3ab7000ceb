"""Plain arithmetic is computed exactly; everything that only looks like it is left to others."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answering.arithmetic import compute

EXACT = [
    ("0.1+0.2", "0.3"),
    ("2**-3", "0.125"),
    ("10^20/3", "33333333333333333333.3333"),
    ("1/3000000000", "3.33333333333E-10"),
    ("-2^2", "-4"),
    ("2^3^2", "512"),
    ("5 - -3", "8"),
    ("1,234.5 + 0.5", "1235"),
    ("6×7", "42"),
    ("5. + .5", "5.5"),
    ("123456789012345678901234567890 + 0.5", "123456789012345678901234567890.5"),
    ("1\u00a0+\u00a02", "3"),
]
ASKED = ["What is 2+2?", "What’s 2+2?", "Compute: 2+2", "How much is 2+2 ?", "2+2 =", "  calculate 2+2."]
NO_ARITHMETIC = [
    "",
    "What is 5?",
    "2 + 2 apples",
    "2+2=5",
    "1e5 + 2",
    "٣+٤",
    "1 2 + 3",
    "007 + 1",
]
LOOKS_LIKE_IT = {
    "iso date": "What is 2024-10-12?",
    "iso date inside": "2024-10-12 + 5",
    "slashes": "3/4/21",
    "telephone": "555-123-4567",
    "person": "123-45-6789",
    "book": "978-3-16-148410-0",
    "network": "192.168.0.1/24",
    "the day": "What is 9/11?",
    "percentage of": "10% + 5",
    "comma as point": "0,5 + 1",
    "groups behind the point": "1.5,000 + 1",
    "call": "(2)(3)",
}
IMPOSSIBLE = ["1/0", "2^0.5", "9^9^9", "9" * 299 + "^9999", "(10^1999+1)^3000"]


@pytest.mark.parametrize(("question", "result"), EXACT)
def test_arithmetic_is_exact(question: str, result: str) -> None:
    assert compute(question) == result


@pytest.mark.parametrize("question", ASKED)
def test_the_question_around_it_does_not_matter(question: str) -> None:
    assert compute(question) == "4"


@pytest.mark.parametrize("question", [*NO_ARITHMETIC, *IMPOSSIBLE])
def test_everything_else_is_left_to_others(question: str) -> None:
    assert compute(question) is None


@pytest.mark.parametrize("question", LOOKS_LIKE_IT.values(), ids=LOOKS_LIKE_IT.keys())
def test_what_only_looks_like_arithmetic_is_not_computed(question: str) -> None:
    assert compute(question) is None


@pytest.mark.parametrize(
    "question",
    [
        "(" * 140 + "1+1" + ")" * 140,
        "-" * 290 + "1+1",
        "9^" * 99 + "9",
        "(10^1999)*" * 29 + "1",
        "1+" * 149 + "1",
        "1" * 10**6,
    ],
    ids=["parentheses", "signs", "tower", "product", "sum", "long"],
)
def test_malicious_expressions_take_no_time(question: str) -> None:
    started = time.process_time()
    compute(question)
    assert time.process_time() - started < 5


@given(st.text(alphabet="0123456789+-*/%^(),. ×÷", max_size=40))
def test_nothing_raises(text: str) -> None:
    result = compute(text)
    assert result is None or Decimal(result).is_finite()
