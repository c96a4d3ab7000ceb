"""Whole programs for the question, whose printed answers vote beside the tool's candidates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mcp_tools.create.passages import named, with_names
from mcp_tools.create.protocol import Program, Request, Writer
from mcp_tools.create.small.assemble import assemble, assemble_program
from mcp_tools.create.small.attempts import Attempt, repeats, snippets_for
from mcp_tools.create.small.snippets import as_beginning, as_prompt
from mcp_tools.create.small.substitute import with_parameters, with_values
from mcp_tools.create.small.trial import TRIAL_LIMITS
from mcp_tools.prompt import load_prompt
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import Json, ToolSpec

_LONGEST_ANSWER = 2_000


async def write_programs(
    request: Request,
    writer: Writer,
    sandbox: Sandbox,
    argument_sets: Sequence[dict[str, Json]],
    attempt: Attempt,
    *,
    seed: int,
) -> list[Program]:
    """Writes programs and runs them: as they are, and with the values of each other argument set."""
    snippets = snippets_for(attempt, request.question)
    if repeats(attempt, snippets):
        return []
    texts = named(request.question)
    messages = load_prompt("mcp_tools.create.small", attempt.prompt).render(
        snippets=as_prompt(snippets) if attempt.snippets == "shown" else "",
        begun=f"\n{as_beginning(snippets, _as_comment(request.question))}"
        if attempt.snippets == "begun" and snippets
        else "",
        question=with_names(request.question),
        data=f"The variables that are there already, each a str: {', '.join(texts)}." if texts else "",
        evidence=request.evidence,
    )
    replies = await writer.write(
        messages, part="writer", count=attempt.count, temperature=attempt.temperature, seed=seed
    )
    programs = [assemble_program(reply, patterns=[snippet.code for snippet in snippets]) for reply in replies]
    sources = [_with_data(program, texts) for program in programs]
    return [await _tried(source, request, sandbox, argument_sets) for source in sources]


def _as_comment(question: str) -> str:
    """The question once more, after the snippet: its values must be nearer than those of anything else."""
    return "".join(f"# {line}\n" for line in with_names(question).splitlines())


def _with_data(program: str, texts: dict[str, str]) -> str:
    """The program with the passages that it uses and does not define."""
    used = [name for name in texts if re.search(rf"\b{name}\b", program)]
    given = [name for name in used if not re.search(rf"^{name}\s*=", program, re.MULTILINE)]
    return "".join(f"{name} = {texts[name]!r}\n" for name in given) + program


def as_function(program: Program, spec: ToolSpec, arguments: dict[str, Json]) -> str | None:
    """The program as a tool's file: its values are the parameters, and what it prints is returned.

    Returns:
        None when a value stands nowhere in the program, or at several places where it may mean several things.
    """
    source = with_parameters(program.source, arguments)
    return assemble(source, spec) if source is not None else None


async def _tried(source: str, request: Request, sandbox: Sandbox, argument_sets: Sequence[dict[str, Json]]) -> Program:
    answer = await _printed(source, request, sandbox)
    if not answer:
        return Program(source, ("",))
    others = [with_values(source, argument_sets[0], arguments) for arguments in argument_sets[1:]]
    return Program(source, (answer, *[await _printed(o, request, sandbox) if o else "" for o in others]))


async def _printed(source: str, request: Request, sandbox: Sandbox) -> str:
    outcome = await sandbox.run(request.job(source, None, {}, TRIAL_LIMITS))
    text = outcome.stdout.strip() if outcome.ok else ""
    return text if len(text) <= _LONGEST_ANSWER else ""
