"""run_code: a one-off program in the sandbox, which may import tools of the library and open the attached files."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.models.protocol import Role
from agent.programs.scripts import asked_part, asked_script, finding_of, run_script
from agent.state import State
from agent.steps import decision_of, step


async def run_code(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Runs the attached program that is asked about; else writes a program, and runs it."""
    context = runtime.context
    script = None if decision_of(state).code else asked_script(state)
    if script is not None and not _was_run(script["name"], state):
        outcome = await run_script(script, state, context)
        if outcome is not None:
            value = asked_part(state["question"], outcome.stdout) if outcome.ok else ""
            done = outcome.ok or bool(outcome.stdout.strip())
            return {"steps": [step(state, ok=done, finding=finding_of(script, outcome), value=value or None)]}
    return await context.strategy(Role.COORDINATOR).program(state, context)


def _was_run(name: str, state: State) -> bool:
    return any(done["finding"].startswith(f"Running {name} ") for done in state.get("steps", []))
