"""The examination of a proposed tool: the tests of the examiner, and what becomes of those that the code fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from mcp_tools.create.bench import TrialCall, misfits, usable, writable
from mcp_tools.create.examiner import passes, told
from mcp_tools.create.interfaces import Examiner, Test, Watcher
from mcp_tools.create.same_answer import agree
from mcp_tools.create.trial import Trial
from mcp_tools.errors import ModelFixableError, StoppedError
from mcp_tools.library import validate_result
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.tool import Json, Tool


class Examination:
    """The tests of one proposal."""

    def __init__(self, trial: Trial, examiner: Examiner, watcher: Watcher) -> None:
        self.serves_one_question = False
        """Whether the examiner sees nothing in the tool that other questions need."""
        self._trial = trial
        self._bench = trial.bench
        self._examiner = examiner
        self._watcher = watcher

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
            self._watcher.note(f"the examiner did not look again: {failure.message}")
            again = [test for test, _ in disputed]
        failed = []
        for (test, outcome), now in zip(disputed, again, strict=True):
            if now is not None and passes(now, outcome):
                suite.append(now if now.raises else replace(now, expected=outcome.value))
            elif now is not None and now.raises == test.raises and agree(now.expected, test.expected):
                failed.append(told(draft.name, test, outcome))
            else:
                self._watcher.note(
                    f"a test is dropped, the examiner is not sure of it: {told(draft.name, test, outcome)}"
                )
        return failed
