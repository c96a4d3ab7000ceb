"""How a tool is born: look, spec, tests, code, checks, trial, repair, vote, proof, registration."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from mcp_tools.create.answers import answer_key
from mcp_tools.create.examine import write_tests
from mcp_tools.create.look import look
from mcp_tools.create.protocol import Candidate, Creation, Request, Shelf, Test, Watcher, Writer
from mcp_tools.create.prove import doubts, suite_of
from mcp_tools.create.scratch import Scratch, as_function, write_programs
from mcp_tools.create.spec import Wanted, call_text, write_spec
from mcp_tools.create.trial import examined, passed, runnable, try_out
from mcp_tools.create.variations import variations
from mcp_tools.create.vote import Verdict, vote
from mcp_tools.create.write import failure_of, repair, write_candidates
from mcp_tools.errors import ArgumentsError, CreationError, LibraryError, ModelFixableError, StoppedError
from mcp_tools.library import validate_arguments, validate_result
from mcp_tools.sandbox.protocol import Problem, Sandbox
from mcp_tools.tool import Json, Status, Tool

ROUNDS = 3
PROGRAMS = 2
"""Whole programs that a weak model writes in each round, beside the candidates."""


async def create_tool(
    request: Request, *, writer: Writer, sandbox: Sandbox, library: Shelf, watcher: Watcher
) -> Creation:
    """Creates the tool that a question lacks, proves it and keeps it.

    Returns:
        A registered tool with the arguments of the question; or, when nothing could be proven, the result of the best
        program as `scratch`, which is not kept.

    Raises:
        CreationError: No program gave any result.
    """
    wanted = await write_spec(request, writer)
    watcher.spec_written(wanted.spec, wanted.arguments)
    found = await look(wanted, request, library, sandbox)
    if found.tool is not None:
        return Creation(
            wanted.spec, wanted.arguments, found.tool, "reuse", found.value, "in the library", found.rejected
        )
    workshop = _Workshop(wanted, request, writer, sandbox, watcher)
    verdict = await workshop.work()
    return await workshop.keep(verdict, library, rejected=found.rejected)


class _Workshop:
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
        self.argument_sets = [wanted.arguments, *variations(wanted.arguments)]
        self.first_test = len(self.argument_sets)

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
        try:
            self.tests = await write_tests(self.wanted, self.writer)
        except ModelFixableError as failure:
            self.watcher.note(f"no tests from the examiner: {failure.message}")
        self.argument_sets += [test.arguments for test in self.tests]
        for round_ in range(ROUNDS):
            if self.wanted.arguments or not self.writer.is_weak:
                for source in await write_candidates(self.wanted, self.request, self.writer, round_=round_):
                    await self._try(source)
            await self._ask_programs(round_)
            verdict = self._vote()
            if self.candidates and not self._enough(verdict) and self._worth_repair(verdict):
                await self._repair()
                verdict = self._vote()
            if self._enough(verdict):
                break

    def _last_failure(self) -> str:
        return failure_of(self.candidates[-1], []) if self.candidates else "none was written"

    async def _ask_programs(self, round_: int) -> None:
        """With a weak model, whole programs vote too: they know the question and not the spec, and fail in other ways.

        One that can be made a function is a candidate like the others.
        """
        if not self.writer.is_weak:
            return
        programs = await write_programs(
            self.request,
            self.writer,
            self.sandbox,
            self.argument_sets[: self.first_test],
            count=PROGRAMS,
            round_=round_,
        )
        for program in programs:
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
        return vote(self._standing(), self.programs, self.tests, self.first_test)

    def _standing(self) -> list[Candidate]:
        """Of a strong model, which corrects itself, the candidates that pass the most tests; of a weak one all."""
        if self.writer.is_weak:
            return self.candidates
        passes = [self._tests_passed(candidate) for candidate in self.candidates]
        return [c for c, count in zip(self.candidates, passes, strict=True) if count == max(passes)]

    def _tests_passed(self, candidate: Candidate) -> int:
        outcomes = candidate.outcomes[self.first_test :]
        return sum(passed(test, outcome) for test, outcome in zip(self.tests, outcomes, strict=False))

    def _enough(self, verdict: Verdict | None) -> bool:
        if verdict is None:
            return False
        if not self.writer.is_weak:
            winner = verdict.winner
            if winner is None or not winner.report.ok:
                return False
            return not self._failed_tests(winner) or (verdict.believable and self._tests_passed(winner) > 0)
        return verdict.settled

    def _worth_repair(self, verdict: Verdict | None) -> bool:
        """A weak model mends what raised; a strong one also what failed a test or a check."""
        return verdict is None or not self.writer.is_weak

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

    def _contradicted(self, verdict: Verdict, winner: Candidate) -> list[str]:
        """Tests of a strong examiner that the winner fails, with no other code on its side."""
        if self.writer.is_weak:
            return []
        failed = [
            test
            for index, test in enumerate(self.tests, self.first_test)
            if index not in verdict.agreed and not passed(test, winner.outcomes[index])
        ]
        name = self.wanted.spec.name
        return [
            f"a test of the examiner fails: {call_text(name, t.arguments)} must give {t.expected!r}" for t in failed
        ]

    async def keep(self, verdict: Verdict, library: Shelf, *, rejected: tuple[str, ...]) -> Creation:
        """Registers the winner when nothing speaks against it."""
        scratch = Creation(
            self.wanted.spec,
            self.wanted.arguments,
            None,
            "scratch",
            verdict.value,
            "only one-off programs gave this answer",
            candidates=len(self.candidates),
            rejected=rejected,
        )
        winner = verdict.winner
        if winner is None:
            return scratch
        suite = suite_of(verdict, winner, self.argument_sets, self.tests, self.first_test)
        found, mutation = await doubts(verdict, winner, suite, self.wanted, self.request, self.sandbox)
        found += self._contradicted(verdict, winner)
        if found:
            return replace(scratch, reason="; ".join(found))
        if not self.writer.is_weak and self.tests and not self._tests_passed(winner):
            return replace(scratch, reason="it passes none of the examiner's tests")
        described = await self.sandbox.describe(winner.source, self.wanted.spec.name)
        if isinstance(described, Problem):
            return replace(scratch, reason=f"no schema could be derived: {described.message}")
        draft = Tool(
            name=described.name,
            description=described.description,
            input_schema=described.input_schema,
            output_schema=described.output_schema,
            source=winner.source,
            annotations={
                "title": described.name.replace("_", " ").capitalize(),
                "readOnlyHint": True,
                "idempotentHint": True,
                "openWorldHint": False,
            },
            status=Status.VERIFIED,
            provenance={**self._provenance(verdict, suite, mutation), "rejected": list(rejected)},
        )
        if misfits := _misfits(draft, self.wanted.arguments, [winner.outcomes[0].value, *(t.expected for t in suite)]):
            return replace(scratch, reason=f"its annotations do not fit: {'; '.join(misfits)}")
        try:
            tool = await library.register(draft)
        except LibraryError as problem:
            return replace(scratch, reason=str(problem))
        return replace(scratch, tool=tool, choice="create", reason=self._belief(verdict, suite, mutation))

    def _provenance(self, verdict: Verdict, suite: Sequence[Test], mutation: dict[str, int]) -> dict[str, Json]:
        evidence: dict[str, Any] = {
            "support": verdict.support,
            "voters": verdict.voters,
            "candidates": len(self.candidates),
            **mutation,
        }
        return {
            "spec": asdict(self.wanted.spec),
            "capabilities": asdict(self.wanted.spec.capabilities),
            "tests": [asdict(test) for test in suite],
            "evidence": evidence,
            "model": self.writer.name,
            "run": self.request.run_id,
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }

    def _belief(self, verdict: Verdict, suite: Sequence[Test], mutation: dict[str, int]) -> str:
        return (
            f"{verdict.support} of {verdict.voters} candidates agree, {len(suite)} tests pass, "
            f"{mutation['killed']} of {mutation['mutants']} wrong versions fail them"
        )


def _misfits(tool: Tool, arguments: dict[str, Json], results: Sequence[Json]) -> list[str]:
    """What of the question's arguments and of the proven results does not fit the tool's own schemas."""
    try:
        validate_arguments(tool, arguments)
    except ArgumentsError as misfit:
        return [misfit.message]
    return list(dict.fromkeys(misfit for result in results for misfit in validate_result(tool, result)))
