"""The recipe for a small model: a single attempt is no evidence, so functions and programs vote."""

from __future__ import annotations

from dataclasses import replace

from mcp_tools.create.answers import answer_key
from mcp_tools.create.assemble import assemble
from mcp_tools.create.protocol import Candidate, Program, Request, Writer
from mcp_tools.create.small.attempts import FUNCTIONS, PROGRAMS, Attempt, snippets_for
from mcp_tools.create.small.programs import as_function, write_programs
from mcp_tools.create.small.snippets import as_beginning, as_prompt
from mcp_tools.create.small.spec import write_spec
from mcp_tools.create.spec import Wanted
from mcp_tools.create.trial import examined, try_out
from mcp_tools.create.vote import Verdict
from mcp_tools.create.workshop import Workshop
from mcp_tools.create.write import ask_for_code


class VotingRecipe:
    """Asks in different ways until most attempts agree; see `Recipe`."""

    prompts = "mcp_tools.create.small"
    rounds = len(FUNCTIONS)

    async def write_spec(self, request: Request, writer: Writer) -> Wanted:
        """The model's spec, mended by rule."""
        return await write_spec(request, writer, prompts=self.prompts)

    async def write(self, shop: Workshop, round_: int) -> None:
        """Functions, where the question has values; then as many programs as it takes to agree."""
        if shop.wanted.arguments:
            for attempt in FUNCTIONS[round_]:
                await self._write_functions(shop, attempt, seed=round_ + 1)
        for attempt in PROGRAMS[round_]:
            await self._write_programs(shop, attempt, seed=round_ + 1)
            verdict = shop.vote()
            if verdict is not None and verdict.unanimous:
                break

    def standing(self, shop: Workshop) -> list[Candidate]:
        """All: the model's tests are not better than its code."""
        return shop.candidates

    def is_enough(self, shop: Workshop, verdict: Verdict) -> bool:
        """More attempts would hardly change the choice."""
        return verdict.settled

    def is_worth_repair(self, shop: Workshop, verdict: Verdict | None) -> bool:
        """Only what raised is mended."""
        return verdict is None

    def objections(self, shop: Workshop, verdict: Verdict, winner: Candidate) -> list[str]:
        """None: a failed test may be the test's fault."""
        return []

    async def _write_functions(self, shop: Workshop, attempt: Attempt, *, seed: int) -> None:
        wanted, snippets = shop.wanted, snippets_for(attempt, shop.request.question, without=shop.wanted.spec.name)
        messages = ask_for_code(
            self.prompts,
            attempt.prompt,
            wanted,
            shop.request,
            snippets=as_prompt(snippets) if attempt.snippets == "shown" else "",
            begun=as_beginning(snippets) if attempt.snippets == "begun" else "",
        )
        texts = await shop.writer.write(
            messages, part="writer", count=attempt.count, temperature=attempt.temperature, seed=seed
        )
        patterns = [snippet.code for snippet in snippets]
        sources = [assemble(_begun(text, wanted.spec.signature), wanted.spec, patterns=patterns) for text in texts]
        for source in sources:
            await shop.try_out(source)

    async def _write_programs(self, shop: Workshop, attempt: Attempt, *, seed: int) -> None:
        """Programs know the question and not the spec, and fail in other ways.

        One that can be made a function is a candidate like the others.
        """
        own = shop.argument_sets[: shop.first_test]
        for program in await write_programs(shop.request, shop.writer, shop.sandbox, own, attempt, seed=seed):
            if not await self._becomes_candidate(program, shop):
                shop.programs.append(program)

    async def _becomes_candidate(self, program: Program, shop: Workshop) -> bool:
        """Whether the program is a candidate now: as a function it gives the answer that it printed."""
        spec = shop.wanted.spec
        source = as_function(program, spec, shop.wanted.arguments) if program.answer else None
        if source is None:
            return False
        candidate = examined(len(shop.candidates) + 1, source, spec, shop.request)
        if not candidate.report.ok:
            return False
        outcomes = await try_out(source, spec, shop.argument_sets, shop.sandbox, shop.request)
        if not outcomes[0].ok or answer_key(outcomes[0].value) != answer_key(program.answer):
            return False
        shop.add(replace(candidate, outcomes=outcomes))
        return True


def _begun(text: str, signature: str) -> str:
    """The reply with the line that the prompt has begun it with, unless it begins anew."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return f"{signature}\n{text.lstrip(chr(10))}" if first[:1].isspace() else text
