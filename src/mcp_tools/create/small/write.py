"""Code for a spec: what is asked, and what a model is told of a candidate that failed."""

from __future__ import annotations

from typing import Any

from mcp_tools.create.passages import in_brief
from mcp_tools.create.protocol import Candidate, Request, Writer
from mcp_tools.create.small.assemble import assemble
from mcp_tools.create.small.spec import LONGEST_SHOWN, Wanted
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.tool import call_text


def ask_for_code(name: str, wanted: Wanted, request: Request, **more: str) -> list[dict[str, Any]]:
    """The messages that ask for the code of a tool.

    Args:
        name: The prompt.
        wanted: The spec.
        request: What the tool is wanted for.
        more: Values of placeholders that only this prompt has.
    """
    return load_prompt("mcp_tools.create.small", name).render(
        **more,
        question=in_brief(request.question),
        signature=wanted.spec.signature,
        call=call_text(wanted.spec.name, wanted.arguments, longest=LONGEST_SHOWN),
        evidence=request.evidence,
    )


async def repair(candidate: Candidate, wanted: Wanted, request: Request, writer: Writer, failure: str) -> str:
    """The source of a corrected version."""
    messages = load_prompt("mcp_tools.create.small", "repair").render(
        question=in_brief(request.question),
        call=call_text(wanted.spec.name, wanted.arguments, longest=LONGEST_SHOWN),
        source=candidate.source,
        failure=data_block("the failure", failure),
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
