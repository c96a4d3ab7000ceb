"""What a winning candidate must show before it is kept."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mcp_tools.create.mutants import mutants
from mcp_tools.create.protocol import Candidate, Request, Test
from mcp_tools.create.small.spec import Wanted
from mcp_tools.create.small.trial import passed, varied
from mcp_tools.create.small.vote import Verdict
from mcp_tools.sandbox.protocol import Limits, Outcome, Sandbox
from mcp_tools.tool import Json

_MUTANT_SECONDS = 1.0
_TIMES_THE_WINNER = 3
"""How much longer than the winner a mutant may take before it counts as hanging."""


def suite_of(
    verdict: Verdict,
    winner: Candidate,
    argument_sets: Sequence[dict[str, Json]],
    tests: Sequence[Test],
    first_test: int,
) -> list[Test]:
    """The tests that the winner passes and that somebody else vouches for: the examiner, or another candidate."""
    outcomes = winner.outcomes
    examined = [test for test, outcome in zip(tests, outcomes[first_test:], strict=False) if passed(test, outcome)]
    known = [test.arguments for test in examined]
    agreed = [
        Test(argument_sets[index], outcomes[index].value, "agreement")
        for index in verdict.agreed
        if argument_sets[index] not in known
    ]
    return examined + agreed


async def doubts(
    verdict: Verdict, winner: Candidate, suite: Sequence[Test], wanted: Wanted, request: Request, sandbox: Sandbox
) -> tuple[list[str], dict[str, int]]:
    """Why the winner must not be kept, and how many mutants its suite failed; no doubts means it is proven."""
    found = [
        f"check {finding.rule}: {finding.message}" for finding in winner.report.findings if finding.severity == "error"
    ]
    if not varied(winner.outcomes):
        found.append(_not_varied(winner.outcomes))
    elif not any(test.arguments != wanted.arguments for test in suite):
        found.append("nobody vouches for a result on other arguments than the question's own")
    if verdict.voters > 1 and verdict.support * 2 <= verdict.voters:
        found.append(f"only {verdict.support} of {verdict.voters} attempts agree on the result")
    if found:
        return found, {"mutants": 0, "killed": 0}
    killed, tried = await _mutants_killed(winner, suite, wanted, request, sandbox)
    if tried and not killed:
        found.append(f"the tests fail none of {tried} wrong versions of the code: they are not evidence")
    return found, {"mutants": tried, "killed": killed}


def _not_varied(outcomes: Sequence[Outcome]) -> str:
    """What is known of a winner whose results, or whose only result, are one and the same."""
    others = outcomes[1:]
    if not others:
        return "it was tried with the question's own arguments only: what others give is not known"
    if not any(outcome.ok for outcome in others):
        return f"it fails on all of the {len(others)} other argument sets that were tried"
    return f"all of the {len(outcomes)} argument sets that were tried give the same result: the tool is not general"


async def _mutants_killed(
    winner: Candidate, suite: Sequence[Test], wanted: Wanted, request: Request, sandbox: Sandbox
) -> tuple[int, int]:
    versions = mutants(winner.source)
    slowest = max((outcome.seconds for outcome in winner.outcomes if outcome.ok), default=0.0)
    seconds = _MUTANT_SECONDS + _TIMES_THE_WINNER * slowest
    limits = Limits(wall_seconds=seconds, cpu_seconds=math.ceil(seconds))
    killed = 0
    for version in versions:
        for test in suite:
            job = request.job(version, wanted.spec.name, test.arguments, limits)
            if not passed(test, await sandbox.run(job)):
                killed += 1
                break
    return killed, len(versions)
