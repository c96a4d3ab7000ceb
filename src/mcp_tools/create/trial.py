"""The trial of a draft: calls with other arguments, the examiner's tests, and parameters that change nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_tools.create.documented_function import DocumentedFunction, read_function
from mcp_tools.create.examiner import CRASHES, exception_of, failure_text, passes
from mcp_tools.create.examples import wrong_examples
from mcp_tools.create.interfaces import Examiner, Tell, Test, TrialCall
from mcp_tools.create.proposal_runner import ProposalRunner, fitted, is_unrecorded, misfits
from mcp_tools.create.same_answer import agree
from mcp_tools.create.shortcomings import shortcomings
from mcp_tools.create.variations import alternatives, edges, variations, without_parameter
from mcp_tools.errors import AlitaError
from mcp_tools.sandbox.protocol import Outcome, Problem
from mcp_tools.tool import Json, Tool, call_text

_VARIATIONS = 6
_CHOICES = 20
"""The most choices of one parameter that are tried."""
_FEWEST = 2
"""Successful calls with another value of a parameter that must show no effect."""
_REFUSE = "raise ValueError with a clear message for input that it cannot take"
_CHANCE = "gives another result when it is called again: let chance come from a seed"


@dataclass(frozen=True, slots=True)
class Draft:
    """A tool that is not proved yet."""

    tool: Tool
    function: DocumentedFunction
    arguments: dict[str, Json]
    """The question's own."""


def other_calls(draft: Draft, fixed: Sequence[str]) -> tuple[list[TrialCall], list[TrialCall]]:
    """Calls like the question's own, in which some parameters are fixed.

    Returns:
        Calls with similar values or another choice of the schema; and calls with one empty, zero or negative value,
        which need not fit the schema.
    """
    free = {name: value for name, value in draft.arguments.items() if name not in fixed}
    others = variations(free, count=_VARIATIONS)
    for name, schema in draft.tool.input_schema["properties"].items():
        if "enum" in schema or schema.get("type") == "boolean":
            given = draft.arguments.get(name, schema.get("default"))
            others += [{name: other} for other in alternatives(given, schema)[:_CHOICES]]
    varied, edge = ([TrialCall({**draft.arguments, **new}) for new in sets] for sets in (others, edges(free)))
    return [call for call in varied if not misfits(draft.tool, call.arguments)], edge


async def depends_on_chance(draft: Draft, calls: Sequence[TrialCall], runner: ProposalRunner) -> list[str]:
    """Says so if the first successful call gives another result when it is repeated.

    The question's own call is not repeated: it may take long.
    """
    for call in calls:
        once = await runner.try_run(draft.tool, call) if call.arguments != draft.arguments else None
        if once is not None and once.ok:
            again = await runner.run_fresh(draft.tool.source, draft.tool.name, call)
            differs = again.ok and again.value != once.value
            return [f"{call_text(draft.tool.name, call.arguments, longest=200)} {_CHANCE}"] if differs else []
    return []


async def crashes(draft: Draft, calls: Sequence[TrialCall], runner: ProposalRunner) -> dict[str, str]:
    """Return the calls, by their keys, that fit the schema but crash the code."""
    found = {}
    for call in calls:
        outcome = await runner.try_run(draft.tool, call)
        if outcome is None or outcome.problem is None:
            continue
        kind = exception_of(outcome.problem) or outcome.problem.kind
        if kind in {*CRASHES, "result"} and not re.search(rf"\b{kind}\b", draft.function.docstring):
            shown = call_text(draft.tool.name, call.arguments, longest=200)
            found[call.key] = f"{shown} fails with {outcome.problem.message:.200}; {_REFUSE}"
    return found


async def run_tests(
    draft: Draft, tests: Sequence[Test], runner: ProposalRunner
) -> tuple[list[Test], list[tuple[Test, Outcome]]]:
    """The tests that pass, which now expect the exact results, and the others with their outcomes.

    A test that asks a host for what is not recorded is neither. Nor is one of the examiner with another result, if that
    rests on a response that the examiner has not seen.
    """
    passed, failed = [], []
    for test in tests:
        outcome = await runner.run(draft.tool, test.call)
        if passes(test, outcome):
            passed.append(_exact(test, outcome))
        elif not is_unrecorded(outcome) and (not outcome.requests or test.raises or test.origin == "docstring"):
            failed.append((test, outcome))
    return passed, failed


def _exact(test: Test, outcome: Outcome) -> Test:
    return test if test.raises else replace(test, expected=test.given(outcome.value))


async def examine(
    draft: Draft,
    tests: Sequence[Test],
    runner: ProposalRunner,
    examiner: Examiner,
    tell: Tell,
    is_examined: bool = True,
) -> tuple[list[Test], list[str]]:
    """The examiner's tests that pass, and what the tool does wrong in those that the examiner confirms.

    One must be left, unless the examiner wrote none.
    """
    passed, disputed = await run_tests(draft, tests, runner)
    definition, objection = draft.function.definition, runner.proposal.objection
    failures = []
    if not objection:  # the docstring's own words leave nothing to work out
        failures = [failure_text(draft.tool.name, *each) for each in disputed if each[0].origin == "promise"]
        disputed = [each for each in disputed if each[0].origin != "promise"]
    if disputed:
        doubtful = [test for test, _ in disputed]
        again: Sequence[Test | None] = doubtful
        try:
            again = await examiner.reconsider(definition, draft.tool, doubtful, objection)
        except AlitaError as failure:
            tell(f"the examiner did not review it: {failure.message}")
        for (test, outcome), now in zip(disputed, again, strict=True):
            text = failure_text(draft.tool.name, test, outcome)
            if now is not None and passes(now, outcome):
                passed.append(_exact(now, outcome))
                if test.origin == "reference":
                    tell(f"the examiner's slow version is wrong here: {text}")
            elif now is not None and now.raises == test.raises and _agree(now.expected, test.expected):
                failures.append(text)
            elif now is not None and test.origin == "reference" and not objection:
                failures.append(f"{failure_text(draft.tool.name, now, outcome)}; {test.because}{_shown(test)}")
            else:
                tell(f"a test is dropped because the examiner does not confirm it: {text}")
    is_left = any(not test.raises and test.arguments != draft.arguments for test in passed)
    if is_examined and not failures and not is_left and not runner.exchanges:
        failures.append("no test with other arguments was left: state in the docstring what such calls give")
    return passed, failures


def _agree(one: Json, other: Json) -> bool:
    return agree(one, other) or agree(other, one)


def _shown(test: Test) -> str:
    if test.raises or test.expected is None:
        return ": an error" if test.raises else ""
    return f": {test.expected!r:.200}"


async def _is_idle(name: str, tool: Tool, calls: Sequence[TrialCall], runner: ProposalRunner) -> bool:
    """Return True if no value of a parameter changes any result of the calls.

    Errors do not count: a parameter that is only checked has no effect, and if all other values fail, the effect is
    unknown.
    """
    compared = 0
    schema = tool.input_schema["properties"][name]
    known = [call.arguments[name] for call in calls if name in call.arguments]
    for call in calls:
        before = await runner.try_run(tool, call)
        if before is None or not before.ok:
            continue
        given = call.arguments.get(name, schema.get("default"))
        for other in [*alternatives(given, schema), *(value for value in known if value != given)]:
            after = await runner.try_run(tool, replace(call, arguments={**call.arguments, name: other}))
            if after is not None and after.ok:
                compared += 1
                if after.value != before.value:
                    return False
    return compared >= _FEWEST


async def without_idle_parameters(
    draft: Draft, calls: Sequence[TrialCall], runner: ProposalRunner, tell: Tell
) -> tuple[Draft, list[str]]:
    """The draft without parameters that change no result, and what stands in the way of taking one out."""
    tool, source, problems = draft.tool, draft.tool.source, []
    names = [name for name in tool.input_schema["properties"] if name not in runner.file_parameters]
    for name in [name for name in names if await _is_idle(name, tool, calls, runner)]:
        shorter = without_parameter(source, tool.name, name)
        if shorter is not None:
            tell(f"removed: {name}, which changes no result")
            source = shorter
        elif name in tool.input_schema["required"]:  # an option that the code reads may matter elsewhere
            problems.append(f"{name!r} changed no result in the trial: remove it, or say in the docstring when it does")
    if problems or source == tool.source:
        return draft, problems
    function = read_function(source, tool.name, runner.proposal.capabilities)
    assert function is not None
    shortened = await runner.describe(function)
    if isinstance(shortened, Problem):
        return draft, [f"without the parameters that change no result: {shortened.message}"]
    if await wrong_examples(source, function.docstring, runner):
        removed = next(name for name in names if name not in shortened.input_schema["properties"])
        return draft, [f"{removed!r} changes no result, but an example names it: take it out, or let it matter"]
    arguments = fitted(draft.arguments, shortened)
    runner.remember(source, TrialCall(arguments), await runner.run(tool, TrialCall(draft.arguments)))
    for call in calls:
        before = await runner.try_run(tool, call)
        after = await runner.try_run(shortened, replace(call, arguments=fitted(call.arguments, shortened)))
        if before is not None and before.ok and (after is None or not after.ok or after.value != before.value):
            return draft, ["it gives other results without the parameters that change no result"]
    return Draft(shortened, function, arguments), [*shortcomings(function, runner.proposal.question, draft.arguments)]
