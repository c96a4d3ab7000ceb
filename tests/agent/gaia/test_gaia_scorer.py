"""The scorer: the table of the rules, and what holds for any two objects."""

from __future__ import annotations

import re
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.gaia.attempt import Attempt
from agent.gaia.scorer import Score, resolution_of, score

# prediction, truth, correct, path
CASES = [
    ("7.50", "7.5", True, "number"),
    ("$3,200", "3200", True, "number"),
    ("88 apples", "88", False, "number"),
    ("12%", "0.12", False, "number"),
    ("12%", "12", True, "number"),
    ("1e3", "1000", True, "number"),
    ("+5", " 5 ", True, "number"),
    (".5", "0.5", True, "number"),
    ("5.", "5", True, "number"),
    ("1_000", "1000", True, "number"),
    ("٤٢", "42", True, "number"),
    ("1/2", "0.5", False, "number"),
    ("0.3333", "0.33333", False, "number"),
    ("seven", "7", False, "number"),
    ("", "7", False, "number"),
    ("nan", "nan", False, "number"),
    ("inf", "Infinity", True, "number"),
    ("no number at all", "inf", True, "number"),
    ("5 %", "5", True, "number"),
    ("€5", "5", False, "number"),
    ("red;green", "Red, Green", True, "list"),
    ("green, red", "red, green", False, "list"),
    ("Mt. Fuji, Aso", "Mt Fuji, Aso", False, "list"),
    ("2500", "2,500", False, "list"),
    ("2,500", "2,500", True, "list"),
    ("red, green.", "red, green", False, "list"),
    ("red, green, blue", "red, green", False, "list"),
    ("red, $7.0", "red, 7", True, "list"),
    ("a,,b", "a, ,b", True, "list"),
    ("7; eight", "7, eight", True, "list"),
    ("Mt. Fuji", "Mt Fuji", True, "string"),
    ("the lake", "lake", False, "string"),
    ("Lake.", "lake", True, "string"),
    ("sea gull", "Seagull", True, "string"),
    ("5", "5%", True, "string"),
    ("5.0", "5%", False, "string"),
    ("sea\u00a0gull", "seagull", True, "string"),
    ("sea\u200bgull", "seagull", False, "string"),
    ("“lake”", "lake", False, "string"),
    ("cafe\u0301", "caf\u00e9", False, "string"),
    ("STRASSE", "straße", False, "string"),
    ("lake, sea", "lake sea", True, "string"),
    (None, "None", True, "string"),
    (7, "7", True, "number"),
    (7.5, "7.50", True, "number"),
    (True, "true", True, "string"),
    ("7", 7, True, "number"),
    ([1, 2], "[1, 2]", True, "list"),
    ("", "", True, "string"),
]

COURSE = [
    (" Lake ", "lake", True),
    ("lake.", "lake", False),
    ("7.0", "7", False),
    ("red,green", "red, green", False),
    ("FINAL ANSWER: lake", "lake", False),
    (7, "7", True),
    (None, "none", True),
]


@pytest.mark.parametrize(("prediction", "truth", "correct", "path"), CASES)
def test_gaia_rules(prediction: Any, truth: Any, correct: bool, path: str) -> None:
    assert score(prediction, truth)[:2] == (correct, path)


@pytest.mark.parametrize(("prediction", "truth", "correct"), COURSE)
def test_course_rules(prediction: Any, truth: Any, correct: bool) -> None:
    assert score(prediction, truth, "course")[:2] == (correct, "course")


@pytest.mark.parametrize(
    ("prediction", "truth", "reason"),
    [
        ("88 apples", "88", "not a number"),
        ("87", "88", "the numbers differ"),
        ("a, b", "a, b, c", "2 elements instead of 3"),
        ("a, x, c", "a, b, c", "element 2 differs"),
        ("sea", "lake", "the texts differ"),
        ("lake", "lake", "equal"),
    ],
)
def test_the_reason_tells_what_differs(prediction: str, truth: str, reason: str) -> None:
    assert score(prediction, truth).reason == reason


class Hostile:
    """Raises when it is asked for its text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Shouting(str):
    """A text with methods of its own."""

    def __str__(self) -> str:
        return "something else"

    def lower(self) -> str:
        raise RuntimeError("no lower")


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


ODD = {
    "raises": Hostile(),
    "shouts": Shouting("a"),
    "deep": nested(100_000),
    "long number": 10**5000,
    "bytes": b"\xff",
    "half a character": "\ud800",
    "a class": object,
    "9999 digits": "1" * 9999,
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("mode", ["gaia", "course"])
def test_odd_objects_are_scored_and_raise_nothing(name: str, mode: Any) -> None:
    odd = ODD[name]
    for other in ("7", "a, b", "lake", odd):
        assert isinstance(score(odd, other, mode), Score)
        assert isinstance(score(other, odd, mode), Score)


ANYTHING = st.one_of(
    st.text(),
    st.text(alphabet="0123456789.,;%$eE+-_ naif"),
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(),
    st.lists(st.text()),
    st.dictionaries(st.text(), st.integers()),
)


@given(ANYTHING, ANYTHING, st.sampled_from(["gaia", "course"]))
def test_never_raises(prediction: object, truth: object, mode: Any) -> None:
    assert isinstance(score(prediction, truth, mode).correct, bool)


@given(ANYTHING, ANYTHING, ANYTHING)
def test_the_truth_alone_chooses_the_path(one: object, other: object, truth: object) -> None:
    assert score(one, truth).path == score(other, truth).path


@given(ANYTHING)
def test_the_truth_itself_is_right_unless_it_is_no_number_by_name(truth: object) -> None:
    said = score(truth, truth)
    elements = re.split("[,;]", str(truth)) if said.path == "list" else [str(truth)]
    assert said.correct is not any(e.strip().lstrip("+-").lower() == "nan" for e in elements)


@given(st.text(), st.text(alphabet=" \t\n\u00a0" + string.punctuation.replace(",", "").replace(";", "")))
def test_spaces_and_ascii_punctuation_never_decide_a_string(text: str, noise: str) -> None:
    if score("", text).path == "string":
        assert score(noise + text.upper().lower() + noise, text).correct is score(text.upper().lower(), text).correct


@given(ANYTHING, st.text(alphabet="qxz", min_size=8))
def test_the_reason_never_holds_the_truth(prediction: object, truth: str) -> None:
    for secret in (truth, f"{truth}, {truth}"):
        assert truth not in score(prediction, secret).reason


def test_a_tool_of_a_server_that_failed_is_its_own_class():
    attempt = Attempt(
        "t", answer="4", raw_answer="4", correct=False, servers_failed=("mail",), tools_failed=("mail__send",)
    )
    assert resolution_of(attempt, "5") == "server_tool_use"
