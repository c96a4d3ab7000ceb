"""The trial of a candidate: checks first, then every argument set in the sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from mcp_tools.checks import check
from mcp_tools.checks.generality import generality
from mcp_tools.create.answers import answer_key
from mcp_tools.create.protocol import Candidate, Request, Test
from mcp_tools.sandbox.protocol import Limits, Outcome, Sandbox
from mcp_tools.tool import Json, ToolSpec

TRIAL_LIMITS = Limits(wall_seconds=5, cpu_seconds=5)
_PARALLEL = 2
_RULES_OF_GENERALITY = frozenset(rule.id for rule in generality(""))


def examined(number: int, source: str, spec: ToolSpec, request: Request) -> Candidate:
    """The candidate after its checks; nothing has run yet."""
    report = check(source, capabilities=spec.capabilities, function=spec.name, more=generality(request.question))
    return Candidate(number, source, report)


def runnable(candidate: Candidate) -> bool:
    """Whether a trial can tell anything: a copied literal spoils a tool, yet the code may run."""
    return all(
        finding.severity != "error" or finding.rule in _RULES_OF_GENERALITY for finding in candidate.report.findings
    )


async def try_out(
    source: str, spec: ToolSpec, argument_sets: Sequence[dict[str, Json]], sandbox: Sandbox, request: Request
) -> tuple[Outcome, ...]:
    """One outcome for each argument set; after a timeout of the first, the others are not tried."""
    gate = asyncio.Semaphore(_PARALLEL)

    async def one(arguments: dict[str, Json]) -> Outcome:
        async with gate:
            return await sandbox.run(request.job(source, spec.name, arguments, TRIAL_LIMITS))

    first = await one(argument_sets[0])
    if first.problem is not None and first.problem.kind in {"wall_time", "cpu_time"}:
        return (first,)
    return (first, *await asyncio.gather(*(one(arguments) for arguments in argument_sets[1:])))


def result_key(outcome: Outcome) -> str:
    """A text that is equal for results that mean the same; failures count by their kind."""
    if not outcome.ok:
        kind = outcome.problem.message.split(":")[0] if outcome.problem else ""
        return f"!{kind}"
    return answer_key(outcome.value)


def passed(test: Test, outcome: Outcome) -> bool:
    """Whether an outcome is what the test expects."""
    return outcome.ok and answer_key(outcome.value) == answer_key(test.expected)


def varied(outcomes: Sequence[Outcome]) -> bool:
    """Whether at least two argument sets gave different results."""
    return len({result_key(outcome) for outcome in outcomes if outcome.ok}) > 1
