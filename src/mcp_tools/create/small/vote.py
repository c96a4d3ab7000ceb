"""Candidates vote by their results: agreement of independent attempts is evidence, one attempt is not."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from mcp_tools.create.answers import answer_key
from mcp_tools.create.literals import as_number
from mcp_tools.create.protocol import Candidate, Program, Test
from mcp_tools.create.small.trial import passed, result_key, varied
from mcp_tools.tool import Json

_NO_ANSWER: tuple[Json, ...] = (None, "", [], {})
_NOTHING_FOUND = frozenset(["0", "-1", "none"])
"""What wrong code gives far more often than right code: of such answers, two count as one."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer that won, the candidate that stands for it, and how well both are supported."""

    value: Json
    winner: Candidate | None
    """None when only scratch programs gave this answer."""
    support: int
    """How many attempts gave this answer."""
    voters: int
    """How many attempts gave any answer."""
    agreed: tuple[int, ...] = ()
    """Argument sets on which an attempt with other code gave the same result as the winner."""
    codes: int = 1
    """How many different codes stand behind this answer: the same text sampled twice is one attempt."""
    is_doubtful: bool = False
    """Whether it is what wrong code likes to give."""

    @property
    def settled(self) -> bool:
        """Whether more attempts would hardly change the choice."""
        is_frequent = self.support >= 3 and self.support * 2 > self.voters
        return is_frequent and self.codes >= 2 and not self.is_doubtful

    @property
    def unanimous(self) -> bool:
        """Whether so many agree, and nobody differs, that the rest of a round would be waste."""
        return self.settled and self.support == self.voters >= 4

    @property
    def believable(self) -> bool:
        """Whether a majority of attempts agree on the question, and candidates on another argument set."""
        return self.support >= 2 and self.support * 2 > self.voters and any(index > 0 for index in self.agreed)


def vote(
    candidates: Sequence[Candidate],
    programs: Sequence[Program],
    tests: Sequence[Test],
    first_test: int,
    given: Collection[str] = (),
) -> Verdict | None:
    """The most frequent answer; None when no attempt gave one.

    Args:
        candidates: With the outcomes of their trials, all on the same argument sets.
        programs: Whole programs with what they printed.
        tests: The examiner's tests; they weigh when answers are equally frequent.
        first_test: The index of the first test's arguments among the argument sets.
        given: Texts of the question; who gives one back has done nothing with it.
    """
    doubtful = _NOTHING_FOUND | {answer_key(text) for text in given}
    standing = [c for c in candidates if c.answered and c.outcomes[0].value not in _NO_ANSWER]
    printed = [program.answer for program in programs if program.answer]
    votes = Counter([answer_key(c.outcomes[0].value) for c in standing] + [answer_key(text) for text in printed])
    votes = _of_the_kind_asked(votes)
    if not votes:
        return None

    def weight(group: tuple[str, ...]) -> tuple[int, int, int]:
        members = [c for c in standing if answer_key(c.outcomes[0].value) in group]
        passes = max((_tests_passed(c, tests, first_test) for c in members), default=0)
        counted = sum(votes[key] * (1 if key in doubtful else 2) for key in group)
        return counted, passes, len(members)

    group = max(_same_but_rounded(votes), key=weight)
    best = max(group, key=lambda key: (votes[key], -len(key)))
    support = sum(votes[key] for key in group)
    behind = {_code(c.source) for c in standing if answer_key(c.outcomes[0].value) in group}
    codes = len(behind | {p.source for p in programs if answer_key(p.answer) in group})
    members = [c for c in standing if answer_key(c.outcomes[0].value) == best]
    if not members:
        text = next(text for text in printed if answer_key(text) == best)
        return Verdict(text, None, support, votes.total(), codes=codes, is_doubtful=best in doubtful)
    winner = max(members, key=lambda c: _merit(c, members, tests, first_test))
    agreed = _agreed(winner, standing, programs)
    return Verdict(winner.outcomes[0].value, winner, support, votes.total(), agreed, codes, best in doubtful)


def _same_but_rounded(votes: Counter[str]) -> list[tuple[str, ...]]:
    """The answers in groups: a number belongs to the one that it is when rounded to its decimals."""
    numbers = [(key, number) for key in votes if (number := as_number(key)) is not None]
    numbers.sort(key=lambda written: -_decimals(written[1]))
    groups: dict[str, list[str]] = {key: [key] for key in votes}
    for key, number in numbers:
        for other, rounded in numbers:
            decimals = _decimals(rounded)
            if 0 < decimals < _decimals(number) and abs(number - rounded) * 2 <= Decimal(1).scaleb(-decimals):
                groups[other] += groups.pop(key)
                break
    return [tuple(group) for group in groups.values()]


def _decimals(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _of_the_kind_asked(votes: Counter[str]) -> Counter[str]:
    """Without lists and tables, when most answers are a number: who prints the whole working gives no other number."""
    numbers = sum(times for key, times in votes.items() if as_number(key) is not None)
    single = Counter({key: times for key, times in votes.items() if "|" not in key and ": " not in key})
    return single if numbers * 2 > votes.total() else votes


def _merit(
    candidate: Candidate, members: Sequence[Candidate], tests: Sequence[Test], first_test: int
) -> tuple[bool, bool, int, int, int]:
    peers = [other for other in members if other is not candidate]
    return (
        candidate.report.ok,
        varied(candidate.outcomes),
        sum(_same(candidate, other, i) for other in peers for i in range(1, len(candidate.outcomes))),
        _tests_passed(candidate, tests, first_test),
        -len(candidate.source),
    )


def _agreed(winner: Candidate, standing: Sequence[Candidate], programs: Sequence[Program]) -> tuple[int, ...]:
    others = [other for other in standing if _code(other.source) != _code(winner.source)]
    return tuple(
        index
        for index, outcome in enumerate(winner.outcomes)
        if outcome.ok
        and (
            any(_same(winner, other, index) for other in others)
            or any(_prints(program, index, result_key(outcome)) for program in programs)
        )
    )


def _code(source: str) -> str:
    """What a source does, without docstrings, imports and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    kept: list[ast.stmt] = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign)]
    return ast.unparse(ast.Module(kept, []))


def _prints(program: Program, index: int, key: str) -> bool:
    return index < len(program.printed) and program.printed[index] != "" and answer_key(program.printed[index]) == key


def _same(one: Candidate, other: Candidate, index: int) -> bool:
    if index >= len(one.outcomes) or index >= len(other.outcomes):
        return False
    return result_key(one.outcomes[index]) == result_key(other.outcomes[index])


def _tests_passed(candidate: Candidate, tests: Sequence[Test], first_test: int) -> int:
    outcomes = candidate.outcomes[first_test:]
    return sum(passed(test, outcome) for test, outcome in zip(tests, outcomes, strict=False))
