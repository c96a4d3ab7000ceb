"""Code for a spec: several independent candidates, or a corrected version of one that failed."""

from __future__ import annotations

from mcp_tools.create.assemble import assemble
from mcp_tools.create.protocol import Candidate, Request, Writer
from mcp_tools.create.spec import Wanted, call_text
from mcp_tools.prompt import load_prompt

_TEMPERATURES = (0.6, 0.7, 0.8)


async def write_candidates(wanted: Wanted, request: Request, writer: Writer, *, round_: int) -> list[str]:
    """Sources of new candidates; the first round writes at once, the next lists the rules first, and so on."""
    template = "write" if round_ % 2 == 0 else "plan_and_write"
    messages = load_prompt("mcp_tools.create", template).render(
        question=request.question,
        signature=wanted.spec.signature,
        call=call_text(wanted.spec.name, wanted.arguments),
        evidence=request.evidence,
    )
    temperature = _TEMPERATURES[min(round_, len(_TEMPERATURES) - 1)] if writer.votes > 1 else 0.2 * round_
    texts = await writer.write(messages, part="writer", count=writer.votes, temperature=temperature, seed=round_ + 1)
    return [assemble(text, wanted.spec) for text in texts]


async def repair(candidate: Candidate, wanted: Wanted, request: Request, writer: Writer, failure: str) -> str:
    """The source of a corrected version."""
    messages = load_prompt("mcp_tools.create", "repair").render(
        question=request.question,
        call=call_text(wanted.spec.name, wanted.arguments),
        source=candidate.source,
        failure=failure,
    )
    texts = await writer.write(messages, part="writer", count=1, temperature=0.3, seed=candidate.number)
    return assemble(texts[0], wanted.spec)


def failure_of(candidate: Candidate, tests_failed: list[str]) -> str:
    """What the model must know to repair a candidate: findings, or the failing call with its traceback."""
    if not candidate.outcomes:
        return "\n".join(f"line {finding.line}: {finding.message}" for finding in candidate.report.findings)
    problem = candidate.outcomes[0].problem
    if problem is not None:
        return f"{problem.message}\n{problem.traceback}".strip()
    findings = [f"line {finding.line}: {finding.message}" for finding in candidate.report.findings]
    return "\n".join(tests_failed or findings) or f"the result is {candidate.outcomes[0].value!r}: that is no answer"
