"""Candidates vote by their results: agreement of independent attempts is evidence, one attempt is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_tools.create.protocol import Candidate, Test
from mcp_tools.create.trial import passed, result_key, varied
from mcp_tools.tool import Json


@dataclass(frozen=True, slots=True)
class Verdict:
    """The candidate that won, and how well it is supported."""

    winner: Candidate
    support: int
    """How many candidates gave its result for the question's own arguments, itself included."""
    voters: int
    """How many candidates gave any value."""
    agreed: tuple[int, ...]
    """Argument sets on which another candidate gave the same value as the winner."""

    @property
    def settled(self) -> bool:
        """Whether more candidates would hardly change the choice."""
        return self.support >= 2 and self.support * 3 > self.voters * 2

    @property
    def believable(self) -> bool:
        """Whether independent candidates agree on the question and on another argument set."""
        return self.support >= 2 and self.support * 2 > self.voters and any(index > 0 for index in self.agreed)


def vote(candidates: Sequence[Candidate], tests: Sequence[Test], first_test: int) -> Verdict | None:
    """The winner among the candidates that answered; None when none did.

    Args:
        candidates: With the outcomes of their trials, all on the same argument sets.
        tests: The examiner's tests; they weigh when results are equally frequent.
        first_test: The index of the first test's arguments among the argument sets.
    """
    voters = [candidate for candidate in candidates if candidate.answered and _plausible(candidate.outcomes[0].value)]
    voters = voters or [candidate for candidate in candidates if candidate.answered]
    if not voters:
        return None

    def rank(candidate: Candidate) -> tuple[int, int, int, int, int]:
        peers = [other for other in voters if other is not candidate]
        return (
            sum(_same(candidate, other, 0) for other in peers),
            _tests_passed(candidate, tests, first_test),
            candidate.report.ok,
            varied(candidate.outcomes),
            sum(_same(candidate, other, i) for other in peers for i in range(1, len(candidate.outcomes))),
        )

    winner = max(voters, key=rank)
    agreed = tuple(
        index
        for index, outcome in enumerate(winner.outcomes)
        if outcome.ok and any(_same(winner, other, index) for other in voters if other is not winner)
    )
    support = 1 + sum(_same(winner, other, 0) for other in voters if other is not winner)
    return Verdict(winner, support, len(voters), agreed)


def _plausible(value: Json) -> bool:
    """Whether a value can be an answer at all."""
    return value not in (None, "", [], {})


def _same(one: Candidate, other: Candidate, index: int) -> bool:
    if index >= len(one.outcomes) or index >= len(other.outcomes):
        return False
    return result_key(one.outcomes[index]) == result_key(other.outcomes[index])


def _tests_passed(candidate: Candidate, tests: Sequence[Test], first_test: int) -> int:
    outcomes = candidate.outcomes[first_test:]
    return sum(passed(test, outcome) for test, outcome in zip(tests, outcomes, strict=False))
