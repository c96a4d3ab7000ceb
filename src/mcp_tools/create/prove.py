"""Proves a tool that a model proposes, its code with the arguments of a question, and keeps it.

The code's own signature and docstring are its spec. What is kept is what was written; only parameters that change no
result are taken out. A proposal that is not kept still answers the question, and says what to mend.
"""

from __future__ import annotations

import ast
import asyncio
import datetime
import json
from collections.abc import Sequence
from dataclasses import replace

from mcp_tools.checks.check import check
from mcp_tools.create import trial
from mcp_tools.create.documented_function import read_function
from mcp_tools.create.examiner import failure_text, passes
from mcp_tools.create.interfaces import (
    Creation,
    CreationChoice,
    Examiner,
    Proposal,
    RefusedToolError,
    Tell,
    Test,
    ToolStore,
    TrialCall,
)
from mcp_tools.create.mutants import mutants
from mcp_tools.create.proposal_runner import ProposalRunner, fitted, misfits, without_absent
from mcp_tools.create.question_template import remembered
from mcp_tools.create.same_answer import agree
from mcp_tools.create.sample_files import usable, writable
from mcp_tools.create.shortcomings import shortcomings
from mcp_tools.create.trial import Draft
from mcp_tools.errors import AlitaError, LibraryError
from mcp_tools.header import with_header
from mcp_tools.hosts import EXCHANGES, Carry
from mcp_tools.library.arguments import validate_result
from mcp_tools.library.dependencies import Needs, needs_of
from mcp_tools.prompt import prompts_hash
from mcp_tools.sandbox.protocol import Limits, Outcome, Problem, Sandbox
from mcp_tools.tool import Status, Tool

_CRASHES_TOLD = 3
_NEIGHBOURS = 4
_UNREADABLE = frozenset({"size", "encoding", "hidden-characters", "parses", "nesting"})
"""Rules without which a source is not even looked into."""
_MUTANT_SECONDS = 1.0
_MUTANTS = 6
_MOST_MUTANTS = 30
"""Tried while the tests catch fewer than half of them."""
_SURVIVORS_SHOWN = 3
_TIMES_THE_TOOL = 3
"""How much longer than the tool a mutant may take before it counts as hanging."""


class NotProvedError(AlitaError):
    """A stage of the proof found something to mend."""

    def __init__(self, problems: Sequence[str], choice: CreationChoice = "not_kept") -> None:
        super().__init__(_listed(problems))
        self.choice = choice


async def prove(
    proposal: Proposal,
    *,
    examiner: Examiner,
    sandbox: Sandbox,
    library: ToolStore,
    tell: Tell,
    carry: Carry | None = None,
) -> Creation:
    """Proves the proposed tool and keeps it, or says why not; the question is answered either way.

    Args:
        proposal: The code and the arguments of the question.
        examiner: Writes tests from the definition. The same one for all proposals of a run: it remembers what it said.
        sandbox: Where everything runs.
        library: Where a tool that does the same may be, and where the new one is kept.
        tell: Is told what happens.
        carry: Answers the requests of the question's own call. All other calls get the responses that it got.

    Returns:
        The tool as it is kept, or an equivalent one of the library; else the result, with the reason why none is kept.
    """
    report = check(proposal.code, capabilities=proposal.capabilities, function=proposal.name or None)
    tell(report)
    findings = [*map(str, report.findings)]
    function = None
    if _UNREADABLE.isdisjoint(finding.rule for finding in report.findings):
        function = read_function(proposal.code, proposal.name, proposal.capabilities)
    if function is None:
        return Creation(proposal.arguments, None, "not_kept", _listed(findings))

    runner = ProposalRunner(proposal, sandbox)
    tool = await runner.describe(function)
    arguments = proposal.arguments
    if isinstance(tool, Tool):
        arguments = without_absent(arguments, tool.input_schema)
    tell(function.spec)
    call, seconds = TrialCall(arguments), proposal.capabilities.seconds or Limits().wall_seconds
    first = await runner.run_first(function.spec.name, call, seconds, carry)
    runner.remember(proposal.code, call, first)
    tell(first)

    problems = [*findings, *shortcomings(function, proposal.question, proposal.arguments)]
    if isinstance(tool, Problem):
        problems.append(f"no schema could be derived: {tool.message}")
    else:
        problems += misfits(tool, arguments)
    if first.problem is not None:
        failure = f"{function.spec.name} fails with the question's own arguments: {first.problem.message}"
        problems.insert(0, f"{failure}\n{first.problem.traceback}".strip())
    if problems or isinstance(tool, Problem):
        return Creation(arguments, None, "not_kept", _listed(problems), first)
    try:
        return await _proved(Draft(tool, function, arguments), first, runner, examiner, library, tell)
    except NotProvedError as failed:
        return Creation(arguments, None, failed.choice, failed.message, first)


async def _proved(
    draft: Draft, first: Outcome, runner: ProposalRunner, examiner: Examiner, library: ToolStore, tell: Tell
) -> Creation:
    """Takes a draft whose definition is in order, and whose question is answered, through the stages of the proof.

    Raises:
        NotProvedError: A stage failed.
    """
    _require_none(validate_result(draft.tool, first.value))

    # Look first.
    varied, edges = trial.other_calls(draft, runner.file_parameters)
    same, rejected = await _equivalent(draft, varied, runner, library)
    if same is not None:
        reason = f"{same.name} of the library gives the same results"
        return Creation(draft.arguments, same, "reuse", reason, first)

    # Tests: the docstring's examples and the examiner's.
    examples = await _examples(draft, varied, runner)
    tests = await _examiners_tests(draft, [*varied, *edges], runner, examiner)

    # Trial.
    crashed = await trial.crashes(draft, [*varied, *edges, *(test.call for test in tests)], runner)
    tests = [test for test in tests if test.call.key not in crashed]
    suite, failures = await trial.examine(draft, tests, runner, examiner, tell)
    problems = [*[*crashed.values()][:_CRASHES_TOLD], *failures]
    tested = [test.arguments for test in suite]
    suite = [*(test for test in examples if test.arguments not in tested), *suite]
    if runner.exchanges and all(test.arguments != draft.arguments for test in suite):
        because = "what its hosts answered when it was made"
        suite.append(Test(draft.arguments, first.value, "recorded", because=because))
    calls = [*(test.call for test in suite if not test.raises), TrialCall(draft.arguments), *varied]

    # Repair.
    if not failures:
        draft, idle = await trial.without_idle_parameters(draft, calls, runner, tell)
        problems += idle
        suite = [replace(test, arguments=fitted(test.arguments, draft.tool)) for test in suite]
        calls = [replace(call, arguments=fitted(call.arguments, draft.tool)) for call in calls]

    # Proof.
    outcomes = [await runner.try_run(draft.tool, call) for call in calls]
    _require_none([*problems, *_wrong_results(draft.tool, outcomes, runner)])
    slowest = max(outcome.seconds for outcome in outcomes if outcome is not None and outcome.ok)
    tried, survivors = await _try_mutants(draft.tool, suite, slowest, runner)
    killed = tried - len(survivors)
    if 2 * killed < tried:
        _require_none([_weakness(draft.tool, killed, tried, survivors)])

    # Register.
    proposal = runner.proposal
    final = proposal.final or ("{}" if isinstance(first.value, int | str) else "")
    provenance = {
        **draft.tool.provenance,
        "asked": None if proposal.files else remembered(proposal.question, draft.arguments, final),
        "tests": [test.as_json() for test in suite],
        **({EXCHANGES: [*runner.exchanges]} if runner.exchanges else {}),
        "evidence": {"tests": len(suite), "runs": runner.runs, "mutants": tried, "killed": killed},
        "model": proposal.model,
        "examiner": examiner.name,
        "prompts": prompts_hash("mcp_tools.create"),
        "run": proposal.run_id,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "rejected": rejected,
    }
    source = with_header(draft.tool.source, draft.tool.capabilities)
    try:
        tool = await library.register(replace(draft.tool, source=source, provenance=provenance))
    except LibraryError as problem:
        refused = isinstance(problem, RefusedToolError)
        raise NotProvedError([str(problem)], "refused" if refused else "not_kept") from None
    reason = f"{len(suite)} tests pass, they catch {killed} of {tried} broken versions"
    return Creation(draft.arguments, tool, "create", reason, first)


def _require_none(problems: Sequence[str]) -> None:
    if problems:
        raise NotProvedError(problems)


def _listed(problems: Sequence[str]) -> str:
    return "\n".join(f"- {problem}" for problem in problems)


async def _equivalent(
    draft: Draft, varied: Sequence[TrialCall], runner: ProposalRunner, library: ToolStore
) -> tuple[Tool | None, list[str]]:
    """A tool that takes the same arguments and gives the same results, also in its own tests; why others do not."""
    spec = draft.function.spec
    rejected = []
    for tool in await library.search(f"{spec.name.replace('_', ' ')} {spec.purpose}", _NEIGHBOURS):
        if tool.status is not Status.VERIFIED:
            rejected.append(f"{tool.name}: {tool.status}")
            continue
        if unfit := misfits(tool, draft.arguments):
            rejected.append(f"{tool.name}: takes other arguments ({unfit[0]:.80})")
            continue
        tests = tool.provenance.get("tests") or []
        try:
            needs = await needs_of(tool.capabilities.tools, library.get, of=tool.name)
        except LibraryError as lacking:
            rejected.append(f"{tool.name}: {lacking.message}")
            continue
        own = [TrialCall(test["arguments"]) for test in tests if "arguments" in test and "files" not in test]
        if await _gives_the_same(tool, draft.tool, [TrialCall(draft.arguments), *varied, *own], runner, needs):
            return tool, rejected
        rejected.append(f"{tool.name}: gives other results")
    return None, rejected


async def _gives_the_same(
    tool: Tool, draft: Tool, calls: Sequence[TrialCall], runner: ProposalRunner, needs: Needs
) -> bool:
    results = set()
    for call in calls:
        ours = await runner.try_run(draft, call)
        if ours is None:
            return False
        theirs = await runner.run_fresh(tool.source, tool.name, call, needs=needs)
        if ours.ok != theirs.ok or not (agree(ours.value, theirs.value) and agree(theirs.value, ours.value)):
            return False
        if ours.ok:
            results.add(json.dumps(ours.value, sort_keys=True))
    return len(results) > 1


async def _examples(draft: Draft, varied: Sequence[TrialCall], runner: ProposalRunner) -> list[Test]:
    """The docstring's examples, which must pass; a repeated call must give the same, too."""
    examples = [test for test in draft.function.examples if not misfits(draft.tool, test.arguments)]
    passed, failed = await trial.run_tests(draft, examples, runner)
    problems = [failure_text(draft.tool.name, test, outcome) for test, outcome in failed]
    problems += await trial.depends_on_chance(draft, [*(test.call for test in passed), *varied], runner)
    _require_none(problems)
    return passed


async def _examiners_tests(
    draft: Draft, calls: Sequence[TrialCall], runner: ProposalRunner, examiner: Examiner
) -> list[Test]:
    """The examiner's tests, as far as they fit the schemas. While they are written, the calls are made."""
    files = runner.proposal.files if runner.file_parameters else ()
    if strange := [path.name for path in files if not writable(path)]:
        _require_none(
            [f"no test can bring a file such as {strange[0]}: let the tool take what a program reads from it"]
        )

    async def asked() -> list[Test] | NotProvedError:
        try:
            tests = await examiner.tests(draft.function.definition, draft.tool, files)
        except AlitaError as failure:  # the result is there, whatever becomes of the examiner
            return NotProvedError([f"it could not be examined: {failure.message}"], "unexamined")
        if isinstance(tests, str):
            return NotProvedError([f"the examiner sees nothing here that other questions need: {tests}"], "one_off")
        return tests

    async def made() -> None:
        for call in calls:
            await runner.try_run(draft.tool, call)

    tests, _ = await asyncio.gather(asked(), made())
    if isinstance(tests, NotProvedError):
        raise tests
    tests = [test for test in tests if usable(test.files) and not misfits(draft.tool, test.arguments)]
    tests = [test for test in tests if test.raises or not validate_result(draft.tool, test.expected)]
    if all(test.raises or test.arguments == draft.arguments for test in tests) and not runner.exchanges:
        _require_none(["the examiner found no test with other arguments than the question's"])
    return tests


def _wrong_results(tool: Tool, outcomes: Sequence[Outcome | None], runner: ProposalRunner) -> list[str]:
    """What is wrong with the results of all calls. Two must differ, unless hosts answered only one call."""
    good = [outcome.value for outcome in outcomes if outcome is not None and outcome.ok]
    misfit = [f"a result is not what it promises: {text}" for value in good for text in validate_result(tool, value)]
    problems = [*dict.fromkeys(misfit)]
    if runner.exchanges:
        return problems
    if len(good) < 2:
        why = next((o.problem.message for o in outcomes if o is not None and o.problem is not None), "")
        problems.append(f"it fails with all other arguments that were tried: {why:.300}")
    elif len({json.dumps(value, sort_keys=True) for value in good}) < 2:
        problems.append(f"all of its {len(good)} successful runs with different arguments give the same result")
    return problems


async def _try_mutants(
    tool: Tool, suite: Sequence[Test], slowest: float, runner: ProposalRunner
) -> tuple[int, list[str]]:
    """Return the number of mutants that were tried, and those that pass every test.

    Careful code has many places, such as limits and guards, whose change no result shows: more are tried while fewer
    than half fail a test.
    """
    seconds = _MUTANT_SECONDS + _TIMES_THE_TOOL * slowest
    tried, survivors = 0, list[str]()
    for version in mutants(tool.source, count=_MOST_MUTANTS):
        if tried >= _MUTANTS and 2 * len(survivors) <= tried:
            break
        tried += 1
        for test in suite:
            if not passes(test, await runner.run_fresh(version, tool.name, test.call, seconds)):
                break
        else:
            survivors.append(version)
    return tried, survivors


def _weakness(tool: Tool, killed: int, tried: int, survivors: Sequence[str]) -> str:
    """The verdict on weak tests, with bugs for the author to write examples against."""
    lines = ast.unparse(ast.parse(tool.source)).splitlines()
    changes = [
        next(
            f"  `{old.strip()}` -> `{new.strip()}`"
            for old, new in zip(lines, version.splitlines(), strict=False)
            if old != new
        )
        for version in survivors[:_SURVIVORS_SHOWN]
    ]
    only = "only " if killed else ""
    return "\n".join(
        [
            f"Weak tests: caught {only}{killed} of {tried} deliberate bugs.",
            "  Add examples to the docstring that fail with bugs such as these, which no test noticed:",
            *changes,
        ]
    )
