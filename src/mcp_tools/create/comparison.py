"""Compares a tool on drawn arguments with a slow version that the examiner wrote from the definition.

The slow version, the drawing and the relations are model-written code like the tool. They run in the sandbox, never in
the tool's process. Results are compared here, outside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mcp_tools.create.examiner import exception_of, passes
from mcp_tools.create.interfaces import Origin, Tell, Test, TrialCall
from mcp_tools.create.promises import NearMiss
from mcp_tools.create.proposal_runner import ProposalRunner, misfits
from mcp_tools.create.same_answer import same
from mcp_tools.create.trial import Draft
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.tool import Json, call_text

_DRAWN = 100
_DISPUTED = 3
"""Disagreements that are put to the examiner: those with the shortest arguments."""
_RELATED_TRIED = 3
"""Pairs that are tried of each result."""
_DRAWING = """

def _drawn_for_comparison(count):
    import random

    return [draw(random.Random(number)) for number in range(count)]
"""
_SLOW = "a slow version, written from the docstring alone, gives this"
_RELATED = "this follows from {} by what the docstring says"


@dataclass
class Comparison:
    """The results of a comparison."""

    agreed: list[Test] = field(default_factory=list)
    """Drawn calls with what both give."""
    disputed: list[Test] = field(default_factory=list)
    """Calls with what the slow version gives and the tool does not."""
    compared: int = 0


async def drawn_calls(draft: Draft, reference: str, runner: ProposalRunner, tell: Tell) -> list[TrialCall]:
    """The calls that the examiner's code draws, as far as they fit the schema."""
    if "def draw(" not in reference:
        return []
    source = reference + _DRAWING
    [outcome] = await runner.run_of_examiner(source, "_drawn_for_comparison", [{"count": _DRAWN}])
    if outcome is None or not isinstance(outcome.value, list):
        why = outcome.problem.message if outcome is not None and outcome.problem is not None else "no list"
        tell(f"the examiner drew no arguments: {why:.200}")
        return []
    calls = {(call := TrialCall(one)).key: call for one in outcome.value if isinstance(one, dict)}
    return [call for call in calls.values() if not misfits(draft.tool, call.arguments)]


async def compare(
    draft: Draft,
    calls: Sequence[TrialCall],
    near: Sequence[NearMiss],
    known: Sequence[Test],
    reference: str,
    runner: ProposalRunner,
    tell: Tell,
) -> Comparison:
    """Compares what the tool and the slow version give.

    Args:
        draft: The tool.
        calls: The calls to compare, including the question's own.
        near: Calls that the docstring seems to refuse.
        known: Tests that the tool passes. If the slow version fails one, it is wrong and not used.
        reference: The slow version with what belongs to it; may be empty.
        runner: Runs both.
        tell: Gets the reason why the slow version is not used.
    """
    found, name = Comparison(), draft.tool.name
    slow: list[Outcome | None] = [None] * (len(calls) + len(near))
    every = [*calls, *(one.call for one in near)]
    if f"def {name}(" in reference:
        tests = [test for test in known if not test.files]
        asked = [test.arguments for test in tests] + [call.arguments for call in every]
        outcomes = await runner.run_of_examiner(reference, name, asked)
        wrong = next(
            (
                test
                for test, outcome in zip(tests, outcomes, strict=False)
                if outcome is not None and not passes(test, outcome)
            ),
            None,
        )
        if wrong is None:
            slow = outcomes[len(tests) :]
        else:
            tell(f"the examiner's slow version is not used: it is wrong for {wrong.shown(name)}")
    ours = await runner.run_together(draft.tool, every)
    promised = dict(zip((one.call.key for one in near), near, strict=True))
    for call, own, other in zip(every, ours, slow, strict=True):
        _judge(found, draft, call, own, other, promised.get(call.key))
    await _relate(found, draft, reference, runner)
    found.disputed = sorted(found.disputed, key=lambda test: len(test.call.key))[:_DISPUTED]
    return found


def _judge(
    found: Comparison, draft: Draft, call: TrialCall, own: Outcome | None, other: Outcome | None, near: NearMiss | None
) -> None:
    """Enters what one call shows."""
    if own is None or not (own.ok or refuses(own, draft.function.docstring)):
        return  # `trial.crashes` reports a crash
    test = Test(call.arguments, own.value, "reference", raises=not own.ok, because=_SLOW)
    if near is not None and own.ok and (near.by_form or other is None):
        origin: Origin = "promise" if near.by_form else "reference"
        found.disputed.append(replace(test, expected=None, raises=True, origin=origin, because=near.quote))
        return
    if other is None or not (other.ok or refuses(other, draft.function.docstring)):
        return
    found.compared += 1
    if own.ok == other.ok and (not own.ok or same(own.value, other.value)):
        found.agreed.append(test)
    else:
        found.disputed.append(replace(test, expected=other.value, raises=not other.ok))


async def _relate(found: Comparison, draft: Draft, reference: str, runner: ProposalRunner) -> None:
    """Tries what the examiner's code says of the results of several calls: pairs of arguments and their result."""
    if "def relations(" not in reference:
        return
    tool, bases = draft.tool, [test for test in found.agreed if not test.raises] or runner.results_of(draft.tool)
    asked: list[dict[str, Json]] = [{"arguments": test.arguments, "result": test.expected} for test in bases[:_DRAWN]]
    related = []
    for base, outcome in zip(bases, await runner.run_of_examiner(reference, "relations", asked), strict=False):
        problem = outcome.problem if outcome is not None else None
        if problem is not None and exception_of(problem) == "AssertionError":
            because = f"its result must be so: {problem.message:.200}"
            found.disputed.append(replace(base, expected=None, because=because))
        because = _RELATED.format(call_text(tool.name, base.arguments, longest=80))
        for pair in outcome.value[:_RELATED_TRIED] if outcome is not None and isinstance(outcome.value, list) else ():
            match pair:
                case [dict(arguments), expected] if not misfits(tool, arguments):
                    related.append(Test(arguments, expected, "reference", because=because))
    for test, own in zip(related, await runner.run_together(tool, [one.call for one in related]), strict=True):
        if own is not None and own.ok:
            found.compared += 1
            (found.agreed if same(own.value, test.expected) else found.disputed).append(test)


def refuses(outcome: Outcome, docstring: str) -> bool:
    """True if code said no to its arguments: by ValueError, or by an exception that its docstring names."""
    if outcome.problem is None or outcome.problem.kind != "exception":
        return outcome.problem is not None and outcome.problem.kind == "arguments"
    name = exception_of(outcome.problem)
    return name == "ValueError" or bool(name and re.search(rf"\b{re.escape(name)}\b", docstring))
