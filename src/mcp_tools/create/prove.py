"""A tool that a model proposes in one go, code and arguments: checked, tried, examined, proved and kept.

The code's own signature and docstring are its spec. What is kept is what was written; only parameters that change no
result are taken out. A proposal that is not kept still answers the question, and says what to mend.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import replace

from mcp_tools.checks.check import check
from mcp_tools.create.bench import TrialCall, fitted, misfits, without_absent
from mcp_tools.create.examiner import told
from mcp_tools.create.interfaces import (
    Creation,
    CreationChoice,
    Examiner,
    Proposal,
    RefusedToolError,
    Shelf,
    Tell,
    Test,
)
from mcp_tools.create.question_template import remembered
from mcp_tools.create.same_answer import agree
from mcp_tools.create.trial import Examination, Trial, fitted_call
from mcp_tools.create.written import read_function
from mcp_tools.errors import LibraryError
from mcp_tools.library.arguments import validate_result
from mcp_tools.packages import with_header
from mcp_tools.prompt import prompts_hash
from mcp_tools.sandbox.protocol import Outcome, Problem, Sandbox
from mcp_tools.tool import Json, Status, Tool

_CRASHES_TOLD = 3
_NEIGHBOURS = 4
_UNREADABLE = frozenset({"size", "encoding", "hidden-characters", "parses", "nesting"})
"""Rules without which a source is not even looked into."""


async def prove(proposal: Proposal, *, examiner: Examiner, sandbox: Sandbox, library: Shelf, tell: Tell) -> Creation:
    """Proves the proposed tool and keeps it, or says why not; the question is answered either way.

    Args:
        proposal: The code and the arguments of the question.
        examiner: Writes tests from the definition. The same one for all proposals of a run: it remembers what it said.
        sandbox: Where everything runs.
        library: Where a tool that does the same may be, and where the new one is kept.
        tell: Is told what happens.

    Returns:
        The tool as it is kept, or an equivalent one of the library; else, as `scratch`, the result with the reason.
    """
    report = check(proposal.code, capabilities=proposal.capabilities, function=proposal.name or None)
    tell(report)
    readable = not any(finding.rule in _UNREADABLE for finding in report.findings)
    written = read_function(proposal.code, proposal.name, proposal.capabilities) if readable else None
    if written is None:
        reason = _listed([str(finding) for finding in report.findings])
        return Creation(proposal.arguments, None, "scratch", reason=reason, answered=False)
    proof = _Proof(Trial(proposal, written, sandbox), examiner, library, tell)
    return await proof.result([*map(str, report.findings)])


class _Proof:
    """One proposal on its way to a tool. Each step adds what is to be mended to the problems."""

    def __init__(self, trial: Trial, examiner: Examiner, library: Shelf, tell: Tell) -> None:
        self.trial = trial
        self.examiner = examiner
        self.examination = Examination(trial, examiner, tell)
        self.library = library
        self.tell = tell
        self.rejected: list[str] = []
        self.problems: list[str] = []

    async def result(self, findings: Sequence[str]) -> Creation:
        """The tool, or the value with the reason, after what the checks found."""
        draft, first = await self._first_call(findings)
        if self.problems or draft is None:
            return self._scratch(first)
        varied = self.trial.varied(draft)
        found, self.rejected = await _equivalent(self.trial, draft, varied, self.library)
        if found:
            return self._creation(found, "reuse", first, f"{found.name} of the library gives the same results")
        suite = await self._examples(draft, varied)
        if self.problems:
            return self._scratch(first)
        bare = self.trial.edges()
        tests = await self.examination.tests(draft, [*varied, *bare])
        if isinstance(tests, str):
            self.problems.append(tests)
            return self._scratch(first)
        passed, failed = await self._examined(draft, tests, [*varied, *bare])
        known = [test.arguments for test in passed]
        suite = [*(test for test in suite if test.arguments not in known), *passed]
        calls = [TrialCall(test.arguments, test.files) for test in suite if not test.raises]
        calls += [TrialCall(arguments) for arguments in (self.trial.arguments, *varied)]
        if not failed:
            draft, suite = await self._repaired(draft, suite, calls)
        slowest = await self._results(draft, calls)
        proof = await self._proved(draft, suite, slowest)
        return self._scratch(first) if self.problems else await self._kept(draft, first, suite, proof)

    async def _first_call(self, findings: Sequence[str]) -> tuple[Tool | None, Outcome]:
        trial = self.trial
        self.problems += [*findings, *trial.shortcomings()]
        draft = await trial.drafted()
        if isinstance(draft, Problem):
            self.problems.append(f"no schema could be derived: {draft.message}")
        else:
            trial.arguments = without_absent(trial.arguments, draft.input_schema)
            self.problems += misfits(draft, trial.arguments)
        self.tell(trial.written.spec)
        first = await trial.first()
        self.tell(first)
        if first.problem is not None:
            failure = f"{trial.written.spec.name} fails with the question's own arguments: {first.problem.message}"
            self.problems.insert(0, f"{failure}\n{first.problem.traceback}".strip())
        if isinstance(draft, Problem):
            return None, first
        if not self.problems:
            self.problems += validate_result(draft, first.value)
        return draft, first

    async def _examples(self, draft: Tool, varied: Sequence[dict[str, Json]]) -> list[Test]:
        """The docstring's examples that hold; a second call must give the same, too."""
        examples = [test for test in self.trial.written.examples if not misfits(draft, test.arguments)]
        suite, wrong = await self.examination.tried(draft, examples)
        self.problems += [told(draft.name, test, outcome) for test, outcome in wrong]
        self.problems += await self.trial.depends_on_chance(draft, [*(test.arguments for test in suite), *varied])
        return suite

    async def _examined(
        self, draft: Tool, tests: Sequence[Test], others: Sequence[dict[str, Json]]
    ) -> tuple[list[Test], list[str]]:
        """The examiner's tests that hold, and what the tool does wrong in those that it fails."""
        tried = [TrialCall(test.arguments, test.files) for test in tests]
        crashes = await self.trial.crashes(draft, [*map(TrialCall, others), *tried])
        self.problems += [*crashes.values()][:_CRASHES_TOLD]
        passed, failed = await self.examination.settled(
            draft, [test for test, call in zip(tests, tried, strict=True) if call.key not in crashes]
        )
        self.problems += failed
        return passed, failed

    async def _repaired(
        self, draft: Tool, suite: Sequence[Test], calls: Sequence[TrialCall]
    ) -> tuple[Tool, list[Test]]:
        draft, idle = await self.trial.without_idle(draft, calls, self.tell)
        self.problems += idle
        self.trial.arguments = fitted(self.trial.arguments, draft)
        return draft, [replace(test, arguments=fitted(test.arguments, draft)) for test in suite]

    async def _results(self, draft: Tool, calls: Sequence[TrialCall]) -> float:
        """Looks at what all calls give, of which two must differ; how many seconds the slowest took."""
        outcomes = [await self.trial.bench.run(draft, fitted_call(call, draft)) for call in calls]
        good = [outcome for outcome in outcomes if outcome is not None and outcome.ok]
        self.problems += dict.fromkeys(
            f"a result is not what it promises: {m}" for o in good for m in validate_result(draft, o.value)
        )
        if len(good) < 2:
            why = next((o.problem.message for o in outcomes if o is not None and o.problem is not None), "")
            self.problems.append(f"it fails with all other arguments that were tried: {why:.300}")
        elif len({json.dumps(outcome.value, sort_keys=True) for outcome in good}) < 2:
            self.problems.append(
                f"all of its {len(good)} successful runs with different arguments give the same result"
            )
        return max((outcome.seconds for outcome in good), default=0.0)

    async def _proved(self, draft: Tool, suite: Sequence[Test], slowest: float) -> dict[str, int]:
        bench = self.trial.bench
        proof = {"runs": bench.runs, "mutants": 0, "killed": 0}
        if self.problems:
            return proof
        proof["mutants"], proof["killed"] = await bench.killed(draft, suite, slowest)
        if proof["mutants"] and not proof["killed"]:
            self.problems.append(
                f"the tests catch none of {proof['mutants']} broken versions of the code: they prove nothing"
            )
        return proof

    async def _kept(self, draft: Tool, first: Outcome, suite: Sequence[Test], proof: dict[str, int]) -> Creation:
        proposal = self.trial.proposal
        final = proposal.final or ("{}" if isinstance(first.value, int | str) else "")
        provenance = {
            **draft.provenance,
            "asked": None if proposal.files else remembered(proposal.question, self.trial.arguments, final),
            "tests": [test.as_json() for test in suite],
            "evidence": {"tests": len(suite), **proof},
            "model": proposal.model,
            "examiner": self.examiner.name,
            "prompts": prompts_hash("mcp_tools.create"),
            "run": proposal.run_id,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "rejected": self.rejected,
        }
        try:
            source = with_header(draft.source, draft.capabilities.packages)
            tool = await self.library.register(replace(draft, source=source, provenance=provenance))
        except LibraryError as problem:
            self.problems.append(str(problem))
            return self._scratch(first, refused=isinstance(problem, RefusedToolError))
        reason = f"{len(suite)} tests pass, they catch {proof['killed']} of {proof['mutants']} broken versions"
        return self._creation(tool, "create", first, reason)

    def _scratch(self, first: Outcome, *, refused: bool = False) -> Creation:
        unkept: CreationChoice = "one_off" if self.examination.serves_one_question else "scratch"
        return self._creation(None, "refused" if refused else unkept, first, _listed(self.problems))

    def _creation(self, tool: Tool | None, choice: CreationChoice, first: Outcome, reason: str) -> Creation:
        return Creation(
            self.trial.arguments,
            tool,
            choice,
            first.value,
            reason,
            tuple(self.rejected),
            answered=first.ok,
            seconds=first.seconds,
        )


def _listed(problems: Sequence[str]) -> str:
    return "\n".join(f"- {problem}" for problem in problems)


async def _equivalent(
    trial: Trial, draft: Tool, varied: Sequence[dict[str, Json]], library: Shelf
) -> tuple[Tool | None, list[str]]:
    """A tool that takes the same arguments and gives the same results, also in its own tests; why others do not."""
    spec = trial.written.spec
    rejected = []
    for tool in await library.search(f"{spec.name.replace('_', ' ')} {spec.purpose}", _NEIGHBOURS):
        if tool.status is not Status.VERIFIED:
            rejected.append(f"{tool.name}: {tool.status}")
            continue
        if unfit := misfits(tool, trial.arguments):
            rejected.append(f"{tool.name}: takes other arguments ({unfit[0]:.80})")
            continue
        tests = tool.provenance.get("tests") or []
        own = [test["arguments"] for test in tests if "arguments" in test and "files" not in test]
        if await _same(trial, tool, draft, [trial.arguments, *varied, *own]):
            return tool, rejected
        rejected.append(f"{tool.name}: gives other results")
    return None, rejected


async def _same(trial: Trial, tool: Tool, draft: Tool, sets: Sequence[dict[str, Json]]) -> bool:
    results = set()
    for arguments in sets:
        ours = await trial.bench.run(draft, TrialCall(arguments))
        if ours is None:
            return False
        theirs = await trial.bench.call_anew(tool, arguments)
        if ours.ok != theirs.ok or not (agree(ours.value, theirs.value) and agree(theirs.value, ours.value)):
            return False
        if ours.ok:
            results.add(json.dumps(ours.value, sort_keys=True))
    return len(results) > 1
