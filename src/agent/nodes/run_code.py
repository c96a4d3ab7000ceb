"""run_code: a one-off program in the sandbox, which may import tools of the library."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.events import Note, ToolCalled
from agent.external import SERVER
from agent.models.protocol import Role
from agent.state import State
from agent.steps import evidence_text, step
from mcp_tools.create.assemble import extract_code
from mcp_tools.errors import LibraryError, StoppedError, UnknownToolError
from mcp_tools.prompt import load_prompt
from mcp_tools.sandbox.protocol import Job, Outcome
from mcp_tools.text import one_line

_ATTEMPTS = 2
_TOKENS = 900


async def run_code(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Writes a program and runs it; after a failure once more, with the failure shown."""
    context = runtime.context
    messages = load_prompt("agent", "run_code").render(
        question=state["question"],
        tools="; ".join(f"{tool['name']}: {tool['description']}" for tool in _own(state)) or "none",
        evidence=evidence_text(state.get("steps", [])),
    )
    modules = await _modules(state, context)
    finding = ""
    for _ in range(_ATTEMPTS):
        try:
            completion = await context.complete(Role.WRITER, messages, temperature=0, max_tokens=_TOKENS)
        except StoppedError as stopped:
            finding = stopped.message
            break
        source = extract_code(completion.text)
        outcome = await context.sandbox.run(Job(source, None, read=context.files, modules=modules))
        printed = outcome.stdout.strip()
        context.emit(ToolCalled("program", {}, outcome.ok, one_line(printed or _failure(outcome)), outcome.seconds))
        if outcome.ok and printed:
            return {"steps": [step(state, ok=True, finding=f"A program printed: {printed}", value=printed)]}
        finding = _failure(outcome)
        messages += [
            {"role": "assistant", "content": completion.text},
            {"role": "user", "content": f"The program failed: {finding}\nGive the whole corrected program."},
        ]
    context.emit(Note(f"no program: {one_line(finding)}"))
    return {"steps": [step(state, ok=False, finding=f"No program gave a result: {finding}")]}


def _own(state: State) -> list[dict[str, Any]]:
    """The shown tools of the library; those of external servers cannot be imported."""
    return [tool for tool in state.get("tools", []) if SERVER not in tool]


def _failure(outcome: Outcome) -> str:
    problem = outcome.problem
    return f"{problem.message}\n{problem.traceback}".strip() if problem else "it printed nothing"


async def _modules(state: State, context: Context) -> dict[str, str]:
    """The sources of the library's tools that were shown, importable by name."""
    found = {}
    for shown in _own(state):
        try:
            found[str(shown["name"])] = (await context.library.get(str(shown["name"]))).source
        except (UnknownToolError, LibraryError):
            continue
    return found
