"""The runs of a proposed tool: the question's own call, calls with other arguments, and the examiner's tests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from mcp_tools.create.bench import Bench, TrialCall, fitted, misfits, usable, writable
from mcp_tools.create.examiner import CRASHES, exception_of, passes, told
from mcp_tools.create.interfaces import Examiner, Proposal, Tell, Test
from mcp_tools.create.same_answer import agree
from mcp_tools.create.shortcomings import shortcomings
from mcp_tools.create.variations import alternatives, edges, variations, without_effect, without_parameter
from mcp_tools.create.written import Written, read_function
from mcp_tools.definition import definition_of
from mcp_tools.errors import ModelFixableError, StoppedError
from mcp_tools.library.arguments import validate_result
from mcp_tools.packages import imported
from mcp_tools.sandbox.protocol import Limits, Outcome, Problem, Sandbox
from mcp_tools.tool import Json, Status, Tool, call_text

_VARIATIONS = 6
_LONGEST_TITLE = 80
_REFUSE = "raise ValueError with a clear message for input that it cannot take"
_CHANCE = "gives another result when it is called again: let chance come from a seed"


class Trial:
    """A proposal as it is now, and its runs. The source changes where a parameter is taken out."""

    def __init__(self, proposal: Proposal, written: Written, sandbox: Sandbox) -> None:
        self.proposal = proposal
        self.written = written
        self.source = proposal.code
        self.arguments = proposal.arguments
        """Those of the question."""
        self.bench = Bench(proposal, sandbox)
        self._sandbox = sandbox

    def shortcomings(self) -> Iterator[str]:
        """What nobody else could use of it."""
        return shortcomings(self.written, self.proposal.question, self.arguments)

    async def drafted(self) -> Tool | Problem:
        """The tool as its own definition has it, not yet proved."""
        declared = self.proposal.capabilities
        packages = imported(self.source, declared.packages)
        described = await self._sandbox.describe(self.source, self.written.spec.name, packages=packages)
        if isinstance(described, Problem):
            return described
        reads = declared.read and bool(self.bench.paths(self.arguments))
        capabilities = replace(declared, packages=packages, read=reads)
        draft = described.as_tool(self.source, {"capabilities": asdict(capabilities)})
        summary = self.written.spec.purpose.rstrip(".")
        title = summary if len(summary) <= _LONGEST_TITLE else described.name.replace("_", " ").capitalize()
        annotations = {"title": title, **definition_of(draft)["annotations"]}
        return replace(draft, status=Status.VERIFIED, annotations=annotations)

    async def first(self) -> Outcome:
        """The question's own call."""
        seconds = self.proposal.capabilities.seconds or Limits().wall_seconds
        return await self.bench.first(self.source, self.written.spec.name, self.arguments, seconds)

    @property
    def free(self) -> dict[str, Json]:
        """The arguments that are no paths of files."""
        fixed = self.bench.paths(self.arguments)
        return {name: value for name, value in self.arguments.items() if name not in fixed}

    def varied(self, draft: Tool) -> list[dict[str, Json]]:
        """Other arguments of the same shape: near ones, and each choice of the schema."""
        others = variations(self.free, count=_VARIATIONS)
        for name, schema in draft.input_schema["properties"].items():
            if "enum" in schema or schema.get("type") == "boolean":
                given = self.arguments.get(name, schema.get("default"))
                others += [{name: other} for other in alternatives(given, schema)]
        sets = [{**self.arguments, **other} for other in others]
        return [arguments for arguments in sets if not misfits(draft, arguments)]

    def edges(self) -> list[dict[str, Json]]:
        """The arguments with an empty, a zero or a negative value."""
        return [{**self.arguments, **each} for each in edges(self.free)]

    async def depends_on_chance(self, draft: Tool, sets: Sequence[dict[str, Json]]) -> list[str]:
        """Whether a second call gives another result; the question's own, which may take long, is made once."""
        for arguments in sets:
            once = await self.bench.run(draft, TrialCall(arguments)) if arguments != self.arguments else None
            if once is not None and once.ok:
                again = await self.bench.call_anew(draft, arguments)
                same = not again.ok or again.value == once.value
                return [] if same else [f"{call_text(draft.name, arguments, longest=200)} {_CHANCE}"]
        return []

    async def crashes(self, draft: Tool, calls: Sequence[TrialCall]) -> dict[str, str]:
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

    async def without_idle(self, draft: Tool, calls: Sequence[TrialCall], tell: Tell) -> tuple[Tool, list[str]]:
        """The tool without parameters that change no result, and what stands in the way of taking one out."""

        async def run(call: TrialCall) -> Outcome | None:
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
            tell(f"removed: {name}, which changes no result")
            self.source = shorter
        if problems or self.source == draft.source:
            return draft, problems
        written = read_function(self.source, draft.name, self.proposal.capabilities)
        again = await self.drafted()
        assert written is not None
        if isinstance(again, Problem):
            return draft, [f"without the parameters that change no result: {again.message}"]
        before = [await self.bench.run(draft, call) for call in calls]
        self.bench.forget(
            TrialCall(fitted(self.arguments, again)), await self.bench.call(draft, TrialCall(self.arguments))
        )
        self.written = written
        for call, old in zip(calls, before, strict=True):
            new = await self.bench.run(again, fitted_call(call, again))
            if old is not None and old.ok and (new is None or not new.ok or new.value != old.value):
                return draft, ["it gives other results without the parameters that change no result"]
        return again, [*self.shortcomings()]


def fitted_call(call: TrialCall, tool: Tool) -> TrialCall:
    """The call with the arguments that the tool still takes."""
    return replace(call, arguments=fitted(call.arguments, tool))


class Examination:
    """The tests of one proposal."""

    def __init__(self, trial: Trial, examiner: Examiner, tell: Tell) -> None:
        self.serves_one_question = False
        """Whether the examiner sees nothing in the tool that other questions need."""
        self._trial = trial
        self._bench = trial.bench
        self._examiner = examiner
        self._tell = tell

    async def tests(self, draft: Tool, varied: Sequence[dict[str, Json]]) -> list[Test] | str:
        """The examiner's tests, written while the variations run; in words why there are none."""

        async def runs() -> None:
            for arguments in varied:
                await self._bench.run(draft, TrialCall(arguments))

        tests, _ = await asyncio.gather(self._written(draft), runs())
        return tests

    async def _written(self, draft: Tool) -> list[Test] | str:
        files = self._trial.proposal.files if self._bench.paths(self._trial.arguments) else ()
        if strange := [path.name for path in files if not writable(path)]:
            return f"no test can bring a file such as {strange[0]}: let the tool take what a program reads from it"
        try:
            tests = await self._examiner.tests(self._trial.written.text, draft, files)
        except (ModelFixableError, StoppedError) as failure:
            return f"it could not be examined: {failure.message}"
        if isinstance(tests, str):
            self.serves_one_question = True
            return f"the examiner sees nothing here that other questions need: {tests}"
        tests = [test for test in tests if usable(test.files) and not misfits(draft, test.arguments)]
        tests = [test for test in tests if test.raises or not validate_result(draft, test.expected)]
        others = [test for test in tests if not test.raises and test.arguments != self._trial.arguments]
        return tests if others else "the examiner found no test with other arguments than the question's"

    async def settled(self, draft: Tool, tests: Sequence[Test]) -> tuple[list[Test], list[str]]:
        """The tests that hold, and what the tool does wrong in those that it fails."""
        suite, disputed = await self.tried(draft, tests)
        failed = await self._disputed(draft, disputed, suite) if disputed else []
        if not failed and not any(not test.raises and test.arguments != self._trial.arguments for test in suite):
            failed.append("no test with other arguments was left: state in the docstring what such calls give")
        return suite, failed

    async def tried(self, draft: Tool, tests: Sequence[Test]) -> tuple[list[Test], list[tuple[Test, Outcome]]]:
        """The tests that pass, and those that do not with what came of them."""
        suite, disputed = [], []
        for test in tests:
            outcome = await self._bench.call(draft, TrialCall(test.arguments, test.files))
            if passes(test, outcome):
                suite.append(test if test.raises else replace(test, expected=outcome.value))
            else:
                disputed.append((test, outcome))
        return suite, disputed

    async def _disputed(self, draft: Tool, disputed: Sequence[tuple[Test, Outcome]], suite: list[Test]) -> list[str]:
        """What the tool does wrong in tests that the examiner confirms; those on which it now agrees join the suite."""
        try:
            again = await self._examiner.look_again(
                self._trial.written.text, draft, [test for test, _ in disputed], self._trial.proposal.objection
            )
        except (ModelFixableError, StoppedError) as failure:
            self._tell(f"the examiner did not review it: {failure.message}")
            again = [test for test, _ in disputed]
        failed = []
        for (test, outcome), now in zip(disputed, again, strict=True):
            if now is not None and passes(now, outcome):
                suite.append(now if now.raises else replace(now, expected=outcome.value))
            elif now is not None and now.raises == test.raises and agree(now.expected, test.expected):
                failed.append(told(draft.name, test, outcome))
            else:
                self._tell(
                    f"a test is dropped because the examiner is not sure of it: {told(draft.name, test, outcome)}"
                )
        return failed
