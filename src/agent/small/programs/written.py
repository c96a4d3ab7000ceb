"""A program that the model writes for the question, and its run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.attached import files_text, granted
from agent.context import Context
from agent.events import Note, ToolCalled
from agent.models.protocol import Message, Role
from agent.programs.paths import with_paths
from agent.programs.scripts import failure_of, modules_of, own_tools
from agent.state import State
from agent.steps import evidence_text, step
from agent.strategy import Update
from mcp_tools.create.small.assemble import extract_code
from mcp_tools.errors import StoppedError
from mcp_tools.packages import file_packages, imported
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.sandbox.protocol import Job, Limits
from mcp_tools.text import one_line

LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=2048)
"""A program over a large table takes longer than a tool."""
_ATTEMPTS = 2
_ATTEMPTS_WITH_FILES = 3
"""A file holds surprises that its preview does not show."""
_TOKENS = 900


async def run_written(state: State, context: Context, begun: Sequence[Message] = ()) -> Update:
    """Writes a program and runs it; after a failure again, with the failure shown.

    Args:
        state: Of the run.
        context: Of the run.
        begun: How the reply begins, for a model that goes on from there.
    """
    messages = _messages(state, context)
    modules = await modules_of(state, context)
    finding = ""
    for _ in range(_ATTEMPTS_WITH_FILES if state.get("attached") else _ATTEMPTS):
        try:
            completion = await context.complete(Role.WRITER, [*messages, *begun], temperature=0, max_tokens=_TOKENS)
        except StoppedError as stopped:
            finding = stopped.message
            break
        outcome = await context.sandbox.run(_job(extract_code(completion.text), modules, state, context))
        printed = outcome.stdout.strip()
        context.emit(ToolCalled("program", {}, outcome.ok, one_line(printed or failure_of(outcome)), outcome.seconds))
        if outcome.ok and printed:
            return {"steps": [step(state, ok=True, finding=f"A program printed: {printed}", value=printed)]}
        finding = failure_of(outcome)
        failed = f"The program failed:\n{data_block('its error', finding)}\nGive the whole corrected program."
        messages += [{"role": "assistant", "content": completion.text}, {"role": "user", "content": failed}]
    return no_program(state, context, finding)


def _messages(state: State, context: Context) -> list[Message]:
    given: dict[str, Any] = {
        "question": state["question"],
        "tools": "; ".join(f"{tool['name']}: {tool['description']}" for tool in own_tools(state)) or "none",
        "evidence": evidence_text(state.get("steps", [])),
    }
    attached = state.get("attached")
    if not attached:
        return load_prompt("agent.small", "run_code").render(**given)
    files = files_text(attached, context.strategy(Role.WRITER).limits.files)
    return load_prompt("agent.small", "run_code_files").render(**given, files=files)


def _job(source: str, modules: dict[str, str], state: State, context: Context) -> Job:
    attached = state.get("attached")
    if not attached:
        return Job(source, None, read=context.files, modules=modules)
    source = with_paths(source, attached)
    packages = imported(source, file_packages())
    return Job(source, None, read=granted(state, context), modules=modules, packages=packages, limits=LIMITS)


def no_program(state: State, context: Context, finding: str) -> Update:
    """The failed step of a program that gave nothing."""
    context.emit(Note(f"no program: {one_line(finding)}"))
    return {"steps": [step(state, ok=False, finding=f"No program gave a result: {finding}")]}
