"""run_code: a one-off program in the sandbox, which may import tools of the library and open the attached files."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.models.protocol import Role
from agent.state import State


async def run_code(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Writes a program where the decision brings none, and runs it."""
    context = runtime.context
    return await context.strategy(Role.COORDINATOR).program(state, context)
