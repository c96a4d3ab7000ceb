"""Writing candidates for one spec, trying them out, mending them, and letting them vote."""

from __future__ import annotations

from dataclasses import replace

from mcp_tools.create.answers import answer_key
from mcp_tools.create.attempts import PROGRAMS, STRONG, WEAK, Attempt
from mcp_tools.create.examine import write_tests
from mcp_tools.create.file_arguments import other_values, without_paths
from mcp_tools.create.literals import leaves
from mcp_tools.create.protocol import Candidate, Request, Test, Watcher, Writer
from mcp_tools.create.scratch import Scratch, as_function, write_programs
from mcp_tools.create.spec import Wanted
from mcp_tools.create.trial import examined, passed, runnable, try_out
from mcp_tools.create.variations import variations
from mcp_tools.create.vote import Verdict, vote
from mcp_tools.create.write import failure_of, repair, write_candidates
from mcp_tools.errors import CreationError, ModelFixableError, StoppedError
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import call_text

_MOST_VARIATIONS = 4
_A_TEXT = 8
"""Characters from which on a text of the question is material; a shorter one may well be the answer."""


class Workshop:
    """The candidates for one spec, their trials and their vote."""

    def __init__(self, wanted: Wanted, request: Request, writer: Writer, sandbox: Sandbox, watcher: Watcher) -> None:
        self.wanted = wanted
        self.request = request
        self.writer = writer
        self.sandbox = sandbox
        self.watcher = watcher
        self.candidates: list[Candidate] = []
        self.programs: list[Scratch] = []
        self.tests: list[Test] = []
        self.argument_sets = [wanted.arguments]
        self.first_test = 1

    async def work(self) -> Verdict:
        """Writes candidates, round by round, until they agree or the rounds are used up."""
        try:
            await self._rounds()
        except StoppedError:
            self.watcher.note("the run's limit was reached while the tool was being written")
        verdict = self._vote()
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
        for round_ in range(len(WEAK if self.writer.is_weak else STRONG)):
            await self._ask(round_)
            verdict = self._vote()
            if self.candidates and not self._enough(verdict) and self._worth_repair(verdict):
                await self._repair()
                verdict = self._vote()
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
            self.tests = await write_tests(self.wanted, self.writer)
        except ModelFixableError as failure:
            self.watcher.note(f"no tests from the examiner: {failure.message}")

    async def _ask(self, round_: int) -> None:
        """The attempts of one round, of a weak model only as many as it takes to agree."""
        if self.wanted.arguments or not self.writer.is_weak:
            for attempt in (WEAK if self.writer.is_weak else STRONG)[round_]:
                await self._write(attempt, seed=round_ + 1)
        for attempt in PROGRAMS[round_] if self.writer.is_weak else ():
            await self._ask_programs(attempt, seed=round_ + 1)
            verdict = self._vote()
            if verdict is not None and verdict.unanimous:
                break

    def _last_failure(self) -> str:
        return failure_of(self.candidates[-1], []) if self.candidates else "none was written"

    async def _write(self, attempt: Attempt, *, seed: int) -> None:
        for source in await write_candidates(self.wanted, self.request, self.writer, attempt, seed=seed):
            await self._try(source)

    async def _ask_programs(self, attempt: Attempt, *, seed: int) -> None:
        """Whole programs vote too: they know the question and not the spec, and fail in other ways.

        One that can be made a function is a candidate like the others.
        """
        own = self.argument_sets[: self.first_test]
        for program in await write_programs(self.request, self.writer, self.sandbox, own, attempt, seed=seed):
            if not await self._becomes_candidate(program):
                self.programs.append(program)

    async def _becomes_candidate(self, program: Scratch) -> bool:
        """Whether the program is a candidate now: as a function it gives the answer that it printed."""
        source = as_function(program, self.wanted.spec, self.wanted.arguments) if program.answer else None
        if source is None:
            return False
        candidate = examined(len(self.candidates) + 1, source, self.wanted.spec, self.request)
        if not candidate.report.ok:
            return False
        outcomes = await try_out(source, self.wanted.spec, self.argument_sets, self.sandbox, self.request)
        if not outcomes[0].ok or answer_key(outcomes[0].value) != answer_key(program.answer):
            return False
        self._add(replace(candidate, outcomes=outcomes))
        return True

    async def _try(self, source: str) -> Candidate:
        candidate = examined(len(self.candidates) + 1, source, self.wanted.spec, self.request)
        if runnable(candidate):
            outcomes = await try_out(source, self.wanted.spec, self.argument_sets, self.sandbox, self.request)
            candidate = replace(candidate, outcomes=outcomes)
        return self._add(candidate)

    def _add(self, candidate: Candidate) -> Candidate:
        self.watcher.candidate_checked(candidate)
        if candidate.outcomes:
            self.watcher.trial_finished(candidate)
        self.candidates.append(candidate)
        return candidate

    def _vote(self) -> Verdict | None:
        given = [leaf for leaf in leaves(self.wanted.arguments) if isinstance(leaf, str) and len(leaf) >= _A_TEXT]
        return vote(self._standing(), self.programs, self.tests, self.first_test, given)

    def _standing(self) -> list[Candidate]:
        """Of a strong model, which corrects itself, the candidates that pass the most tests; of a weak one all."""
        if self.writer.is_weak:
            return self.candidates
        passes = [self.tests_passed(candidate) for candidate in self.candidates]
        return [c for c, count in zip(self.candidates, passes, strict=True) if count == max(passes)]

    def tests_passed(self, candidate: Candidate) -> int:
        """How many of the examiner's tests a candidate passes."""
        outcomes = candidate.outcomes[self.first_test :]
        return sum(passed(test, outcome) for test, outcome in zip(self.tests, outcomes, strict=False))

    def _enough(self, verdict: Verdict | None) -> bool:
        if verdict is None:
            return False
        if not self.writer.is_weak:
            winner = verdict.winner
            if winner is None or not winner.report.ok:
                return False
            if self.request.files:
                return verdict.codes >= 2 and verdict.support * 2 > verdict.voters
            return not self._failed_tests(winner) or (verdict.believable and self.tests_passed(winner) > 0)
        return verdict.settled

    def _worth_repair(self, verdict: Verdict | None) -> bool:
        """A weak model mends what raised; a strong one also what failed a test or a check, if it has tests."""
        return verdict is None or not (self.writer.is_weak or self.request.files)

    async def _repair(self) -> None:
        candidate = next((c for c in reversed(self.candidates) if c.outcomes), self.candidates[-1])
        failure = failure_of(candidate, self._failed_tests(candidate))
        await self._try(await repair(candidate, self.wanted, self.request, self.writer, failure))

    def _failed_tests(self, candidate: Candidate) -> list[str]:
        outcomes = candidate.outcomes[self.first_test :]
        return [
            f"{call_text(self.wanted.spec.name, test.arguments)} must give {test.expected!r}, but gives "
            f"{outcome.value if outcome.ok or not outcome.problem else outcome.problem.message!r}"
            for test, outcome in zip(self.tests, outcomes, strict=False)
            if not passed(test, outcome)
        ]
