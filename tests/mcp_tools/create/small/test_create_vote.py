"""Which answer wins, which candidate stands for it, and how well both are supported."""

from __future__ import annotations

from typing import Any

import pytest
from creating import failure, value

from mcp_tools.checks.protocol import Finding, Report
from mcp_tools.create.protocol import Candidate, Program, Test
from mcp_tools.create.small.prove import suite_of
from mcp_tools.create.small.trial import passed, result_key, runnable, varied
from mcp_tools.create.small.vote import vote

GOOD, BAD = Report(), Report((Finding(1, "question-literal", "57"),))
SETS = [{"n": 1}, {"n": 2}, {"n": 3}]
NONE: list[Test] = []


def candidate(number: int, *values: Any, report: Report = GOOD) -> Candidate:
    """A candidate of other code than the rest, with a result or a failure for each argument set."""
    outcomes = tuple(failure(v.args[0]) if isinstance(v, Exception) else value(v) for v in values)
    return Candidate(number, f"def f(n):\n    return n + {number}\n", report, outcomes)


def program(*printed: str) -> Program:
    return Program(f"print({printed!r})", printed)


WINS: dict[str, tuple[list[Candidate], list[Program], Any, int | None, int, int]] = {
    "the most frequent": ([candidate(1, 5), candidate(2, 6), candidate(3, 6)], [], 6, 2, 2, 3),
    "written in other ways": ([candidate(1, 5), candidate(2, 6.0), candidate(3, "6")], [], 6.0, 2, 2, 3),
    "with programs": ([candidate(1, 5), candidate(2, 6)], [program("6"), program("6.0")], 6, 2, 3, 4),
    "programs alone": ([candidate(1, KeyError("x"))], [program("6")], "6", None, 1, 1),
    "programs against one candidate": ([candidate(1, 5)], [program("6"), program("6")], "6", None, 2, 3),
    "a candidate before a program": ([candidate(1, 5)], [program("6")], 5, 1, 1, 2),
    "nothing is no vote": ([candidate(1, None), candidate(2, ""), candidate(3, []), candidate(4, 7)], [], 7, 4, 1, 1),
    "zero and no are votes": ([candidate(1, 0), candidate(2, 0), candidate(3, False)], [], 0, 1, 2, 3),
    "two that found nothing are one": ([candidate(1, 0), candidate(2, 0), candidate(3, 7)], [program("7")], 7, 3, 2, 4),
    "none found by most": ([candidate(1, 0), candidate(2, 0), candidate(3, 7)], [program("0")], 0, 1, 3, 4),
    "a failed program is no vote": ([candidate(1, 5)], [program(""), program("")], 5, 1, 1, 1),
    "rounded and not": (
        [candidate(1, 12.884), candidate(2, 5), candidate(3, 5)],
        [program("12.88409"), program("12.884")],
        12.884,
        1,
        3,
        5,
    ),
    "as most write it": (
        [candidate(1, 12.884), candidate(2, 12.88409872)],
        [program("12.88409872")],
        12.88409872,
        2,
        3,
        3,
    ),
    "rounded twice": (
        [candidate(1, 2.5), candidate(2, 2.54)],
        [program("2.543"), program("9"), program("9")],
        2.5,
        1,
        3,
        5,
    ),
    "a whole number rounds nothing": ([candidate(1, 13), candidate(2, 12.884)], [program("12.884")], 12.884, 2, 2, 3),
    "large integers": (
        [candidate(1, 10**18), candidate(2, 10**18 + 1)],
        [program(str(10**18 + 1))],
        10**18 + 1,
        2,
        2,
        3,
    ),
}


@pytest.mark.parametrize(("candidates", "programs", "answer", "winner", "support", "voters"), WINS.values(), ids=WINS)
def test_the_winner(
    candidates: list[Candidate], programs: list[Program], answer: Any, winner: int | None, support: int, voters: int
) -> None:
    verdict = vote(candidates, programs, NONE, 1)
    assert verdict is not None
    assert verdict.value == answer
    assert (verdict.winner.number if verdict.winner else None) == winner
    assert (verdict.support, verdict.voters) == (support, voters)


@pytest.mark.parametrize("candidates", [[], [candidate(1)], [candidate(1, KeyError("x"))], [candidate(1, None, 5)]])
def test_without_an_answer_there_is_no_verdict(candidates: list[Candidate]) -> None:
    assert vote(candidates, [program("")], NONE, 1) is None


@pytest.mark.parametrize(
    ("printed", "voters"), [(["A: 0, B: 1", "A: 0, B: 1"], 3), (["A: 0, B: 1"] * 4, 7)], ids=["a minority", "most"]
)
def test_a_table_is_no_vote_where_most_answers_are_numbers(printed: list[str], voters: int) -> None:
    candidates = [candidate(1, 4, 5), candidate(2, 4, 5), candidate(3, 7, 5)]
    verdict = vote(candidates, [program(text) for text in printed], NONE, 1)
    assert verdict is not None
    assert verdict.voters == voters


def test_tests_decide_between_equally_frequent_answers() -> None:
    tests = [Test({"n": 9}, 90, "examiner")]
    verdict = vote([candidate(1, 5, 89), candidate(2, 6, 90)], [], tests, 1)
    assert verdict is not None
    assert verdict.value == 6


MERITS = {
    "passes the checks": (candidate(1, 5, 6, report=BAD), candidate(2, 5, 6)),
    "varies": (candidate(1, 5, 5), candidate(2, 5, 6)),
    "is shorter": (candidate(1000, 5, 6), candidate(2, 5, 6)),
}


@pytest.mark.parametrize(("worse", "better"), MERITS.values(), ids=MERITS.keys())
def test_the_best_of_those_that_agree_stands_for_them(worse: Candidate, better: Candidate) -> None:
    verdict = vote([worse, better], [], NONE, 2)
    assert verdict is not None
    assert verdict.winner == better


def test_agreement_is_counted_for_each_argument_set() -> None:
    verdict = vote([candidate(1, 5, 6, 7, 8), candidate(2, 5, 6, 9, KeyError("k"))], [program("5", "0", "7")], NONE, 4)
    assert verdict is not None
    assert verdict.agreed == (0, 1, 2)
    assert verdict.believable
    assert verdict.settled


def test_a_text_given_back_is_half_a_vote_and_settles_nothing() -> None:
    candidates = [candidate(1, "TLLA TL"), candidate(2, "TLLA TL"), candidate(3, "tlla tl"), candidate(4, "MEET ME")]
    verdict = vote(candidates, [program("MEET ME")], NONE, 1, ["TLLA TL"])
    assert verdict is not None
    assert verdict.value == "MEET ME"
    verdict = vote(candidates[:3], [], NONE, 1, ["TLLA TL"])
    assert verdict is not None
    assert (verdict.value, verdict.settled) == ("TLLA TL", False)


def test_failing_alike_is_no_agreement() -> None:
    verdict = vote([candidate(1, 5, KeyError("k")), candidate(2, 5, KeyError("k"))], [], NONE, 2)
    assert verdict is not None
    assert verdict.agreed == (0,)
    assert not verdict.believable


def test_one_attempt_agrees_with_nobody() -> None:
    verdict = vote([candidate(1, 5, 6)], [], NONE, 2)
    assert verdict is not None
    assert verdict.agreed == ()
    assert not verdict.settled


def test_the_same_code_twice_is_one_attempt() -> None:
    twins = [candidate(1, 5, 6), candidate(1, 5, 6), candidate(1, 5, 6)]
    verdict = vote(twins, [], NONE, 2)
    assert verdict is not None
    assert not verdict.settled
    assert verdict.agreed == ()


def test_the_suite_holds_what_somebody_vouches_for() -> None:
    tests = [Test({"n": 8}, 80, "examiner"), Test({"n": 9}, 1, "examiner"), Test({"n": 2}, 6, "examiner")]
    winner = candidate(1, 5, 6, 7, 80, 90, 6)
    verdict = vote([winner, candidate(2, 5, 6, 7, 80, 90, 6)], [], tests, 3)
    assert verdict is not None
    suite = suite_of(verdict, winner, [*SETS, *[test.arguments for test in tests]], tests, 3)
    assert [(test.arguments["n"], test.expected, test.origin) for test in suite] == [
        (8, 80, "examiner"),
        (2, 6, "examiner"),
        (1, 5, "agreement"),
        (3, 7, "agreement"),
        (9, 90, "agreement"),
    ]


PASSES = [(5, 5.0, True), ("Sunday.", "sunday", True), ([1, 2], "1, 2", True), (5, 6, False), (True, 1, False)]


@pytest.mark.parametrize(("result", "expected", "passes"), PASSES)
def test_a_test_passes_when_it_is_the_same_answer(result: Any, expected: Any, passes: bool) -> None:
    assert passed(Test({}, expected, "examiner"), value(result)) is passes


def test_a_failure_passes_no_test() -> None:
    assert not passed(Test({}, None, "examiner"), failure("KeyError: 'x'"))


def test_failures_are_equal_by_their_kind() -> None:
    assert (
        result_key(failure("KeyError: 'x'"))
        == result_key(failure("KeyError: 'y'"))
        != result_key(failure("ValueError"))
    )
    assert result_key(failure("KeyError: 'x'")) != result_key(value("KeyError: 'x'"))


def test_two_argument_sets_with_equal_results_are_not_varied() -> None:
    assert not varied([value(5), value(5.0), failure("KeyError")])
    assert not varied([value(5)])
    assert varied([value(5), failure("KeyError"), value(6)])


@pytest.mark.parametrize(
    ("rule", "runs"),
    [("question-literal", True), ("parameters-reach-result", True), ("allowed-imports", False), ("typed", False)],
)
def test_code_that_is_only_not_general_may_still_run(rule: str, runs: bool) -> None:
    assert runnable(Candidate(1, "", Report((Finding(1, rule, "m"), Finding(1, "x", "m", "warning"))))) is runs
