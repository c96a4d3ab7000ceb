"""Code for a spec: independent candidates, or a corrected version of one that failed."""

from __future__ import annotations

from mcp_tools.create.assemble import assemble
from mcp_tools.create.attempts import Attempt, idioms_for
from mcp_tools.create.idioms import as_beginning, as_prompt
from mcp_tools.create.passages import in_brief
from mcp_tools.create.protocol import Candidate, Request, Writer
from mcp_tools.create.spec import LONGEST_SHOWN, Wanted
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.tool import call_text


async def write_candidates(
    wanted: Wanted, request: Request, writer: Writer, attempt: Attempt, *, seed: int
) -> list[str]:
    """Sources of new candidates."""
    idioms = idioms_for(attempt, request.question, without=wanted.spec.name)
    prompt = load_prompt("mcp_tools.create", attempt.prompt)
    given = {
        "idioms": as_prompt(idioms) if attempt.idioms == "shown" else "",
        "begun": as_beginning(idioms) if attempt.idioms == "begun" else "",
    }
    messages = prompt.render(
        **{name: text for name, text in given.items() if name in prompt.placeholders},
        question=in_brief(request.question),
        signature=wanted.spec.signature,
        call=call_text(wanted.spec.name, wanted.arguments, longest=LONGEST_SHOWN),
        evidence=request.evidence,
    )
    texts = await writer.write(messages, part="writer", count=attempt.count, temperature=attempt.temperature, seed=seed)
    if writer.is_weak:
        texts = [_begun(text, wanted.spec.signature) for text in texts]
    return [assemble(text, wanted.spec, patterns=[idiom.code for idiom in idioms]) for text in texts]


def _begun(text: str, signature: str) -> str:
    """The reply with the line that the prompt has begun it with, unless it begins anew."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return f"{signature}\n{text.lstrip(chr(10))}" if first[:1].isspace() else text


async def repair(candidate: Candidate, wanted: Wanted, request: Request, writer: Writer, failure: str) -> str:
    """The source of a corrected version."""
    messages = load_prompt("mcp_tools.create", "repair").render(
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
