"""Scratch programs: whole attempts at the question whose printed answers vote beside the tool's candidates."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_tools.create.assemble import extract_code
from mcp_tools.create.protocol import Request, Writer
from mcp_tools.create.trial import TRIAL_LIMITS
from mcp_tools.prompt import load_prompt
from mcp_tools.sandbox.protocol import Job, Sandbox

_LONGEST_ANSWER = 2_000


@dataclass(frozen=True, slots=True)
class Scratch:
    """A program, and what it printed."""

    source: str
    printed: str
    """The answer; empty when the program failed or printed nothing."""


async def write_programs(
    request: Request, writer: Writer, sandbox: Sandbox, *, count: int, seed: int, temperature: float
) -> list[Scratch]:
    """Writes and runs programs."""
    messages = load_prompt("mcp_tools.create", "program").render(question=request.question, evidence=request.evidence)
    texts = await writer.write(messages, part="writer", count=count, temperature=temperature, seed=seed)
    programs = []
    for text in texts:
        source = extract_code(text)
        outcome = await sandbox.run(Job(source, None, read=request.files, limits=TRIAL_LIMITS))
        printed = outcome.stdout.strip() if outcome.ok else ""
        programs.append(Scratch(source, printed if len(printed) <= _LONGEST_ANSWER else ""))
    return programs
