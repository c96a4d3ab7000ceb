"""The strength of a tool's tests: the share of its mutants that they catch."""

from __future__ import annotations

import ast
import asyncio
import itertools
from collections.abc import Sequence

from mcp_tools.create.examiner import passes
from mcp_tools.create.interfaces import Test
from mcp_tools.create.mutants import mutants
from mcp_tools.create.proposal_runner import ProposalRunner
from mcp_tools.create.same_answer import same
from mcp_tools.tool import Tool

_MUTANT_SECONDS = 1.0
_MUTANTS = 40
_MUTANTS_AT_ONCE = 4
_LONGEST_SECONDS = 300.0
"""Limit of all processes together; then no further mutant starts. Only very slow code reaches it."""
_PATIENCE = 5
"""So many times longer may a mutant take than processor time: a busy machine must not look like a bug."""
SURVIVORS_SHOWN = 3
_TIMES_THE_TOOL = 3
"""A mutant hangs if it takes this many times longer than the tool."""
_KILLERS = 6
"""Drawn calls that are kept as tests because they catch a mutant that no other test does."""
_COMPARED = 80
"""Drawn calls that each mutant has to survive."""


async def try_mutants(
    tool: Tool, suite: Sequence[Test], agreed: Sequence[Test], slowest: float, runner: ProposalRunner
) -> tuple[int, list[str], list[Test]]:
    """The number of mutants that were tried, those that no test catches, and drawn calls that alone catch some.

    A few are tried at a time, and what these show counts for the next: so that a replay makes the same calls.
    """
    seconds, end = _MUTANT_SECONDS + _TIMES_THE_TOOL * slowest, runner.used + _LONGEST_SECONDS
    killers, survivors, tried = dict[str, Test](), list[str](), 0
    versions = mutants(tool.source, count=_MUTANTS, guards=bool(agreed))  # only refused calls tell of guards

    async def shown(version: str, known: Sequence[Test]) -> tuple[bool, Test | None]:
        """True if it is caught; the drawn call that does, if no other test does."""
        if await _catches(tool, version, known, seconds, runner) is not None:
            return True, None
        killer = await _catches(tool, version, agreed[:_COMPARED], seconds, runner, exactly=True)
        return killer is not None, killer

    def next_ones() -> list[str]:
        return [*itertools.islice(versions, _MUTANTS_AT_ONCE)]

    while (some := await asyncio.to_thread(next_ones)) and runner.used < end:
        known = [*suite, *killers.values()]
        for version, (is_caught, killer) in zip(
            some, await asyncio.gather(*(shown(version, known) for version in some)), strict=True
        ):
            tried += 1
            if not is_caught:
                survivors.append(version)
            if killer is not None and len(killers) < _KILLERS:
                killers[killer.call.key] = killer
    return tried, survivors, [*killers.values()]


async def _catches(
    tool: Tool, version: str, tests: Sequence[Test], seconds: float, runner: ProposalRunner, *, exactly: bool = False
) -> Test | None:
    """The first test that a version of the tool fails."""
    alone = runner.proposal.capabilities.hosts or runner.proposal.capabilities.write
    together = [] if alone else [test for test in tests if not test.files]
    arguments = [test.arguments for test in together]
    given = await runner.run_each(version, tool.name, arguments, seconds, patience=_PATIENCE)
    for test, outcome in zip(together, given, strict=True):
        if outcome is None or not passes(test, outcome) or (exactly and not same(outcome.value, test.expected)):
            return test
    for test in tests:
        if test in together:
            continue
        outcome = await runner.run_fresh(version, tool.name, test.call, seconds, patience=_PATIENCE)
        if not passes(test, outcome):
            return test
    return None


def weakness(tool: Tool, killed: int, tried: int, survivors: Sequence[str]) -> str:
    """The verdict on weak tests, with bugs for the author to write examples against."""
    only = "only " if killed else ""
    return "\n".join(
        [
            f"Weak tests: caught {only}{killed} of {tried} deliberate bugs.",
            "  Add examples to the docstring that fail with bugs such as these, which no test noticed:",
            *(f"  {change}" for change in changes(tool, survivors)),
        ]
    )


def changes(tool: Tool, survivors: Sequence[str]) -> list[str]:
    """The changed lines of a few versions that no test catches."""
    lines = ast.unparse(ast.parse(tool.source)).splitlines()
    pairs = [zip(lines, version.splitlines(), strict=False) for version in survivors[:SURVIVORS_SHOWN]]
    first = [next(((old, new) for old, new in pair if old != new), None) for pair in pairs]
    return [f"`{one[0].strip()}` -> `{one[1].strip()}`" for one in first if one is not None]
