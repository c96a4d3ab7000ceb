"""A tool that a model proposes in one go, code and arguments: checked, tried, examined, proved and kept.

The code's own signature and docstring are its spec. What is kept is what was written; only parameters that change no
result are taken out. A proposal that is not kept still answers the question, and says what to mend.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from mcp_tools.checks import Report, check
from mcp_tools.create.examiner import Examiner, agree, passes, told
from mcp_tools.create.form import remembered
from mcp_tools.create.mutants import mutants
from mcp_tools.create.protocol import Candidate, Creation, Request, Shelf, Test, Watcher
from mcp_tools.create.unused import alternatives, without_effect, without_parameter
from mcp_tools.create.variations import variations
from mcp_tools.create.written import Written, read_function, shortcomings
from mcp_tools.definition import definition_of
from mcp_tools.errors import ArgumentsError, LibraryError, ModelFixableError, StoppedError
from mcp_tools.fits import surely_fits
from mcp_tools.library import validate_arguments, validate_result
from mcp_tools.library.trust import SERVED
from mcp_tools.packages import imported
from mcp_tools.prompt import prompts_hash
from mcp_tools.sandbox.protocol import Limits, Outcome, Problem, Sandbox
from mcp_tools.tool import Capabilities, Json, Status, Tool, ToolSpec

_TRIAL = Limits(wall_seconds=5, cpu_seconds=5)
_NEIGHBOURS = 4
_VARIATIONS = 6
_MUTANT_SECONDS = 1.0
_TIMES_THE_TOOL = 3
"""How much longer than the tool a wrong version of it may take before it counts as hanging."""
_MOST_SECONDS = 20.0
"""What the trial runs may take together, beside the tests."""
_UNREADABLE = frozenset({"size", "encoding", "hidden-characters", "parses", "nesting"})
"""Rules without which a source is not even looked into."""
_NOT_SAID = ToolSpec("", "", (), "Any")


@dataclass(frozen=True, slots=True)
class Proposal:
    """Code that is to answer a question and to be kept for others of its kind."""

    question: str
    code: str
    """The whole file: one public function, with what it needs."""
    arguments: dict[str, Json]
    """The arguments that answer the question. A null means that the argument is absent, unless null is a value."""
    name: str = ""
    """The function that is the tool; empty for the one public function."""
    objection: str = ""
    """Why a test that an earlier proposal failed is wrong. The examiner decides."""
    files: tuple[Path, ...] = ()
    data: tuple[Path, ...] = ()
    """What was made of the files for programs, which may be read too."""
    run_id: str = ""
    model: str = ""
    """Who wrote the code, for the provenance."""
    capabilities: Capabilities = field(default_factory=Capabilities)


async def prove(
    proposal: Proposal, *, examiner: Examiner, sandbox: Sandbox, library: Shelf, watcher: Watcher
) -> Creation:
    """Proves the proposed tool and keeps it, or says why not; the question is answered either way.

    Args:
        proposal: The code and the arguments of the question.
        examiner: Writes tests from the definition. The same one for all proposals of a run: it remembers what it said.
        sandbox: Where everything runs.
        library: Where a tool that does the same may be, and where the new one is kept.
        watcher: Is told what happens.

    Returns:
        The tool as it is kept, or an equivalent one of the library; else, as `scratch`, the result with the reason.
    """
    report = check(proposal.code, capabilities=proposal.capabilities, function=proposal.name or None)
    watcher.candidate_checked(Candidate(1, proposal.code, report))
    readable = not any(finding.rule in _UNREADABLE for finding in report.findings)
    written = read_function(proposal.code, proposal.name, proposal.capabilities) if readable else None
    if written is None:
        return _scratch(_NOT_SAID, proposal, None, _findings(report))
    return await _Trial(proposal, written, report, examiner, sandbox, library, watcher).result()


class _Trial:
    """One proposal on its way to a tool."""

    def __init__(
        self,
        proposal: Proposal,
        written: Written,
        report: Report,
        examiner: Examiner,
        sandbox: Sandbox,
        library: Shelf,
        watcher: Watcher,
    ) -> None:
        self.proposal = proposal
        self.written = written
        self.report = report
        self.examiner = examiner
        self.sandbox = sandbox
        self.library = library
        self.watcher = watcher
        self.source = proposal.code
        self.arguments = proposal.arguments
        self.rejected: list[str] = []
        self._request = Request(
            proposal.question,
            files=proposal.files,
            data=proposal.data,
            run_id=proposal.run_id,
            capabilities=proposal.capabilities,
        )
        self._known: dict[str, Outcome] = {}
        self._seconds = 0.0

    async def result(self) -> Creation:
        """The tool, or the value with the reason."""
        problems = [*_findings(self.report), *shortcomings(self.written)]
        draft = await self._drafted()
        if isinstance(draft, Problem):
            problems.append(f"no schema could be derived: {draft.message}")
        else:
            self.arguments = _without_absent(self.arguments, draft.input_schema)
            problems += _misfits(draft, self.arguments)
        self.watcher.spec_written(self.written.spec, self.arguments)
        seconds = self.proposal.capabilities.seconds or Limits().wall_seconds
        limits = Limits(wall_seconds=seconds, cpu_seconds=seconds)
        job = self._request.job(self.source, self.written.spec.name, self.arguments, limits)
        first = await self.sandbox.run(job)
        self._known[_key(self.arguments)] = first
        self.watcher.trial_finished(Candidate(1, self.source, self.report, (first,)))
        if first.problem is not None:
            problems.insert(0, _failure(self.written.spec, first.problem))
        if problems or isinstance(draft, Problem):
            return self._scratch(first, problems)
        problems += validate_result(draft, first.value)
        return await self._judged(draft, first, problems)

    async def _drafted(self) -> Tool | Problem:
        """The tool as its own definition has it, not yet proved."""
        declared = self.proposal.capabilities
        packages = imported(self.source, declared.packages)
        described = await self.sandbox.describe(self.source, self.written.spec.name, packages=packages)
        if isinstance(described, Problem):
            return described
        reads = declared.read and bool(self._paths())
        capabilities = replace(declared, packages=packages, read=reads)
        draft = Tool(
            described.name,
            described.description,
            described.input_schema,
            described.output_schema,
            self.source,
            status=Status.VERIFIED,
            provenance={"capabilities": asdict(capabilities)},
        )
        title = {"title": described.name.replace("_", " ").capitalize()}
        return replace(draft, annotations={**title, **definition_of(draft)["annotations"]})

    async def _judged(self, draft: Tool, first: Outcome, problems: list[str]) -> Creation:
        """Looks for the tool in the library, examines it, and keeps it if nothing speaks against it."""
        varied = [arguments for arguments in self._varied(draft) if not _misfits(draft, arguments)]
        if found := await self._equivalent(draft, varied):
            reason = f"{found.name} of the library gives the same results"
            return Creation(
                self.written.spec, self.arguments, found, "reuse", first.value, reason, tuple(self.rejected)
            )
        tests = await self._examined(draft, varied)
        if isinstance(tests, str):
            return self._scratch(first, [*problems, tests])
        suite, failed = await self._settled(draft, tests)
        problems += failed
        bases = [self.arguments, *(test.arguments for test in suite if not test.raises), *varied]
        if not failed:
            draft, idle = await self._without_idle(draft, bases)
            problems += idle
            suite = [replace(test, arguments=_fitted(test.arguments, draft)) for test in suite]
            self.arguments = _fitted(self.arguments, draft)
        outcomes = [await self._run(draft, _fitted(base, draft)) for base in bases]
        good = [outcome for outcome in outcomes if outcome is not None and outcome.ok]
        problems += dict.fromkeys(
            f"a result is not what it promises: {m}" for o in good for m in validate_result(draft, o.value)
        )
        if len({json.dumps(outcome.value, sort_keys=True) for outcome in good}) < 2:
            problems.append(f"all of its {len(good)} successful runs with different arguments give the same result")
        proof = {"runs": len(self._known), "mutants": 0, "killed": 0}
        if not problems:
            proof["mutants"], proof["killed"] = await self._killed(
                draft, suite, max(outcome.seconds for outcome in good)
            )
            if proof["mutants"] and not proof["killed"]:
                problems.append(
                    f"the tests fail none of {proof['mutants']} wrong versions of the code: they prove nothing"
                )
        if problems:
            return self._scratch(first, problems)
        return await self._kept(draft, first, suite, proof)

    # Runs

    async def _run(self, tool: Tool, arguments: dict[str, Json]) -> Outcome | None:
        """A trial run; None for arguments that the schema does not take, and for one run too many."""
        if _key(arguments) not in self._known and (self._seconds > _MOST_SECONDS or _misfits(tool, arguments)):
            return None
        return await self._outcome(tool, arguments)

    async def _outcome(self, tool: Tool, arguments: dict[str, Json]) -> Outcome:
        """What a call gives; each is made once."""
        key = _key(arguments)
        if key not in self._known:
            self._known[key] = await self.sandbox.run(self._request.job(tool.source, tool.name, arguments, _TRIAL))
            self._seconds += self._known[key].seconds
        return self._known[key]

    def _paths(self) -> list[str]:
        """The parameters that take an attached file, for which there is no second one to try."""
        paths = {str(path) for path in self.proposal.files}
        return [name for name, value in self.arguments.items() if isinstance(value, str) and value in paths]

    def _varied(self, draft: Tool) -> list[dict[str, Json]]:
        """Other arguments of the same shape: near ones, and each choice of the schema once."""
        fixed = self._paths()
        free = {name: value for name, value in self.arguments.items() if name not in fixed}
        sets = [{**self.arguments, **near} for near in variations(free, count=_VARIATIONS)]
        for name, schema in draft.input_schema["properties"].items():
            if "enum" in schema or schema.get("type") == "boolean":
                given = self.arguments.get(name, schema.get("default"))
                sets += [{**self.arguments, name: other} for other in alternatives(given, schema)]
        return sets

    async def _equivalent(self, draft: Tool, varied: Sequence[dict[str, Json]]) -> Tool | None:
        """A tool of the library that takes the same arguments and gives the same results, also in its own tests."""
        spec = self.written.spec
        for tool in await self.library.search(f"{spec.name.replace('_', ' ')} {spec.purpose}", _NEIGHBOURS):
            if tool.status not in SERVED:
                self.rejected.append(f"{tool.name}: {tool.status}")
                continue
            if misfits := _misfits(tool, self.arguments):
                self.rejected.append(f"{tool.name}: takes other arguments ({misfits[0]:.80})")
                continue
            tests = tool.provenance.get("tests") or []
            own = [test["arguments"] for test in tests if isinstance(test, dict) and "arguments" in test]
            if await self._same(tool, draft, [self.arguments, *varied, *own]):
                return tool
            self.rejected.append(f"{tool.name}: gives other results")
        return None

    async def _same(self, tool: Tool, draft: Tool, sets: Sequence[dict[str, Json]]) -> bool:
        results = set()
        for arguments in sets:
            ours = await self._run(draft, arguments)
            if ours is None:
                return False
            theirs = await self.sandbox.run(self._request.job(tool.source, tool.name, arguments, _TRIAL))
            if ours.ok != theirs.ok or (ours.ok and not agree(ours.value, theirs.value)):
                return False
            if ours.ok:
                results.add(json.dumps(ours.value, sort_keys=True))
        return len(results) > 1

    # Tests

    async def _examined(self, draft: Tool, varied: Sequence[dict[str, Json]]) -> list[Test] | str:
        """The examiner's tests, written while the variations run; in words why there are none."""

        async def runs() -> None:
            for arguments in varied:
                await self._run(draft, arguments)

        tests, _ = await asyncio.gather(self._tests(draft), runs())
        return tests

    async def _tests(self, draft: Tool) -> list[Test] | str:
        if self._paths():
            return "no tests can be written for a tool that opens files: let it take their content as a parameter"
        try:
            tests = await self.examiner.tests(self.written.text, draft)
        except (ModelFixableError, StoppedError) as failure:
            return f"it could not be examined: {failure.message}"
        usable = [replace(test, arguments=_without_absent(test.arguments, draft.input_schema)) for test in tests]
        usable = [test for test in usable if not _misfits(draft, test.arguments)]
        usable = [test for test in usable if test.raises or not validate_result(draft, test.expected)]
        others = [test for test in usable if not test.raises and test.arguments != self.arguments]
        return usable if others else "the examiner found no test with other arguments than the question's"

    async def _settled(self, draft: Tool, tests: Sequence[Test]) -> tuple[list[Test], list[str]]:
        """The tests that hold, and what the tool does wrong in those that it fails."""
        suite, disputed = [], []
        for test in tests:
            outcome = await self._outcome(draft, test.arguments)
            if passes(test, outcome):
                suite.append(test if test.raises else replace(test, expected=outcome.value))
            else:
                disputed.append((test, outcome))
        if not disputed:
            return suite, []
        try:
            again = await self.examiner.look_again(
                self.written.text, draft, [test for test, _ in disputed], self.proposal.objection
            )
        except (ModelFixableError, StoppedError) as failure:
            self.watcher.note(f"the examiner did not look again: {failure.message}")
            again = [test for test, _ in disputed]
        failed = []
        for (test, outcome), now in zip(disputed, again, strict=True):
            if now is not None and passes(now, outcome):
                suite.append(now if now.raises else replace(now, expected=outcome.value))
            elif now is not None and now.raises == test.raises and agree(now.expected, test.expected):
                failed.append(told(draft.name, test, outcome))
            else:
                self.watcher.note(
                    f"a test is dropped, the examiner was not sure of it: {told(draft.name, test, outcome)}"
                )
        if failed:
            failed.append("mend the code or the docstring; or say as objection why a test is wrong, and propose again")
        elif not any(not test.raises and test.arguments != self.arguments for test in suite):
            failed.append("no test with other arguments was left: state in the docstring what such calls give")
        return suite, failed

    async def _without_idle(self, draft: Tool, bases: Sequence[dict[str, Json]]) -> tuple[Tool, list[str]]:
        """The tool without parameters that change no result, and what stands in the way of taking one out."""

        async def run(arguments: dict[str, Json]) -> Outcome | None:
            return await self._run(draft, arguments)

        problems = []
        for name in await without_effect(draft.input_schema, bases, run, fixed=self._paths()):
            shorter = without_parameter(self.source, draft.name, name)
            if shorter is None:
                problems.append(
                    f"{name!r} changed no result in the trial: take it out, or say in the docstring where it does"
                )
                continue
            self.watcher.note(f"taken out: {name}, which changes no result")
            self.source = shorter
        if problems or self.source == draft.source:
            return draft, problems
        written = read_function(self.source, draft.name, self.proposal.capabilities)
        again = await self._drafted()
        assert written is not None
        if isinstance(again, Problem):
            return draft, [f"without the parameters that change no result: {again.message}"]
        before = {_key(_fitted(base, again)): await self._run(draft, base) for base in bases}
        self.written, self._known = written, {}
        for base in bases:
            fitted = _fitted(base, again)
            old, new = before[_key(fitted)], await self._run(again, fitted)
            if old is not None and old.ok and (new is None or not new.ok or new.value != old.value):
                return draft, ["it gives other results without the parameters that change no result"]
        return again, [*shortcomings(written)]

    async def _killed(self, draft: Tool, suite: Sequence[Test], slowest: float) -> tuple[int, int]:
        """How many wrong versions of the code there are, and how many of them fail a test."""
        seconds = _MUTANT_SECONDS + _TIMES_THE_TOOL * slowest
        limits = Limits(wall_seconds=seconds, cpu_seconds=math.ceil(seconds))
        versions = mutants(draft.source)
        killed = 0
        for version in versions:
            for test in suite:
                job = self._request.job(version, draft.name, test.arguments, limits)
                if not passes(test, await self.sandbox.run(job)):
                    killed += 1
                    break
        return len(versions), killed

    # Results

    async def _kept(self, draft: Tool, first: Outcome, suite: Sequence[Test], proof: dict[str, int]) -> Creation:
        proposal = self.proposal
        provenance = {
            **draft.provenance,
            "spec": asdict(self.written.spec),
            "asked": None if proposal.files else remembered(proposal.question, self.arguments),
            "tests": [asdict(test) for test in suite],
            "evidence": {"tests": len(suite), **proof},
            "model": proposal.model,
            "examiner": self.examiner.name,
            "prompts": prompts_hash("mcp_tools.create"),
            "run": proposal.run_id,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "rejected": self.rejected,
        }
        try:
            tool = await self.library.register(replace(draft, provenance=provenance))
        except LibraryError as problem:
            return self._scratch(first, [str(problem)])
        reason = f"{len(suite)} tests pass, {proof['killed']} of {proof['mutants']} wrong versions fail them"
        return Creation(self.written.spec, self.arguments, tool, "create", first.value, reason, tuple(self.rejected), 1)

    def _scratch(self, first: Outcome, problems: Sequence[str]) -> Creation:
        made = _scratch(self.written.spec, replace(self.proposal, arguments=self.arguments), first, problems)
        return replace(made, rejected=tuple(self.rejected))


def _scratch(spec: ToolSpec, proposal: Proposal, first: Outcome | None, problems: Sequence[str]) -> Creation:
    """What answers the question and is not kept, with all that is to be mended."""
    reason = "\n".join(f"- {problem}" for problem in problems)
    ok = first is not None and first.ok
    value = first.value if first is not None and first.ok else None
    return Creation(spec, proposal.arguments, None, "scratch", value, reason, candidates=1, answered=ok)


def _findings(report: Report) -> list[str]:
    return [f"line {f.line}: {f.rule}: {f.message}" for f in report.findings if f.severity == "error"]


def _failure(spec: ToolSpec, problem: Problem) -> str:
    return f"{spec.name} fails with the question's own arguments: {problem.message}\n{problem.traceback}".strip()


def _misfits(tool: Tool, arguments: dict[str, Json]) -> list[str]:
    """What of some arguments the tool's schema does not take."""
    try:
        validate_arguments(tool, arguments)
    except ArgumentsError as misfit:
        return [misfit.message]
    return []


def _without_absent(arguments: dict[str, Json], schema: dict[str, Json]) -> dict[str, Json]:
    """The arguments without the nulls that stand for an absent one."""
    absent = {
        name
        for name, of_parameter in schema["properties"].items()
        if name not in schema["required"] and name in arguments and arguments[name] is None
        if not surely_fits(None, of_parameter)
    }
    return {name: value for name, value in arguments.items() if name not in absent}


def _fitted(arguments: dict[str, Json], tool: Tool) -> dict[str, Json]:
    """The arguments that the tool still takes."""
    return {name: value for name, value in arguments.items() if name in tool.input_schema["properties"]}


def _key(arguments: dict[str, Json]) -> str:
    return json.dumps(arguments, sort_keys=True)
