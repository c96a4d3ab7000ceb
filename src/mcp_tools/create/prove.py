"""Proves proposed code and keeps it as a tool.

The code's signature and docstring are its spec. The code is kept as written, except that parameters that change no
result are removed. If the proof fails, the question still gets the code's result, and the author learns what to fix.
"""

from __future__ import annotations

import asyncio
import datetime
import json
from collections.abc import Sequence
from dataclasses import replace

from mcp_tools.checks.check import check
from mcp_tools.checks.header import with_header
from mcp_tools.create import trial
from mcp_tools.create.comparison import compare, near_misses, outside_of_returns, random_calls
from mcp_tools.create.documented_function import read_function
from mcp_tools.create.examiner import failure_text
from mcp_tools.create.interfaces import (
    Creation,
    CreationChoice,
    Examiner,
    Notify,
    Proposal,
    RefusedToolError,
    Test,
    ToolStore,
    TrialCall,
)
from mcp_tools.create.mutation_testing import MAX_SURVIVORS_SHOWN, changed_lines, try_mutants, weakness
from mcp_tools.create.proposal_runner import ProposalRunner, known_arguments, misfits, without_absent
from mcp_tools.create.sample_files import usable, writable
from mcp_tools.create.shortcomings import shortcomings
from mcp_tools.create.similar_tools import compare_with_library
from mcp_tools.create.trial import Draft, wrong_examples
from mcp_tools.errors import AlitaError, LibraryError, StoppedError
from mcp_tools.hosts import EXCHANGES, Carry
from mcp_tools.library.arguments import validate_result
from mcp_tools.library.question_template import question_record
from mcp_tools.library.tool_files import renamed
from mcp_tools.prompt import prompts_hash
from mcp_tools.sandbox.protocol import Limits, Outcome, Problem, Sandbox
from mcp_tools.text import one_line
from mcp_tools.tool import ALIASES, WRAPS, Tool

_MAX_CRASHES_SHOWN = _MAX_UNUSED_SHOWN = 3
_TESTABLE = "a test is one call with valid literal arguments, or a part of its result, and the literal result to expect"
_UNREADABLE = frozenset({"size", "encoding", "hidden-characters", "parses", "nesting"})
"""Checks that must pass before the source is read any further."""
_STRONG, _WEAK = 0.75, 0.5
"""Shares of mutants that the tests catch. Below `_STRONG`, the author is asked once for more examples; below `_WEAK`,
the tool becomes a draft."""


class NotProvedError(AlitaError):
    """A stage of the proof found a problem."""

    def __init__(self, problems: Sequence[str], choice: CreationChoice = "not_kept") -> None:
        super().__init__(_bullets(problems))
        self.choice = choice


async def prove(
    proposal: Proposal,
    *,
    examiner: Examiner,
    sandbox: Sandbox,
    library: ToolStore,
    notify: Notify,
    carry: Carry | None = None,
) -> Creation:
    """Prove a proposed tool, and add it to the library.

    Args:
        proposal: The code, and the arguments that answer the question.
        examiner: Writes tests from the definition. All proposals of a run share one examiner, which keeps its rulings.
        sandbox: Runs all code.
        library: Keeps the tool, or already has an equivalent one.
        notify: Called with each step.
        carry: Sends the requests of the question's own call. Later calls get the recorded responses.

    Returns:
        The question's own result, with the new tool or an equivalent existing one, or the reason why there is no tool.

    Example:
        >>> proposal = Proposal("What is the area of a 2 by 3 rectangle?", code, {"width": 2, "height": 3})
        >>> creation = await prove(proposal, examiner=examiner, sandbox=sandbox, library=library, notify=print)
        >>> creation.value, creation.choice
        (6, 'create')
    """
    may, code = proposal.capabilities, proposal.code
    report = await asyncio.to_thread(check, code, capabilities=may, function=proposal.name or None)
    notify(report)
    findings = [*map(str, report.findings)]
    function = None
    if _UNREADABLE.isdisjoint(finding.rule for finding in report.findings):
        function = await asyncio.to_thread(read_function, code, proposal.name, may)
    if function is None:
        return Creation(proposal.arguments, None, "not_kept", _bullets(findings))

    runner = ProposalRunner(proposal, sandbox)
    tool = await runner.describe(function)
    arguments = proposal.arguments
    if isinstance(tool, Tool):
        arguments = without_absent(arguments, tool.input_schema)
    notify(function.spec)
    call, seconds = TrialCall(arguments), proposal.capabilities.seconds or Limits().wall_seconds
    first = await runner.run_first(function.spec.name, call, seconds, carry)
    runner.remember(proposal.code, call, first)
    notify(first)

    problems = [*findings, *shortcomings(function, proposal.question, proposal.arguments)]
    if isinstance(tool, Problem):
        problems.append(f"no schema could be derived: {tool.message}")
    else:
        problems += misfits(tool, arguments)
        if (wraps := proposal.wraps) and wraps.requirement not in tool.capabilities.packages:
            problems.append(f"it does not import {wraps.label}, which it must wrap")
    if first.problem is not None:
        failure = f"{function.spec.name} fails with the question's own arguments: {first.problem.message}"
        problems.insert(0, f"{failure}\n{first.problem.traceback}".strip())
    if problems or isinstance(tool, Problem):
        return Creation(arguments, None, "not_kept", _bullets(problems), first)
    try:
        return await _proved(Draft(tool, function, arguments), first, runner, examiner, library, notify)
    except NotProvedError as failed:
        return Creation(arguments, None, failed.choice, failed.message, first)


async def _proved(
    draft: Draft, first: Outcome, runner: ProposalRunner, examiner: Examiner, library: ToolStore, notify: Notify
) -> Creation:
    """Run the stages of the proof on a draft with a valid definition, after its own call succeeded.

    Raises:
        NotProvedError: A stage failed.
    """
    _require_none(validate_result(draft.tool, first.value))
    proposed = draft.tool.name

    # Compare with the library.
    varied, edges = trial.other_calls(draft, runner.file_parameters)
    similar = await compare_with_library(draft, varied, runner, library)
    if (same := similar.same) is not None:
        if draft.tool.name != same.name:
            same = await library.merge(same, draft.tool.name)
        reason = f"the library tool {same.name} gives the same results"
        return Creation(draft.arguments, same, "reuse", reason, first)
    if (older := similar.older) is not None and draft.tool.name != older.name:
        draft = await _renamed(draft, older.name, first, runner)

    # Collect tests: the docstring's examples, the examiner's tests, and random calls for its slow version.
    examples = await _examples(draft, varied, runner, notify)
    tests = await _examiners_tests(draft, [*varied, *edges], runner, examiner, bool(examples), notify)
    is_examined = tests is not None
    tests = tests or []
    reference = "" if runner.file_parameters or runner.exchanges else examiner.reference(draft.function.definition)
    drawn = await random_calls(draft, reference, runner, notify)
    near = near_misses(draft.function, draft.arguments) if not runner.file_parameters else []

    # Run the tests.
    await runner.run_together(draft.tool, [*drawn, *(one.call for one in near), *(test.call for test in tests)])
    others = [*varied, *edges, *drawn]
    crashed = await trial.crashes(draft, [*others, *(test.call for test in tests)], runner)
    tests = [test for test in tests if test.call.key not in crashed]
    known, _ = await trial.run_tests(draft, tests, runner)
    compared = await compare(
        draft, [TrialCall(draft.arguments), *others], near, [*examples, *known], reference, runner, notify
    )
    tests += [test for test in compared.disputed if test.call.key not in crashed]
    tests += await _result_outside_limits(draft, runner)
    suite, failures = await trial.examine(draft, tests, runner, examiner, notify, is_examined)
    problems = [*[*crashed.values()][:_MAX_CRASHES_SHOWN], *failures]
    tested = {test.key for test in suite}
    suite = [*(test for test in examples if test.key not in tested), *suite]
    tested = {test.key for test in suite}
    suite += [test for test in similar.tests if test.origin != "recorded" and test.key not in tested]
    if runner.exchanges and all(test.arguments != draft.arguments for test in suite):
        because = "what its hosts answered when it was made"
        suite.append(Test(draft.arguments, first.value, "recorded", because=because))
    calls, agreed = (
        [*(test.call for test in suite if not test.raises), TrialCall(draft.arguments), *varied],
        compared.agreed,
    )

    # Remove parameters without effect.
    if not failures:
        draft, idle = await trial.without_idle_parameters(draft, calls, runner, notify)
        problems += idle
        suite, agreed = ([_fitted(test, draft.tool) for test in some] for some in (suite, agreed))
        calls = [replace(call, arguments=known_arguments(call.arguments, draft.tool)) for call in calls]

    # Try mutants.
    outcomes = [await runner.try_run(draft.tool, call) for call in calls]
    _require_none([*problems, *_wrong_results(draft.tool, outcomes, runner)])
    slowest = max(outcome.seconds for outcome in outcomes if outcome is not None and outcome.ok)
    tried, survivors, killers = await try_mutants(draft.tool, suite, agreed, slowest, runner)
    suite += killers
    killed, proposal = tried - len(survivors), runner.proposal
    is_draft = not is_examined or killed < _WEAK * tried
    wanted = _STRONG if proposal.attempt == 1 and len(survivors) >= MAX_SURVIVORS_SHOWN else _WEAK
    if killed < wanted * tried and proposal.attempt < 2:
        _require_none([weakness(draft.tool, killed, tried, survivors)])
    if is_draft and older is not None:
        weak = weakness(draft.tool, killed, tried, survivors) if tried else "only its author tested the new version"
        raise NotProvedError([f"the library tool {older.name} was not replaced: {weak}"])

    # Add it to the library.
    final = proposal.final or ("{}" if isinstance(first.value, int | str) else "")
    provenance = {
        **draft.tool.provenance,
        "asked": None if proposal.files else question_record(proposal.question, draft.arguments, final),
        "tests": [test.as_json() for test in suite],
        **({EXCHANGES: [*runner.exchanges]} if runner.exchanges else {}),
        **({WRAPS: proposal.wraps.label} if proposal.wraps else {}),
        "evidence": {
            "tests": len(suite),
            "runs": runner.runs,
            "mutants": tried,
            "killed": killed,
            "drawn": compared.compared,
        },
        "model": proposal.model,
        "examiner": examiner.name,
        "prompts": prompts_hash("mcp_tools.create"),
        "run": proposal.run_id,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "rejected": similar.rejected,
    }
    if older is not None:
        names = {*older.aliases, proposed} - {older.name}
        provenance |= {ALIASES: sorted(names), "parent_version": older.source_hash}
        provenance["asked"] = provenance["asked"] or older.provenance.get("asked")
    source = with_header(draft.tool.source, draft.tool.capabilities)
    try:
        kept = replace(draft.tool, source=source, provenance=provenance)
        tool = await library.register(kept, replaces=older, is_draft=is_draft)
    except LibraryError as problem:
        refused = isinstance(problem, RefusedToolError)
        raise NotProvedError([str(problem)], "refused" if refused else "not_kept") from None
    reason = f"{len(suite)} tests pass and catch {killed} of {tried} broken versions"
    if compared.compared:
        reason = f"{reason}; {compared.compared} random calls give the results of a slow version"
    missed = tuple(changed_lines(draft.tool, survivors))
    if is_draft:
        why = "" if is_examined else "only its author tested it; "
        reason = f"- {tool.name} is a draft: {why}{reason}; to review it: alita tools approve {tool.name}"
        return Creation(draft.arguments, None, "draft", reason, first, survivors=missed)
    remark = (
        f"It replaces the older version of {tool.name} and passes all tests of that version."
        if older
        else similar.apart
    )
    return Creation(draft.arguments, tool, "create", reason, first, remark, missed)


async def _renamed(draft: Draft, name: str, first: Outcome, runner: ProposalRunner) -> Draft:
    """Return the draft with its function renamed after the tool that it replaces.

    Raises:
        NotProvedError: No schema can be derived.
    """
    source = renamed(draft.tool.source, draft.tool.name, name)
    function = read_function(source, name, runner.proposal.capabilities)
    tool = await runner.describe(function) if function is not None else None
    if function is None or not isinstance(tool, Tool):
        raise NotProvedError(
            [f"the library tool {name} does part of this: propose your function under the name {name}"]
        )
    runner.remember(source, TrialCall(draft.arguments), first)
    return Draft(tool, function, draft.arguments)


def _require_none(problems: Sequence[str]) -> None:
    if problems:
        raise NotProvedError(problems)


def _bullets(problems: Sequence[str]) -> str:
    return "\n".join(f"- {problem}" for problem in problems)


async def _examples(draft: Draft, varied: Sequence[TrialCall], runner: ProposalRunner, notify: Notify) -> list[Test]:
    """Return the docstring's examples as tests.

    Raises:
        NotProvedError: An example fails, or a repeated call gives another result.
    """
    examples = [test for test in draft.function.examples if not misfits(draft.tool, test.arguments)]
    passed, failed = await trial.run_tests(draft, examples, runner)
    lacking = [test for test, outcome in failed if outcome.ok and not _has_part(test, outcome)]
    failed = [(test, outcome) for test, outcome in failed if test not in lacking]
    unused = [*draft.function.unused, *(test.shown(draft.tool.name) for test in lacking)]
    if unused:
        notify(f"these examples cannot be used as tests: {_some(unused)} ({_TESTABLE})")
    problems = [failure_text(draft.tool.name, test, outcome) for test, outcome in failed]
    problems += [] if failed else await wrong_examples(draft.tool.source, draft.function.docstring, runner)
    problems += await trial.depends_on_chance(draft, [*(test.call for test in passed), *varied], runner)
    _require_none(problems)
    return passed


async def _examiners_tests(
    draft: Draft,
    calls: Sequence[TrialCall],
    runner: ProposalRunner,
    examiner: Examiner,
    has_examples: bool,
    notify: Notify,
) -> list[Test] | None:
    """Get the examiner's tests while the given calls run.

    Returns:
        The tests that fit the schemas; None if the examiner fails but the docstring has examples.

    Raises:
        NotProvedError: The examiner finds no use for the tool, or no usable test.
    """
    files = runner.proposal.files if runner.file_parameters else ()
    if strange := [path.name for path in files if not writable(path)]:
        _require_none(
            [f"tests cannot contain a file such as {strange[0]}: let the tool take what a program reads from it"]
        )

    async def ask() -> list[Test] | NotProvedError | None:
        try:
            tests = await examiner.tests(draft.function.definition, draft.tool, files)
        except AlitaError as failure:
            reason = f"it could not be examined: {failure.message}"
            if isinstance(failure, StoppedError) or not has_examples:
                return NotProvedError([reason], "unexamined")
            notify(reason)
            return None
        if isinstance(tests, str):
            return NotProvedError([f"the examiner found nothing here that other questions need: {tests}"], "one_off")
        return tests

    tests, _ = await asyncio.gather(ask(), runner.run_together(draft.tool, calls))
    if isinstance(tests, NotProvedError):
        raise tests
    if tests is None:
        return None
    fitting = [
        test
        for test in tests
        if usable(test.files)
        and not misfits(draft.tool, test.arguments)
        and (test.raises or test.part or not validate_result(draft.tool, test.expected))
    ]
    odd = [test.shown(draft.tool.name, longest=80) for test in tests if test not in fitting]
    unread = [*examiner.unread(draft.function.definition), *odd]
    unusable = f"; {len(unread)} of its tests cannot be used: {_some(unread)} ({_TESTABLE})" if unread else ""
    if unread:
        notify(f"the examiner wrote tests{unusable}")
    if all(test.raises or test.arguments == draft.arguments for test in fitting) and not runner.exchanges:
        _require_none([f"the examiner wrote no usable test with arguments other than the question's{unusable}"])
    return fitting


def _has_part(test: Test, outcome: Outcome) -> bool:
    try:
        test.given(outcome.value)
    except ValueError:
        return False
    return True


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _MAX_UNUSED_SHOWN} more" if len(texts) > _MAX_UNUSED_SHOWN else ""
    return f"{'; '.join(f'`{one_line(text, 150)}`' for text in texts[:_MAX_UNUSED_SHOWN])}{more}"


def _wrong_results(tool: Tool, outcomes: Sequence[Outcome | None], runner: ProposalRunner) -> list[str]:
    """Return the problems with the results of all calls. Unless the tool uses hosts, at least two must differ."""
    good = [outcome.value for outcome in outcomes if outcome is not None and outcome.ok]
    misfit = [
        f"a result does not fit the return type: {text}" for value in good for text in validate_result(tool, value)
    ]
    problems = [*dict.fromkeys(misfit)]
    if runner.exchanges:
        return problems
    if len(good) < 2:
        why = next((o.problem.message for o in outcomes if o is not None and o.problem is not None), "")
        problems.append(f"it fails with all other arguments that were tried: {why:.300}")
    elif len({json.dumps(value, sort_keys=True) for value in good}) < 2:
        problems.append(f"all {len(good)} successful calls with different arguments give the same result")
    return problems


async def _result_outside_limits(draft: Draft, runner: ProposalRunner) -> list[Test]:
    """Return a call with a result outside the limits in Returns, if there is one. The examiner rules on it."""
    for test in runner.results_of(draft.tool):
        if words := outside_of_returns(draft.function, test.expected):
            return [replace(test, expected=None, because=words)]
    return []


def _fitted(test: Test, tool: Tool) -> Test:
    return replace(test, arguments=known_arguments(test.arguments, tool))
