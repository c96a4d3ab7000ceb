"""Registration: the winner of a workshop becomes a tool of the library when nothing speaks against it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import asdict, replace

from mcp_tools.create.form import remembered
from mcp_tools.create.protocol import Candidate, Creation, Shelf, Test
from mcp_tools.create.small.prove import doubts, suite_of
from mcp_tools.create.small.vote import Verdict
from mcp_tools.create.small.workshop import Workshop
from mcp_tools.create.written import placeholders
from mcp_tools.errors import ArgumentsError, LibraryError
from mcp_tools.library import validate_arguments, validate_result
from mcp_tools.packages import imported
from mcp_tools.prompt import prompts_hash
from mcp_tools.sandbox.protocol import Problem
from mcp_tools.tool import Capabilities, Json, Status, Tool


async def keep(shop: Workshop, verdict: Verdict, library: Shelf, *, rejected: tuple[str, ...]) -> Creation:
    """Registers the winner; what speaks against it is the reason why its result is only a scratch.

    Args:
        shop: Where the candidates were written and tried out.
        verdict: What their vote said.
        library: Where the tool is registered.
        rejected: Tools of the library that were looked at first, and why they do not do.
    """
    wanted = shop.wanted
    scratch = Creation(
        wanted.spec,
        wanted.arguments,
        None,
        "scratch",
        verdict.value,
        "only one-off programs gave this answer",
        candidates=len(shop.candidates),
        rejected=rejected,
    )
    winner = verdict.winner
    if winner is None:
        return scratch
    suite = suite_of(verdict, winner, shop.argument_sets, shop.tests, shop.first_test)
    found, mutation = await doubts(verdict, winner, suite, wanted, shop.request, shop.sandbox)
    found += placeholders(wanted.spec)
    if found:
        return replace(scratch, reason="; ".join(found))
    packages = _capabilities(shop, winner).packages
    described = await shop.sandbox.describe(winner.source, wanted.spec.name, packages=packages)
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
        provenance={**_provenance(shop, winner, verdict, suite, mutation), "rejected": list(rejected)},
    )
    if misfits := _misfits(draft, wanted.arguments, [winner.outcomes[0].value, *(t.expected for t in suite)]):
        return replace(scratch, reason=f"its annotations do not fit: {'; '.join(misfits)}")
    try:
        tool = await library.register(draft)
    except LibraryError as problem:
        return replace(scratch, reason=str(problem))
    return replace(scratch, tool=tool, choice="create", reason=_belief(verdict, suite, mutation))


def _capabilities(shop: Workshop, winner: Candidate) -> Capabilities:
    """What the tool may touch, without the packages that it does not import."""
    declared = shop.wanted.spec.capabilities
    return replace(declared, packages=imported(winner.source, declared.packages))


def _provenance(
    shop: Workshop, winner: Candidate, verdict: Verdict, suite: Sequence[Test], mutation: dict[str, int]
) -> dict[str, Json]:
    """Where the tool comes from, and what was believed for which reason."""
    request = shop.request
    return {
        "spec": asdict(shop.wanted.spec),
        "asked": None if request.files else remembered(request.question, shop.wanted.arguments),
        "capabilities": asdict(_capabilities(shop, winner)),
        "tests": [asdict(test) for test in suite],
        "evidence": {
            "support": verdict.support,
            "voters": verdict.voters,
            "candidates": len(shop.candidates),
            **mutation,
        },
        "model": shop.writer.name,
        "prompts": prompts_hash("mcp_tools.create.small"),
        "run": request.run_id,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _belief(verdict: Verdict, suite: Sequence[Test], mutation: dict[str, int]) -> str:
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
