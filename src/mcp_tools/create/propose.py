"""A tool that a model proposes in one go, code and arguments: checked, tried, examined, proved and kept.

The code's own signature and docstring are its spec. What is kept is what was written; only parameters that change no
result are taken out. A proposal that is not kept still answers the question, and says what to mend.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from mcp_tools.checks import Report, check
from mcp_tools.create.bench import Bench, Call, fitted, misfits, usable, without_absent, writable
from mcp_tools.create.examiner import CRASHES, exception_of, passes, told
from mcp_tools.create.interfaces import Choice, Creation, Examiner, Proposal, Shelf, Test, Watcher
from mcp_tools.create.question_template import remembered
from mcp_tools.create.same_answer import agree
from mcp_tools.create.shortcomings import shortcomings
from mcp_tools.create.unused import alternatives, without_effect, without_parameter
from mcp_tools.create.variations import edges, other_values, variations
from mcp_tools.create.written import Written, read_function
from mcp_tools.definition import definition_of
from mcp_tools.errors import LibraryError, ModelFixableError, StoppedError
from mcp_tools.library import validate_result
from mcp_tools.library.approvals import SERVED
from mcp_tools.packages import imported, with_header
from mcp_tools.prompt import prompts_hash
from mcp_tools.sandbox.protocol import Limits, Outcome, Problem, Sandbox
from mcp_tools.tool import Json, Status, Tool, ToolSpec, call_text

_NEIGHBOURS = 4
_VARIATIONS = 6
_CRASHES_TOLD = 3
_LONGEST_TITLE = 80
_UNREADABLE = frozenset({"size", "encoding", "hidden-characters", "parses", "nesting"})
"""Rules without which a source is not even looked into."""
_REFUSE = "raise ValueError with a clear message for input that it cannot take"
_CHANCE = "gives another result when it is called again: let chance come from a seed"


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
    watcher.checked(report)
    readable = not any(finding.rule in _UNREADABLE for finding in report.findings)
    written = read_function(proposal.code, proposal.name, proposal.capabilities) if readable else None
    if written is None:
        reason = _listed([str(finding) for finding in report.findings])
        return Creation(proposal.arguments, None, "scratch", reason=reason, answered=False)
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
        self.unkept: Choice = "scratch"
        self.bench = Bench(proposal, sandbox)

    async def result(self) -> Creation:
        """The tool, or the value with the reason."""
        problems = [*map(str, self.report.findings), *self._shortcomings()]
        draft = await self._drafted()
        if isinstance(draft, Problem):
            problems.append(f"no schema could be derived: {draft.message}")
        else:
            self.arguments = without_absent(self.arguments, draft.input_schema)
            problems += misfits(draft, self.arguments)
        self.watcher.spec_written(self.written.spec)
        seconds = self.proposal.capabilities.seconds or Limits().wall_seconds
        first = await self.bench.first(self.source, self.written.spec.name, self.arguments, seconds)
        self.watcher.tried(first)
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
        reads = declared.read and bool(self.bench.paths(self.arguments))
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
        summary = self.written.summary.rstrip(".")
        title = summary if len(summary) <= _LONGEST_TITLE else described.name.replace("_", " ").capitalize()
        return replace(draft, annotations={"title": title, **definition_of(draft)["annotations"]})

    async def _judged(self, draft: Tool, first: Outcome, problems: list[str]) -> Creation:
        """Looks for the tool in the library, examines it, and keeps it if nothing speaks against it."""
        if problems:
            return self._scratch(first, problems)
        varied = await self._varied(draft)
        if found := await self._equivalent(draft, varied):
            return self._creation(found, "reuse", first, f"{found.name} of the library gives the same results")
        examples = [test for test in self.written.examples if not misfits(draft, test.arguments)]
        suite, wrong = await self._tried(draft, examples)
        problems += [told(draft.name, test, outcome) for test, outcome in wrong]
        problems += await self._depends_on_chance(draft, [*(test.arguments for test in suite), *varied])
        if problems:
            return self._scratch(first, problems)
        bare = [{**self.arguments, **each} for each in edges(self._free)]
        tests = await self._examined(draft, [*varied, *bare])
        if isinstance(tests, str):
            return self._scratch(first, [tests])
        tried = [Call(test.arguments, test.files) for test in tests]
        crashes = await self._crashes(draft, [*map(Call, varied), *map(Call, bare), *tried])
        problems += [*crashes.values()][:_CRASHES_TOLD]
        passed, failed = await self._settled(
            draft, [test for test, call in zip(tests, tried, strict=True) if call.key not in crashes]
        )
        known = [test.arguments for test in passed]
        suite = [*(test for test in suite if test.arguments not in known), *passed]
        problems += failed
        calls = [Call(test.arguments, test.files) for test in suite if not test.raises]
        calls += [Call(arguments) for arguments in (self.arguments, *varied)]
        if not failed:
            draft, idle = await self._without_idle(draft, calls)
            problems += idle
            suite = [replace(test, arguments=fitted(test.arguments, draft)) for test in suite]
            self.arguments = fitted(self.arguments, draft)
        outcomes = [await self.bench.run(draft, _fitted_call(call, draft)) for call in calls]
        good = [outcome for outcome in outcomes if outcome is not None and outcome.ok]
        problems += dict.fromkeys(
            f"a result is not what it promises: {m}" for o in good for m in validate_result(draft, o.value)
        )
        if len(good) < 2:
            why = next((o.problem.message for o in outcomes if o is not None and o.problem is not None), "")
            problems.append(f"it fails with all other arguments that were tried: {why:.300}")
        elif len({json.dumps(outcome.value, sort_keys=True) for outcome in good}) < 2:
            problems.append(f"all of its {len(good)} successful runs with different arguments give the same result")
        proof = {"runs": self.bench.runs, "mutants": 0, "killed": 0}
        if not problems:
            slowest = max(outcome.seconds for outcome in good)
            proof["mutants"], proof["killed"] = await self.bench.killed(draft, suite, slowest)
            if proof["mutants"] and not proof["killed"]:
                problems.append(
                    f"the tests catch none of {proof['mutants']} broken versions of the code: they prove nothing"
                )
        if problems:
            return self._scratch(first, problems)
        return await self._kept(draft, first, suite, proof)

    def _shortcomings(self) -> Iterator[str]:
        return shortcomings(self.written, self.proposal.question, self.arguments)

    # Other arguments

    async def _depends_on_chance(self, draft: Tool, sets: Sequence[dict[str, Json]]) -> list[str]:
        """Whether a second call gives another result; the question's own, which may take long, is made once."""
        for arguments in sets:
            once = await self.bench.run(draft, Call(arguments)) if arguments != self.arguments else None
            if once is not None and once.ok:
                again = await self.bench.call_anew(draft, arguments)
                same = not again.ok or again.value == once.value
                return [] if same else [f"{call_text(draft.name, arguments, longest=200)} {_CHANCE}"]
        return []

    @property
    def _free(self) -> dict[str, Json]:
        """The arguments that are no paths of files."""
        fixed = self.bench.paths(self.arguments)
        return {name: value for name, value in self.arguments.items() if name not in fixed}

    async def _varied(self, draft: Tool) -> list[dict[str, Json]]:
        """Other arguments of the same shape: near ones, what else the files hold, and each choice of the schema."""
        free = self._free
        others = await other_values(free, self.proposal, self.sandbox) if free != self.arguments else []
        others += variations(free, count=_VARIATIONS)
        for name, schema in draft.input_schema["properties"].items():
            if "enum" in schema or schema.get("type") == "boolean":
                given = self.arguments.get(name, schema.get("default"))
                others += [{name: other} for other in alternatives(given, schema)]
        sets = [{**self.arguments, **other} for other in others]
        return [arguments for arguments in sets if not misfits(draft, arguments)]

    async def _crashes(self, draft: Tool, calls: Sequence[Call]) -> dict[str, str]:
        """By their keys the calls by which the code fails instead of refusing them, though they fit the schema."""
        found = {}
        for call in calls:
            outcome = await self.bench.run(draft, call)
            if outcome is None or outcome.problem is None:
                continue
            kind = exception_of(outcome.problem) or outcome.problem.kind
            if kind in {*CRASHES, "result"} and not re.search(rf"\b{kind}\b", self.written.docstring):
                shown = call_text(draft.name, call.arguments, longest=200)
                found[call.key] = f"{shown} fails with {outcome.problem.message:.200}; {_REFUSE}"
        return found

    async def _equivalent(self, draft: Tool, varied: Sequence[dict[str, Json]]) -> Tool | None:
        """A tool of the library that takes the same arguments and gives the same results, also in its own tests."""
        spec = self.written.spec
        for tool in await self.library.search(f"{spec.name.replace('_', ' ')} {spec.purpose}", _NEIGHBOURS):
            if tool.status not in SERVED:
                self.rejected.append(f"{tool.name}: {tool.status}")
                continue
            if unfit := misfits(tool, self.arguments):
                self.rejected.append(f"{tool.name}: takes other arguments ({unfit[0]:.80})")
                continue
            tests = tool.provenance.get("tests") or []
            own = [test["arguments"] for test in tests if "arguments" in test and "files" not in test]
            if await self._same(tool, draft, [self.arguments, *varied, *own]):
                return tool
            self.rejected.append(f"{tool.name}: gives other results")
        return None

    async def _same(self, tool: Tool, draft: Tool, sets: Sequence[dict[str, Json]]) -> bool:
        results = set()
        for arguments in sets:
            ours = await self.bench.run(draft, Call(arguments))
            if ours is None:
                return False
            theirs = await self.bench.call_anew(tool, arguments)
            if ours.ok != theirs.ok or not (agree(ours.value, theirs.value) and agree(theirs.value, ours.value)):
                return False
            if ours.ok:
                results.add(json.dumps(ours.value, sort_keys=True))
        return len(results) > 1

    # Tests

    async def _examined(self, draft: Tool, varied: Sequence[dict[str, Json]]) -> list[Test] | str:
        """The examiner's tests, written while the variations run; in words why there are none."""

        async def runs() -> None:
            for arguments in varied:
                await self.bench.run(draft, Call(arguments))

        tests, _ = await asyncio.gather(self._tests(draft), runs())
        return tests

    async def _tests(self, draft: Tool) -> list[Test] | str:
        files = self.proposal.files if self.bench.paths(self.arguments) else ()
        if strange := [path.name for path in files if not writable(path)]:
            return f"no test can bring a file such as {strange[0]}: let the tool take what a program reads from it"
        try:
            tests = await self.examiner.tests(self.written.text, draft, files)
        except (ModelFixableError, StoppedError) as failure:
            return f"it could not be examined: {failure.message}"
        if isinstance(tests, str):
            self.unkept = "one_off"
            return f"the examiner sees nothing here that other questions need: {tests}"
        tests = [test for test in tests if usable(test.files) and not misfits(draft, test.arguments)]
        tests = [test for test in tests if test.raises or not validate_result(draft, test.expected)]
        others = [test for test in tests if not test.raises and test.arguments != self.arguments]
        return tests if others else "the examiner found no test with other arguments than the question's"

    async def _settled(self, draft: Tool, tests: Sequence[Test]) -> tuple[list[Test], list[str]]:
        """The tests that hold, and what the tool does wrong in those that it fails."""
        suite, disputed = await self._tried(draft, tests)
        failed = await self._disputed(draft, disputed, suite) if disputed else []
        if not failed and not any(not test.raises and test.arguments != self.arguments for test in suite):
            failed.append("no test with other arguments was left: state in the docstring what such calls give")
        return suite, failed

    async def _tried(self, draft: Tool, tests: Sequence[Test]) -> tuple[list[Test], list[tuple[Test, Outcome]]]:
        """The tests that pass, and those that do not with what came of them."""
        suite, disputed = [], []
        for test in tests:
            outcome = await self.bench.call(draft, Call(test.arguments, test.files))
            if passes(test, outcome):
                suite.append(test if test.raises else replace(test, expected=outcome.value))
            else:
                disputed.append((test, outcome))
        return suite, disputed

    async def _disputed(self, draft: Tool, disputed: Sequence[tuple[Test, Outcome]], suite: list[Test]) -> list[str]:
        """What the tool does wrong in tests that the examiner confirms; those on which it now agrees join the suite."""
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
                    f"a test is dropped, the examiner is not sure of it: {told(draft.name, test, outcome)}"
                )
        return failed

    async def _without_idle(self, draft: Tool, calls: Sequence[Call]) -> tuple[Tool, list[str]]:
        """The tool without parameters that change no result, and what stands in the way of taking one out."""

        async def run(call: Call) -> Outcome | None:
            return await self.bench.run(draft, call)

        problems = []
        for name in await without_effect(draft.input_schema, calls, run, fixed=self.bench.paths(self.arguments)):
            shorter = without_parameter(self.source, draft.name, name)
            if shorter is None and name in draft.input_schema["required"]:
                problems.append(
                    f"{name!r} changed no result in the trial: take it out, or say in the docstring where it does"
                )
            if shorter is None:  # an option that the code reads may matter where the trial did not look
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
        before = [await self.bench.run(draft, call) for call in calls]
        self.bench.forget(Call(fitted(self.arguments, again)), await self.bench.call(draft, Call(self.arguments)))
        self.written = written
        for call, old in zip(calls, before, strict=True):
            new = await self.bench.run(again, _fitted_call(call, again))
            if old is not None and old.ok and (new is None or not new.ok or new.value != old.value):
                return draft, ["it gives other results without the parameters that change no result"]
        return again, [*self._shortcomings()]

    # Results

    async def _kept(self, draft: Tool, first: Outcome, suite: Sequence[Test], proof: dict[str, int]) -> Creation:
        proposal = self.proposal
        final = proposal.final or ("{}" if isinstance(first.value, int | str) else "")
        provenance = {
            **draft.provenance,
            "asked": None if proposal.files else remembered(proposal.question, self.arguments, final),
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
            return self._scratch(first, [str(problem)])
        reason = f"{len(suite)} tests pass, they catch {proof['killed']} of {proof['mutants']} broken versions"
        return self._creation(tool, "create", first, reason)

    def _scratch(self, first: Outcome, problems: Sequence[str]) -> Creation:
        """What answers the question and is not kept, with all that is to be mended."""
        return self._creation(None, self.unkept, first, _listed(problems))

    def _creation(self, tool: Tool | None, choice: Choice, first: Outcome, reason: str) -> Creation:
        return Creation(
            self.arguments,
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


def _failure(spec: ToolSpec, problem: Problem) -> str:
    return f"{spec.name} fails with the question's own arguments: {problem.message}\n{problem.traceback}".strip()


def _fitted_call(call: Call, tool: Tool) -> Call:
    return replace(call, arguments=fitted(call.arguments, tool))
