"""Candidates for one spec: written in different ways, tried out, mended, and compared by a vote."""

from __future__ import annotations

from dataclasses import replace

from mcp_tools.create.answers import answer_key
from mcp_tools.create.file_arguments import other_values
from mcp_tools.create.literals import leaves
from mcp_tools.create.protocol import Candidate, Program, Request, Test, Watcher, Writer
from mcp_tools.create.small.assemble import assemble
from mcp_tools.create.small.attempts import FUNCTIONS, PROGRAMS, Attempt, snippets_for
from mcp_tools.create.small.examine import write_tests
from mcp_tools.create.small.paths import without_paths
from mcp_tools.create.small.programs import as_function, write_programs
from mcp_tools.create.small.snippets import as_beginning, as_prompt
from mcp_tools.create.small.spec import Wanted
from mcp_tools.create.small.trial import examined, passed, runnable, try_out
from mcp_tools.create.small.vote import Verdict, vote
from mcp_tools.create.small.write import ask_for_code, failure_of, repair
from mcp_tools.create.variations import variations
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
        for round_ in range(len(FUNCTIONS)):
            await self._write(round_)
            verdict = self._vote()
            if self.candidates and verdict is None:
                await self._repair()
                verdict = self._vote()
            if verdict is not None and verdict.settled:
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

    async def _write(self, round_: int) -> None:
        """Functions, where the question has values; then as many programs as it takes to agree."""
        if self.wanted.arguments:
            for attempt in FUNCTIONS[round_]:
                await self._write_functions(attempt, seed=round_ + 1)
        for attempt in PROGRAMS[round_]:
            await self._write_programs(attempt, seed=round_ + 1)
            verdict = self._vote()
            if verdict is not None and verdict.unanimous:
                break

    async def _write_functions(self, attempt: Attempt, *, seed: int) -> None:
        wanted, snippets = self.wanted, snippets_for(attempt, self.request.question, without=self.wanted.spec.name)
        messages = ask_for_code(
            attempt.prompt,
            wanted,
            self.request,
            snippets=as_prompt(snippets) if attempt.snippets == "shown" else "",
            begun=as_beginning(snippets) if attempt.snippets == "begun" else "",
        )
        texts = await self.writer.write(
            messages, part="writer", count=attempt.count, temperature=attempt.temperature, seed=seed
        )
        patterns = [snippet.code for snippet in snippets]
        sources = [assemble(_begun(text, wanted.spec.signature), wanted.spec, patterns=patterns) for text in texts]
        for source in sources:
            await self._try(source)

    async def _write_programs(self, attempt: Attempt, *, seed: int) -> None:
        """Programs know the question and not the spec, and fail in other ways.

        One that can be made a function is a candidate like the others.
        """
        own = self.argument_sets[: self.first_test]
        for program in await write_programs(self.request, self.writer, self.sandbox, own, attempt, seed=seed):
            if not await self._becomes_candidate(program):
                self.programs.append(program)

    async def _becomes_candidate(self, program: Program) -> bool:
        """Whether the program is a candidate now: as a function it gives the answer that it printed."""
        spec = self.wanted.spec
        source = as_function(program, spec, self.wanted.arguments) if program.answer else None
        if source is None:
            return False
        candidate = examined(len(self.candidates) + 1, source, spec, self.request)
        if not candidate.report.ok:
            return False
        outcomes = await try_out(source, spec, self.argument_sets, self.sandbox, self.request)
        if not outcomes[0].ok or answer_key(outcomes[0].value) != answer_key(program.answer):
            return False
        self._add(replace(candidate, outcomes=outcomes))
        return True

    def _last_failure(self) -> str:
        return failure_of(self.candidates[-1], []) if self.candidates else "none was written"

    async def _try(self, source: str) -> Candidate:
        """A new candidate after its checks, and after its trial where that can tell anything."""
        candidate = examined(len(self.candidates) + 1, source, self.wanted.spec, self.request)
        if runnable(candidate):
            outcomes = await try_out(source, self.wanted.spec, self.argument_sets, self.sandbox, self.request)
            candidate = replace(candidate, outcomes=outcomes)
        return self._add(candidate)

    def _add(self, candidate: Candidate) -> Candidate:
        """Counts a candidate that was tried out elsewhere."""
        self.watcher.candidate_checked(candidate)
        if candidate.outcomes:
            self.watcher.trial_finished(candidate)
        self.candidates.append(candidate)
        return candidate

    def _vote(self) -> Verdict | None:
        """What the attempts so far say; None when none gave a result."""
        given = [leaf for leaf in leaves(self.wanted.arguments) if isinstance(leaf, str) and len(leaf) >= _A_TEXT]
        return vote(self.candidates, self.programs, self.tests, self.first_test, given)

    async def _repair(self) -> None:
        candidate = next((c for c in reversed(self.candidates) if c.outcomes), self.candidates[-1])
        failure = failure_of(candidate, self._tests_failed(candidate))
        await self._try(await repair(candidate, self.wanted, self.request, self.writer, failure))

    def _tests_failed(self, candidate: Candidate) -> list[str]:
        """The examiner's tests that a candidate fails, each as a sentence."""
        outcomes = candidate.outcomes[self.first_test :]
        return [
            f"{call_text(self.wanted.spec.name, test.arguments)} must give {test.expected!r}, but gives "
            f"{outcome.value if outcome.ok or not outcome.problem else outcome.problem.message!r}"
            for test, outcome in zip(self.tests, outcomes, strict=False)
            if not passed(test, outcome)
        ]


def _begun(text: str, signature: str) -> str:
    """The reply with the line that the prompt has begun it with, unless it begins anew."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return f"{signature}\n{text.lstrip(chr(10))}" if first[:1].isspace() else text
