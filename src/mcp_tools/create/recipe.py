"""How a model's candidates for one spec are written, and what is believed of them."""

from __future__ import annotations

from typing import Protocol

from mcp_tools.create.assemble import assemble
from mcp_tools.create.literals import in_context
from mcp_tools.create.protocol import Candidate, Request, Writer
from mcp_tools.create.spec import Asked, Wanted, ask_spec
from mcp_tools.create.trial import passed
from mcp_tools.create.vote import Verdict
from mcp_tools.create.workshop import Workshop
from mcp_tools.create.write import ask_for_code
from mcp_tools.tool import call_text


class Recipe(Protocol):
    """What creating a tool does differently with different kinds of models."""

    prompts: str
    """The package whose prompts are used."""
    rounds: int

    async def write_spec(self, request: Request, writer: Writer) -> Wanted:
        """The spec of the tool.

        Raises:
            CreationError: The model gave no usable spec.
        """
        ...

    async def write(self, shop: Workshop, round_: int) -> None:
        """Writes the candidates of one round, counted from 0."""
        ...

    def standing(self, shop: Workshop) -> list[Candidate]:
        """The candidates that vote."""
        ...

    def is_enough(self, shop: Workshop, verdict: Verdict) -> bool:
        """Whether further rounds are of no use."""
        ...

    def is_worth_repair(self, shop: Workshop, verdict: Verdict | None) -> bool:
        """Whether the last candidate is mended before the next round; it is not enough yet."""
        ...

    def objections(self, shop: Workshop, verdict: Verdict, winner: Candidate) -> list[str]:
        """Why the winner is not kept although it was proven otherwise."""
        ...


class StandardRecipe:
    """One function a round; a capable model corrects itself by the examiner's tests, which weigh more than a vote."""

    prompts = "mcp_tools.create"
    rounds = 3
    _rounds = (("write", 0.0), ("plan_and_write", 0.2), ("write", 0.4))
    """The prompt of each round, and its temperature."""

    async def write_spec(self, request: Request, writer: Writer) -> Wanted:
        """Asks once more where values of the question are in no parameter: they may be units or constants."""
        asked = Asked.about(request)
        about = f"\nThe paths of the files become parameters by themselves: leave them out.\n{request.evidence}"
        note = about if request.files else ""
        first = await ask_spec(asked, request, writer, prompts=self.prompts, note=note)
        if not first.missing:
            return first
        missed = " | ".join(in_context(value, request.question) for value in first.missing)
        note += (
            f"\nNo parameter holds these values of the question: {missed}. Add those that another question of this "
            "kind would change; units, definitions, constants and formats are none."
        )
        return await ask_spec(asked, request, writer, prompts=self.prompts, note=note)

    async def write(self, shop: Workshop, round_: int) -> None:
        """One function."""
        prompt, temperature = self._rounds[round_]
        messages = ask_for_code(self.prompts, prompt, shop.wanted, shop.request)
        texts = await shop.writer.write(messages, part="writer", count=1, temperature=temperature, seed=round_ + 1)
        for text in texts:
            await shop.try_out(assemble(text, shop.wanted.spec))

    def standing(self, shop: Workshop) -> list[Candidate]:
        """Those that pass the most tests."""
        passes = [shop.tests_passed(candidate) for candidate in shop.candidates]
        return [c for c, count in zip(shop.candidates, passes, strict=True) if count == max(passes)]

    def is_enough(self, shop: Workshop, verdict: Verdict) -> bool:
        """All tests pass, or one does and others agree; over files, which no test knows, two codes agree."""
        winner = verdict.winner
        if winner is None or not winner.report.ok:
            return False
        if shop.request.files:
            return verdict.codes >= 2 and verdict.support * 2 > verdict.voters
        return not shop.tests_failed(winner) or (verdict.believable and shop.tests_passed(winner) > 0)

    def is_worth_repair(self, shop: Workshop, verdict: Verdict | None) -> bool:
        """What raised is mended, and what failed a test or a check."""
        return verdict is None or not shop.request.files

    def objections(self, shop: Workshop, verdict: Verdict, winner: Candidate) -> list[str]:
        """Tests that the winner fails, with no other code on its side; or that it passes none at all."""
        failed = [
            test
            for index, test in enumerate(shop.tests, shop.first_test)
            if index not in verdict.agreed and not passed(test, winner.outcomes[index])
        ]
        if not failed and shop.tests and not shop.tests_passed(winner):
            return ["it passes none of the examiner's tests"]
        name = shop.wanted.spec.name
        return [
            f"a test of the examiner fails: {call_text(name, t.arguments)} must give {t.expected!r}" for t in failed
        ]
