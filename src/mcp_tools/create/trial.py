"""Tries a draft: the docstring's examples, calls with other arguments, the tests, and parameters without effect."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_tools.create.documented_function import DocumentedFunction, read_function, read_value
from mcp_tools.create.examiner import CRASHES, exception_of, failure_text, passes
from mcp_tools.create.interfaces import Examiner, Notify, Test, TrialCall
from mcp_tools.create.proposal_runner import ProposalRunner, is_unrecorded, known_arguments, misfits
from mcp_tools.create.same_answer import agree
from mcp_tools.create.shortcomings import shortcomings
from mcp_tools.create.variations import alternatives, edges, variations, without_parameter
from mcp_tools.errors import AlitaError
from mcp_tools.sandbox.protocol import Outcome, Problem
from mcp_tools.tool import Json, Tool, call_text

_VARIATIONS = 6
_MAX_CHOICES = 20
_MIN_COMPARED = 2
"""Minimum number of successful calls with a different value before a parameter counts as having no effect."""
_REFUSE = "raise ValueError with a clear message for input that it cannot handle"
_CHANCE = "gives a different result when it is called again: seed its random numbers"
_COMMENTED = re.compile(r"^[ \t]+(\w+\(.*\S)(?:[ \t]{2,}|\n[ \t]+)# (.+)$", re.MULTILINE)
_RUNNING = """

def _run_examples_of_docstring(sources):
    import contextlib
    import io
    import sys

    if "numpy" in sys.modules:  # shows 0.5, not np.float64(0.5)
        sys.modules["numpy"].set_printoptions(legacy="1.25")
    told, names = [], dict(globals())
    for source in sources:
        printed, raised = io.StringIO(), ""
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(source, "example", "single"), names)
            except Exception as error:
                raised = f"{type(error).__name__}: {error}"
        told.append([printed.getvalue(), raised])
    return told
"""


@dataclass(frozen=True, slots=True)
class Draft:
    """A tool that has not been proved yet."""

    tool: Tool
    function: DocumentedFunction
    arguments: dict[str, Json]
    """The arguments that answer the question."""


def other_calls(draft: Draft, fixed: Sequence[str]) -> tuple[list[TrialCall], list[TrialCall]]:
    """Derive calls from the question's own call, without changing the `fixed` parameters.

    Returns:
        First, calls with similar values or other choices that the schema allows. Second, calls with one empty, zero
        or negative value, which may not fit the schema.
    """
    free = {name: value for name, value in draft.arguments.items() if name not in fixed}
    others = variations(free, count=_VARIATIONS)
    for name, schema in draft.tool.input_schema["properties"].items():
        if "enum" in schema or schema.get("type") == "boolean":
            given = draft.arguments.get(name, schema.get("default"))
            others += [{name: other} for other in alternatives(given, schema)[:_MAX_CHOICES]]
    varied, edge = ([TrialCall({**draft.arguments, **new}) for new in sets] for sets in (others, edges(free)))
    return [call for call in varied if not misfits(draft.tool, call.arguments)], edge


async def depends_on_chance(draft: Draft, calls: Sequence[TrialCall], runner: ProposalRunner) -> list[str]:
    """Repeat the first successful call; return a problem if its result changes.

    The question's own call is not repeated, because it may take long.
    """
    for call in calls:
        once = await runner.try_run(draft.tool, call) if call.arguments != draft.arguments else None
        if once is not None and once.ok:
            again = await runner.run_fresh(draft.tool.source, draft.tool.name, call)
            differs = again.ok and again.value != once.value
            return [f"{call_text(draft.tool.name, call.arguments, longest=200)} {_CHANCE}"] if differs else []
    return []


async def crashes(draft: Draft, calls: Sequence[TrialCall], runner: ProposalRunner) -> dict[str, str]:
    """Return a message for each call that fits the schema but crashes the code, by the call's key."""
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
    """Run tests; return those that pass, with the exact result as expectation, and those that fail.

    A test is dropped from both if it sends a request without a recorded response, or if the examiner predicted a
    result that depends on a response it has not seen.
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
    notify: Notify,
    is_examined: bool = True,
) -> tuple[list[Test], list[str]]:
    """Run the tests, and let the examiner rule on those that fail.

    Returns:
        The tests that pass, and a message for each failure that the examiner confirms. If the examiner wrote tests,
        at least one with other arguments than the question's must pass; otherwise that is a failure, too.
    """
    passed, disputed = await run_tests(draft, tests, runner)
    definition, objection = draft.function.definition, runner.proposal.objection
    failures = []
    if not objection:  # promises that the docstring spells out go to the author without a ruling
        failures = [failure_text(draft.tool.name, *each) for each in disputed if each[0].origin == "promise"]
        disputed = [each for each in disputed if each[0].origin != "promise"]
    if disputed:
        doubtful = [test for test, _ in disputed]
        again: Sequence[Test | None] = doubtful
        try:
            again = await examiner.reconsider(definition, draft.tool, doubtful, objection)
        except AlitaError as failure:
            notify(f"the examiner did not review the disputed tests: {failure.message}")
        for (test, outcome), now in zip(disputed, again, strict=True):
            text = failure_text(draft.tool.name, test, outcome)
            if now is not None and passes(now, outcome):
                passed.append(_exact(now, outcome))
                if test.origin == "reference":
                    notify(f"the examiner's slow version is wrong here: {text}")
            elif now is not None and now.raises == test.raises and _agree(now.expected, test.expected):
                failures.append(text)
            elif now is not None and test.origin == "reference" and not objection:
                failures.append(f"{failure_text(draft.tool.name, now, outcome)}; {test.because}{_shown(test)}")
            else:
                notify(f"a test was dropped because the examiner did not confirm it: {text}")
    is_left = any(not test.raises and test.arguments != draft.arguments for test in passed)
    if is_examined and not failures and not is_left and not runner.exchanges:
        failures.append("no test with other arguments is left: state the results of such calls in the docstring")
    return passed, failures


def _agree(one: Json, other: Json) -> bool:
    return agree(one, other) or agree(other, one)


def _shown(test: Test) -> str:
    if test.raises or test.expected is None:
        return ": an error" if test.raises else ""
    return f": {test.expected!r:.200}"


async def _is_idle(name: str, tool: Tool, calls: Sequence[TrialCall], runner: ProposalRunner) -> bool:
    """Return True if changing a parameter changes no result.

    Calls that fail are not compared. So a parameter that the code only validates has no effect; and if all other values
    fail, the effect is unknown, and this returns False.
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
    return compared >= _MIN_COMPARED


async def without_idle_parameters(
    draft: Draft, calls: Sequence[TrialCall], runner: ProposalRunner, notify: Notify
) -> tuple[Draft, list[str]]:
    """Remove the parameters that change no result from a draft; also return the problems that prevent this."""
    tool, source, problems = draft.tool, draft.tool.source, []
    names = [name for name in tool.input_schema["properties"] if name not in runner.file_parameters]
    for name in [name for name in names if await _is_idle(name, tool, calls, runner)]:
        shorter = without_parameter(source, tool.name, name)
        if shorter is not None:
            notify(f"removed the parameter {name}, which has no effect on any result")
            source = shorter
        elif name in tool.input_schema["required"]:  # an option that the code reads may matter elsewhere
            problems.append(f"{name!r} had no effect on any result: remove it, or say in the docstring when it has one")
    if problems or source == tool.source:
        return draft, problems
    function = read_function(source, tool.name, runner.proposal.capabilities)
    assert function is not None
    shortened = await runner.describe(function)
    if isinstance(shortened, Problem):
        return draft, [f"without the parameters that have no effect: {shortened.message}"]
    if await wrong_examples(source, function.docstring, runner):
        removed = next(name for name in names if name not in shortened.input_schema["properties"])
        return draft, [f"{removed!r} has no effect, but an example uses it: remove it, or make it have an effect"]
    arguments = known_arguments(draft.arguments, shortened)
    runner.remember(source, TrialCall(arguments), await runner.run(tool, TrialCall(draft.arguments)))
    for call in calls:
        before = await runner.try_run(tool, call)
        after = await runner.try_run(shortened, replace(call, arguments=known_arguments(call.arguments, shortened)))
        if before is not None and before.ok and (after is None or not after.ok or after.value != before.value):
            return draft, ["the results change without the parameters that seemed to have no effect"]
    return Draft(shortened, function, arguments), [*shortcomings(function, runner.proposal.question, draft.arguments)]


async def wrong_examples(source: str, docstring: str, runner: ProposalRunner) -> list[str]:
    """Run a docstring's examples unchanged, including those that cannot become tests, such as loops.

    Returns:
        A message for the author about each wrong example.
    """
    try:
        examples = [*doctest.DocTestParser().get_examples(docstring), *_commented_examples(docstring)]
    except ValueError:  # misplaced `>>>`
        return []
    if not examples or runner.file_parameters or runner.proposal.capabilities.hosts:
        return []
    arguments: dict[str, Json] = {"sources": [example.source for example in examples]}
    [outcome] = await runner.run_each(source + _RUNNING, "_run_examples_of_docstring", [arguments])
    results = outcome.value if outcome is not None and isinstance(outcome.value, list) else []
    return [
        f"the docstring's example `{example.source.strip():.200}` must give {example.want.strip()!r:.200}; {got:.300}"
        for example, result in zip(examples, results, strict=False)
        if (got := _difference(example, result))
    ]


def _commented_examples(docstring: str) -> Iterator[doctest.Example]:
    """Yield examples written as a call and a comment, such as `area(2, 3)  # 6`."""
    for match in _COMMENTED.finditer(docstring):
        try:
            ast.parse(match[1], mode="eval")
            read_value(match[2])
        except (ValueError, SyntaxError, RecursionError, MemoryError):  # an ordinary comment
            continue
        yield doctest.Example(f"{match[1]}\n", f"{match[2]}\n")


def _difference(example: doctest.Example, result: Json) -> str:
    """Say what an example gives instead of the documented result; empty if both agree."""
    match result:
        case [str(printed), str(raised)]:
            pass
        case _:
            return "it ended without a result"
    if raised or example.exc_msg is not None:
        expected = (example.exc_msg or "").partition(":")[0].strip()
        return "" if raised.partition(":")[0] == expected else raised or f"it gives {printed.strip()}"
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    if not example.want or doctest.OutputChecker().check_output(example.want, printed, flags):
        return ""
    try:
        if agree(read_value(printed), read_value(example.want)):
            return ""
    except ValueError:  # not literals
        pass
    return f"it gives {printed.strip()}" if printed.strip() else "it gives nothing"
