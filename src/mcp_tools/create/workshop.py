"""Candidates for one spec: tried out, mended, and compared by a vote."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_tools.create.examine import write_tests
from mcp_tools.create.file_arguments import other_values, without_paths
from mcp_tools.create.literals import leaves
from mcp_tools.create.protocol import Candidate, Program, Request, Test, Watcher, Writer
from mcp_tools.create.spec import Wanted
from mcp_tools.create.trial import examined, passed, runnable, try_out
from mcp_tools.create.variations import variations
from mcp_tools.create.vote import Verdict, vote
from mcp_tools.create.write import failure_of, repair
from mcp_tools.errors import CreationError, ModelFixableError, StoppedError
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import call_text

if TYPE_CHECKING:
    from mcp_tools.create.recipe import Recipe

_MOST_VARIATIONS = 4
_A_TEXT = 8
"""Characters from which on a text of the question is material; a shorter one may well be the answer."""


class Workshop:
    """The candidates for one spec, their trials and their vote."""

    def __init__(
        self, wanted: Wanted, request: Request, recipe: Recipe, writer: Writer, sandbox: Sandbox, watcher: Watcher
    ) -> None:
        self.wanted = wanted
        self.request = request
        self.recipe = recipe
        self.writer = writer
        self.sandbox = sandbox
        self.watcher = watcher
        self.candidates: list[Candidate] = []
        self.programs: list[Program] = []
        self.tests: list[Test] = []
        self.argument_sets = [wanted.arguments]
        self.first_test = 1

    async def work(self) -> Verdict:
        """Writes candidates, round by round, until they agree or the rounds are used up."""
        try:
            await self._rounds()
        except StoppedError:
            self.watcher.note("the run's limit was reached while the tool was being written")
        verdict = self.vote()
        if verdict is None:
            raise CreationError(
                f"none of {len(self.candidates)} programs for {self.wanted.spec.name} gave a result: "
                f"{self._last_failure()}"
            )
        return verdict

    async def _rounds(self) -> None:
        await self._vary()
        if not self.request.files:  # an examiner knows no file, and cannot say what stands in it
            await self._examine()
        self.argument_sets += [test.arguments for test in self.tests]
        for round_ in range(self.recipe.rounds):
            await self.recipe.write(self, round_)
            verdict = self.vote()
            if self.candidates and not self._enough(verdict) and self.recipe.is_worth_repair(self, verdict):
                await self._repair()
                verdict = self.vote()
            if self._enough(verdict):
                break

    async def _vary(self) -> None:
        """The arguments on which independent candidates must agree: what else the files hold, and near values."""
        given = without_paths(self.wanted.arguments, self.request.files)
        others = await other_values(given, self.request, self.sandbox) if self.request.files else []
        others += [other for other in variations(given) if other not in others]
        self.argument_sets += [{**self.wanted.arguments, **other} for other in others[:_MOST_VARIATIONS]]
        self.first_test = len(self.argument_sets)

    async def _examine(self) -> None:
        try:
            self.tests = await write_tests(self.wanted, self.writer, prompts=self.recipe.prompts)
        except ModelFixableError as failure:
            self.watcher.note(f"no tests from the examiner: {failure.message}")

    def _last_failure(self) -> str:
        return failure_of(self.candidates[-1], []) if self.candidates else "none was written"

    def _enough(self, verdict: Verdict | None) -> bool:
        return verdict is not None and self.recipe.is_enough(self, verdict)

    async def try_out(self, source: str) -> Candidate:
        """A new candidate after its checks, and after its trial where that can tell anything."""
        candidate = examined(len(self.candidates) + 1, source, self.wanted.spec, self.request)
        if runnable(candidate):
            outcomes = await try_out(source, self.wanted.spec, self.argument_sets, self.sandbox, self.request)
            candidate = replace(candidate, outcomes=outcomes)
        return self.add(candidate)

    def add(self, candidate: Candidate) -> Candidate:
        """Counts a candidate that was tried out elsewhere."""
        self.watcher.candidate_checked(candidate)
        if candidate.outcomes:
            self.watcher.trial_finished(candidate)
        self.candidates.append(candidate)
        return candidate

    def vote(self) -> Verdict | None:
        """What the attempts so far say; None when none gave a result."""
        given = [leaf for leaf in leaves(self.wanted.arguments) if isinstance(leaf, str) and len(leaf) >= _A_TEXT]
        return vote(self.recipe.standing(self), self.programs, self.tests, self.first_test, given)

    def tests_passed(self, candidate: Candidate) -> int:
        """How many of the examiner's tests a candidate passes."""
        outcomes = candidate.outcomes[self.first_test :]
        return sum(passed(test, outcome) for test, outcome in zip(self.tests, outcomes, strict=False))

    async def _repair(self) -> None:
        candidate = next((c for c in reversed(self.candidates) if c.outcomes), self.candidates[-1])
        failure = failure_of(candidate, self.tests_failed(candidate))
        prompts = self.recipe.prompts
        await self.try_out(await repair(candidate, self.wanted, self.request, self.writer, failure, prompts=prompts))

    def tests_failed(self, candidate: Candidate) -> list[str]:
        """The examiner's tests that a candidate fails, each as a sentence."""
        outcomes = candidate.outcomes[self.first_test :]
        return [
            f"{call_text(self.wanted.spec.name, test.arguments)} must give {test.expected!r}, but gives "
            f"{outcome.value if outcome.ok or not outcome.problem else outcome.problem.message!r}"
            for test, outcome in zip(self.tests, outcomes, strict=False)
            if not passed(test, outcome)
        ]
